// The seek bar: what was played is full, what is held is a thin tint, a hole is hatched, and chapters are marks.

import {marks} from './chapters.js';
import {clock, h, ranges, svg, t} from './ui.js';

export function seekBar(goTo) {
	const map = svg('svg', {viewBox: '0 0 1000 10', preserveAspectRatio: 'none', class: 'ranges', 'aria-hidden': 'true'});
	const full = h('span'), ticks = h('div.marks', {'aria-hidden': 'true'});
	const input = h('input', {type: 'range', min: 0, max: 1, step: 'any', value: 0, 'aria-label': t('seek'), disabled: true,
		on: {input: () => goTo(Number(input.value))}});
	const element = h('div.seek', map, h('div.played', {'aria-hidden': 'true'}, full), ticks, input);
	return Object.assign(element, {
		input,
		// Draws what is held, the length and the chapters of a title.
		become(title) {
			ranges(map, title.ranges, title.rangesEnd);
			input.max = title.length || 1;
			input.disabled = !title.isOpened;
			input.setAttribute('aria-label', t('seek'));
			marks(ticks, title.chapters, title.length);
			element.now(title);
		},
		now(title) {
			const now = title.second(), {length} = title;
			if (document.activeElement !== input || !input.matches(':active')) input.value = now;
			full.style.inlineSize = `${length ? Math.min(100, now / length * 100) : 0}%`;
			input.setAttribute('aria-valuetext', t(title.isHole(now) ? 'placeHole' : 'place', {now: clock(now), length: clock(length)}));
		},
	});
}
