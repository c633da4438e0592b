// The panel of the player: speed, sound and subtitles, their size, and the timer for sleep.

import {iconButton} from './icons.js';
import {panel} from './menu.js';
import {preference} from './preferences.js';
import {sleepTimer} from './sleep.js';
import {choice, h, number, t} from './ui.js';

const SPEEDS = [0.5, 0.75, 1, 1.25, 1.5, 2, 3];
const SIZES = ['small', 'normal', 'large', 'huge'];  // of subtitles

export function tuning(video, pause) {
	const tracks = h('div.tracks'), words = h('p.soft', {role: 'status', hidden: true});
	const place = h('div'), button = iconButton('tune', t('tune'), () => {});
	const opened = panel(button, [place, tracks, words]);
	let speed, size, sleep;

	function translate() {
		const wasSleep = sleep?.value || '';
		speed = choice(SPEEDS.map(value => [String(value), `${number(value)}×`]), String(preference('speed') || 1), {on: {change: () => setSpeed(Number(speed.value))}});
		size = choice(SIZES.map(value => [value, t(`cue.${value}`)]), preference('subtitles') || 'normal', {on: {change: () => { preference('subtitles', size.value); apply(); }}});
		if (!wasSleep) sleep = sleepTimer(pause);
		button.setAttribute('aria-label', button.title = t('tune'));
		opened.setAttribute('aria-label', t('tune'));
		place.replaceChildren(...[['speed', speed], ['cueSize', size], ['sleep', sleep]].map(([key, control]) => {
			control.setAttribute('aria-label', t(key));
			return h('label', h('span', t(key)), control);
		}));
	}

	function setSpeed(value) {
		speed.value = String(value);
		preference('speed', value);
		apply();
	}

	// A new title begins at the speed of 1, whatever was chosen.
	function apply() {
		video.playbackRate = video.defaultPlaybackRate = Number(speed.value);
		video.dataset.cues = size.value;
	}

	translate();
	return {
		button: h('span.tuning', button, opened), tracks, translate, apply,
		says: text => { words.textContent = text; words.hidden = !text; },
		endsHere: () => sleep.endsHere(),
		faster: by => setSpeed(SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, SPEEDS.indexOf(Number(speed.value)) + by))]),
	};
}
