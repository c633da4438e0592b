// The keys of the player.

import {fail} from './ui.js';

const STEP = 10;  // seconds of an arrow

export function bindKeys(element, {seek, play, toggle, jump, mute, swapFull, swapPicture, goNext, faster, tenth}) {
	const KEYS = {
		' ': toggle, k: toggle, j: () => jump(-STEP), l: () => jump(STEP), m: mute, f: swapFull, p: swapPicture, n: goNext,
		'>': () => faster(1), '<': () => faster(-1)};
	element.addEventListener('keydown', event => {
		if (event.ctrlKey || event.altKey || event.metaKey) return;
		const from = event.target, isStage = from === element || from === seek;
		const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
		if (from.matches('select, .volume, [popover] *') || event.key === ' ' && from.matches('button, a')) return;
		if (isStage && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) jump(event.key === 'ArrowLeft' ? -STEP : STEP);
		else if (from === element && event.key === 'Enter') Promise.resolve(toggle()).catch(fail);
		else if (from === element && event.key === 'ArrowDown') play.focus();
		else if (/^[0-9]$/.test(event.key)) tenth(Number(event.key));
		else if (act) Promise.resolve(act()).catch(fail);
		else return;
		event.preventDefault();
	});
}
