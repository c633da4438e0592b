// The chapters of a title: marks on the seek bar, and a list.

import {get} from './api.js';
import {clock, h, t} from './ui.js';

const MOST = 500;  // chapters

// Returns the chapters of a title in their order, in seconds; none if they cannot be read.
export const chaptersOf = async (id, signal) => (await get(`resources/${encodeURIComponent(id)}/chapters`, signal).catch(() => ({chapters: []})))
	.chapters.slice(0, MOST).map(({start, name}, place) => ({start: start / 1000, name: name || t('chapter', {number: place + 1})}))
	.filter(chapter => chapter.start >= 0).sort((a, b) => a.start - b.start);

// Returns the place of the chapter that plays at a second; -1 before the first.
const chapterAt = (chapters, second) => chapters.findLastIndex(chapter => chapter.start <= second + 0.25);

// A small line on the seek bar where each chapter but the first begins.
export function marks(place, chapters, length) {
	place.replaceChildren(...!(length > 0) ? [] : chapters.filter(({start}) => start > 0 && start < length).map(({start}) => {
		const mark = h('span');
		mark.style.insetInlineStart = `${start / length * 100}%`;
		return mark;
	}));
}

// The list below the player. `now` is called with the second that plays.
export function chapterList(chapters, goTo) {
	const lines = chapters.map(({start, name}) => h('li', h('button.plain', {type: 'button', on: {click: () => goTo(start)}},
		h('span.time', clock(start)), ' ', h('span', {dir: 'auto'}, name))));
	const list = h('details.panel.chapters', {open: chapters.length <= 12, hidden: !chapters.length},
		h('summary', t('chapters')), h('ol', {role: 'list'}, lines));
	let shown = -1;
	list.now = second => {
		const place = chapterAt(chapters, second);
		if (place === shown) return;
		lines[shown]?.firstChild.removeAttribute('aria-current');
		lines[shown = place]?.firstChild.setAttribute('aria-current', 'true');
	};
	return list;
}
