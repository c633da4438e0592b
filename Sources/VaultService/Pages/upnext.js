// The notice at the end of a title: the next one begins in five seconds, unless it is declined.

import {button, h, nameOf, t} from './ui.js';

const WAIT = 5;  // seconds

// Says what begins, and calls `begin` with it when the seconds are over or `Play now` is pressed. Returns what ends the
// notice without either.
export function announce(item, say, begin) {
	let left = WAIT;
	const count = h('span', {'aria-hidden': 'true'}), stop = () => { clearInterval(timer); say(''); };
	const tell = () => { count.textContent = t('beginsIn', {seconds: left}); };
	const timer = setInterval(() => { if (--left > 0) tell(); else now(); }, 1000);
	const now = () => { stop(); begin(item); };
	tell();
	const stay = button(t('stayHere'), stop);
	say(h('span', t('nextIs'), ' ', h('strong', {dir: 'auto'}, nameOf(item)), ' ', count), h('button.main', {type: 'button', on: {click: now}}, t('playNow')), stay);
	return stop;
}
