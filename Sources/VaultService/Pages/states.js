// How a page looks that waits, or that failed; `nothing` in ui.js is one that has nothing to show.

import {button, h, t} from './ui.js';

const SHOWN_AFTER = 200;  // milliseconds: what comes sooner needs no sign

export const heading = text => h('div.head', h('h1', {dir: 'auto'}, text));

// What a page says that could not be shown, and how one goes on.
export const failed = (text, again) => h('div.state.bad', h('span.drawing', {'aria-hidden': 'true'}), h('p', text),
	h('div.acts', again && button(t('tryAgain'), again), h('a', {href: '#/'}, t('toShelf'))));

// Shows a sign of waiting below what the page has, until the function that it returns is called.
export function waits(main) {
	const sign = h('div.state.waits', {role: 'status'}, h('span.drawing', {'aria-hidden': 'true'}), h('p', t('loading')));
	const timer = setTimeout(() => main.append(sign), SHOWN_AFTER);
	return () => { clearTimeout(timer); sign.remove(); };
}
