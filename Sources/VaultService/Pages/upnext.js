// The notice at the end of a title: the next one begins in five seconds, unless it is declined.

import {button, h, nameOf, t} from './ui.js';

export const WAIT = 5;  // seconds

// Says what begins, and calls `begin` with it when `Play now` is pressed, `over` when the seconds are over, and `decline`
// when it is declined. Returns what ends the notice without any of them.
export function announce(item, say, {begin, over, decline}) {
	let left = WAIT;
	const count = h('span', {'aria-hidden': 'true'}), stop = () => { clearInterval(timer); say(''); };
	const tell = () => { count.textContent = t('beginsIn', {seconds: left}); };
	const timer = setInterval(() => { if (--left > 0) tell(); else end(over); }, 1000);
	const end = act => { stop(); act(item); };
	tell();
	const stay = button(t('stayHere'), () => end(decline));
	say(h('span', t('nextIs'), ' ', h('strong', {dir: 'auto'}, nameOf(item)), ' ', count), h('button.main', {type: 'button', on: {click: () => end(begin)}}, t('playNow')), stay);
	return stop;
}
