// A remote control has arrows only: they move the focus to what lies in that direction, else to the next or the last
// element in the order of the page. Nothing holds the focus: what needs two of the arrows is left by the other two.

const FOCUSABLE = 'a[href], button:not([disabled]), input:not([disabled]), select:not([disabled]), textarea, summary, [tabindex="0"]';
const ARROWS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
const TEXT = /^(text|search|url|password|tel|email)$/;

// Whether an element needs this arrow key for itself.
function keeps(element, key) {
	const sideways = key === 'ArrowLeft' || key === 'ArrowRight', isBack = key === 'ArrowLeft' || key === 'ArrowUp';
	if (element.matches('select')) return isOpen(element);
	if (element.type === 'range') return sideways;
	if (element.matches('textarea') || element.matches('input') && TEXT.test(element.type)) {
		if (!sideways && !element.matches('textarea')) return false;
		// The caret moves as long as there is text in its way.
		const {selectionStart: from, selectionEnd: to, value} = element;
		return isBack ? to > 0 : from < value.length;
	}
	if (element.matches('.scroll, .log')) return sideways ? canScroll(element, 'Left', 'Width', isBack) : canScroll(element, 'Top', 'Height', isBack);
	return false;
}

function isOpen(select) {
	try { return select.matches(':open'); } catch { return false; }
}

// Whether an element can still be scrolled that way.
function canScroll(element, side, length, isBack) {
	const at = Math.abs(element[`scroll${side}`]);
	return isBack ? at > 1 : at < element[`scroll${length}`] - element[`client${length}`] - 1;
}

const isSeen = element => element.checkVisibility({visibilityProperty: true}) && element.id !== 'skip';

export function moveFocus(event) {
	const from = document.activeElement || document.body;
	if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
	// The key in the middle of a remote control opens a choice, as the space bar does.
	if (event.key === 'Enter' && from.matches('select') && from.showPicker && !isOpen(from)) {
		event.preventDefault();
		return from.showPicker();
	}
	const way = ARROWS[event.key];
	if (!way || keeps(from, event.key)) return;
	const over = [...document.querySelectorAll('dialog[open], [popover]:popover-open')].at(-1);
	const all = [...(over || document).querySelectorAll(FOCUSABLE)].filter(isSeen);
	const wanted = nearest(all, from, way) || (over && !over.matches('dialog') && event.key !== 'ArrowRight' ? null : beside(all, from, way));
	if (!wanted && !over?.leave) return;
	event.preventDefault();
	if (!wanted) return over.leave();
	wanted.focus({preventScroll: true});
	wanted.scrollIntoView({block: 'nearest', inline: 'nearest'});
}

// The nearest element that lies that way.
function nearest(all, from, way) {
	const start = from === document.body ? {left: 0, right: 0, top: 0, bottom: 0} : from.getBoundingClientRect();
	let best = null, least = Infinity;
	for (const element of all) {
		if (element === from || from !== document.body && from.contains(element)) continue;
		const box = element.getBoundingClientRect();
		const [along, across] = way[0]
			? [way[0] > 0 ? box.left - start.right : start.left - box.right, gap(box.top, box.bottom, start.top, start.bottom)]
			: [way[1] > 0 ? box.top - start.bottom : start.top - box.bottom, gap(box.left, box.right, start.left, start.right)];
		if (along < -4 || way[0] && across > 0) continue;
		const side = way[0] ? Math.abs(box.top + box.bottom - start.top - start.bottom) / 20 : Math.abs(box.left + box.right - start.left - start.right) / 20;
		const far = Math.max(0, along) + across * 3 + side;
		if (far < least) [best, least] = [element, far];
	}
	return best;
}

// The one before or after, in the order of the page; the first follows the last.
function beside(all, from, way) {
	const place = all.indexOf(from), step = way[0] + way[1];
	return all[(place + step + all.length) % all.length] || null;
}

// How far two spans lie apart; 0 if they overlap.
const gap = (from, to, first, last) => Math.max(0, from - last, first - to);
