// Menus and panels that lie over the page: a press beside them, Escape, or an arrow that leads out of them closes them.

import {busy, h} from './ui.js';

const MARGIN = 8;  // pixels between a menu and the edge of the window

// A panel that a button opens and closes; it stands beside its button, or on a telephone at the bottom.
export function panel(opener, children, {fill = () => {}} = {}) {
	const element = h('div.over', {popover: 'auto', role: 'group', 'aria-label': opener.getAttribute('aria-label') || opener.textContent}, children);
	opener.setAttribute('aria-expanded', 'false');
	opener.addEventListener('click', event => {
		event.preventDefault();
		event.stopPropagation();
		if (element.matches(':popover-open')) return element.hidePopover();
		if (!element.isConnected) document.body.append(element);
		fill(element);
		element.showPopover();
		put(element, opener.getBoundingClientRect());
		element.querySelector('button, select, a, input')?.focus();
	});
	element.addEventListener('toggle', ({newState}) => {
		opener.setAttribute('aria-expanded', String(newState === 'open'));
		if (newState === 'closed' && (element.contains(document.activeElement) || document.activeElement === document.body) && opener.isConnected) opener.focus({preventScroll: true});
	});
	element.leave = () => { element.hidePopover(); opener.focus(); };
	return element;
}

function put(element, beside) {
	const {offsetWidth: width, offsetHeight: height} = element, {innerWidth, innerHeight} = window;
	const below = beside.bottom + MARGIN + height < innerHeight;
	element.style.insetBlockStart = `${Math.max(MARGIN, below ? beside.bottom + 2 : Math.min(beside.top - height - 2, innerHeight - height - MARGIN))}px`;
	element.style.left = `${Math.max(MARGIN, Math.min(beside.right - width, innerWidth - width - MARGIN))}px`;
}

// A menu of acts: pairs of a text and an act, or `null` for a line between them. `acts` is called when it opens.
export function menu(opener, acts) {
	const element = panel(opener, [], {fill: () => element.replaceChildren(...acts().map(entry => {
		if (!entry) return h('hr');
		const [text, act, options] = entry;
		const item = h('button', {type: 'button', ...options}, text);
		item.addEventListener('click', () => { element.hidePopover(); busy(opener, act); });
		return item;
	}))});
	element.classList.add('menu');
	return element;
}
