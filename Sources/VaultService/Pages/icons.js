// The drawings on buttons, and buttons that show a drawing alone.

import {button, svg} from './ui.js';

const ICONS = {
	play: 'M8 5v14l11-7z', pause: 'M7 5h4v14H7zm6 0h4v14h-4z', next: 'M6 5v14l9-7zm10 0h3v14h-3z',
	back: 'M12 5V1L6 6l6 5V7a6 6 0 1 1-6 6H4a8 8 0 1 0 8-8z', ahead: 'M12 5V1l6 5-6 5V7a6 6 0 1 0 6 6h2a8 8 0 1 1-8-8z',
	sound: 'M4 9v6h4l5 5V4L8 9zm11-1v8a5 5 0 0 0 0-8z', mute: 'M4 9v6h4l5 5V4L8 9zm11 1 5 5m0-5-5 5',
	full: 'M4 4h6v2H6v4H4zm10 0h6v6h-2V6h-4zM4 14h2v4h4v2H4zm14 0h2v6h-6v-2h4z',
	picture: 'M3 5h18v14H3zm2 2v10h14V7zm6 4h7v5h-7z',
	queue: 'M3 5h13v2H3zm0 5h13v2H3zm0 5h8v2H3zm12-1v7l6-3.5z', close: 'M6 4.6 4.6 6l6 6-6 6L6 19.4l6-6 6 6 1.4-1.4-6-6 6-6L18 4.6l-6 6z',
	tune: 'M3 6h9v2H3zm13 0h5v2h-5zm-3-2h2v6h-2zM3 16h4v2H3zm8 0h10v2H11zm-3-2h2v6H8z',
	more: 'M10 4h4v4h-4zm0 6h4v4h-4zm0 6h4v4h-4z',
	shelf: 'M4 4h4v16H4zm6 0h4v16h-4zm6.2.8 3.8-1 3 15.4-3.8 1z', titles: 'M3 5h18v2H3zm0 6h18v2H3zm0 6h18v2H3z',
	downloads: 'M11 3h2v9h4l-5 5-5-5h4zM4 19h16v2H4z', storage: 'M4 4h16v6H4zm2 2v2h2V6zm-2 7h16v6H4zm2 2v2h2v-2z'};

export const icon = (name, words) => svg('svg', {viewBox: '0 0 24 24', 'aria-hidden': 'true', class: `icon ${name}`},
	svg('path', {d: ICONS[name]}), words && svg('text', {x: 12, y: 15.6}, words));

// `words` stand within the drawing, and `become` gives the button another one.
export function iconButton(name, label, act, words) {
	const element = button('', act, {class: `icon ${name}`, 'aria-label': label, title: label});
	element.append(icon(name, words));
	element.become = (other, text) => {
		element.replaceChildren(icon(other));
		element.setAttribute('aria-label', text);
		element.title = text;
	};
	return element;
}
