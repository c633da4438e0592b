// What all pages share: elements, words for numbers, pictures of what is held, and dialogs.

import {isOwner} from './api.js';
import {hasText, language, t, many} from './texts.js';

// ---- Elements. Text goes in as text: nothing here, or in any other file, reads HTML from a string.

const PROPERTIES = new Set(['value', 'checked', 'disabled', 'hidden', 'selected', 'open', 'tabIndex']);
const SVG = 'http://www.w3.org/2000/svg';

function fill(element, options, children) {
	for (const [name, value] of Object.entries(options || {})) {
		if (value === undefined || value === null || value === false) continue;
		if (name === 'on') for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
		else if (PROPERTIES.has(name)) element[name] = value;
		else element.setAttribute(name, value === true ? '' : value);
	}
	element.append(...children.flat(Infinity).filter(child => child || child === 0));
	return element;
}

// h('p.soft', 'text') or h('a', {href: '#/'}, 'text', …): the options may be left out.
export function h(name, options, ...children) {
	const [tag, ...classes] = name.split('.'), element = document.createElement(tag);
	if (classes.length) element.className = classes.join(' ');
	return options?.constructor === Object ? fill(element, options, children) : fill(element, {}, [options, ...children]);
}
export const svg = (name, options, ...children) => fill(document.createElementNS(SVG, name), options, children);

// A button whose act may take a while: it cannot be pressed twice, and a failure is told.
export function button(text, act, options = {}) {
	const element = h('button', {type: 'button', ...options}, text);
	element.addEventListener('click', () => busy(element, act));
	return element;
}

export async function busy(element, act) {
	if (element.getAttribute('aria-busy') === 'true') return;
	element.setAttribute('aria-busy', 'true');
	try {
		await act();
	} catch (error) {
		fail(error);
	} finally {
		element.removeAttribute('aria-busy');
	}
}

export const field = (label, control, hint) => {
	control.id ||= `f${++fields}`;
	const note = hint && h('small', {id: `${control.id}h`}, hint);
	if (note) control.setAttribute('aria-describedby', note.id);
	return h('div.field', h('label', {for: control.id}, label), control, note);
};
let fields = 0;

export const check = (label, options) => {
	const box = h('input', {type: 'checkbox', ...options});
	return {box, label: h('label.check', box, label)};
};

export const choice = (values, value, options) => h('select', options, values.map(
	([key, text]) => h('option', {value: key, selected: key === value}, text)));

// What stands in place of a list that is empty, small among other lists, and what one can do then.
export const nothing = (text, isSmall, ...acts) => h(isSmall ? 'div.state.small' : 'div.state', h('span.drawing', {'aria-hidden': 'true'}), h('p', text), ...acts);

export const table = (caption, heads, rows, empty) => rows.length
	? h('div.scroll', {tabindex: 0, role: 'region', 'aria-label': caption}, h('table',
		h('caption.away', caption),
		h('thead', h('tr', heads.map(head => h('th', {scope: 'col'}, head)))),
		h('tbody', rows)))
	: nothing(empty, true);

// Pairs of a key and a value; what is false is left out.
export const facts = (element, pairs) => element.replaceChildren(...pairs.filter(Boolean).map(
	([key, value]) => h('div', h('dt', t(`fact.${key}`)), h('dd', {dir: 'auto'}, value))));

// An act that waits until no more has changed for a while, or, with `first`, only for that while.
export function waiting(wait, act, signal, first = false) {
	let timer = null;
	return () => {
		if (first && timer) return;
		clearTimeout(timer);
		timer = setTimeout(() => {
			timer = null;
			if (!signal.aborted) Promise.resolve(act()).catch(fail);
		}, wait);
	};
}

// What chooses among titles: a search and a filter. `changed` is called with both.
export function chooser(chosen, signal, changed) {
	const search = h('input', {
		type: 'search', value: chosen.search, placeholder: t('search'), 'aria-label': t('search'), maxlength: 200});
	// Viewers do not see what is pinned.
	const filter = choice(['', 'held', 'partial', ...isOwner() ? ['pinned'] : []].map(key => [key, t(`filter.${key || 'all'}`)]), chosen.filter,
		{'aria-label': t('filter')});
	const change = () => changed({search: search.value.trim(), filter: filter.value});
	search.addEventListener('input', waiting(250, change, signal));
	filter.addEventListener('change', change);
	return h('search.tools', search, filter);
}

export const row = (...cells) => h('tr', cells.map(cell => cell?.tagName === 'TD' ? cell : h('td', cell)));

// ---- Words for numbers

// Formats are costly to make, so each is made once.
const formats = new Map();
function format(kind, options, value) {
	const key = language() + JSON.stringify(options);
	if (!formats.has(key)) formats.set(key, new Intl[kind](language(), options));
	return formats.get(key).format(value);
}

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte', 'petabyte'];

// Cut as the command cuts them, so that nothing seems to be held that is not.
export function bytes(count) {
	let power = 0;
	while (count >= 1000 && power < UNITS.length - 1) { count /= 1000; power++; }
	const parts = power && count < 100 ? 10 : 1;
	return format('NumberFormat', {
		style: 'unit', unit: UNITS[power], unitDisplay: power ? 'short' : 'long', maximumFractionDigits: 1}, Math.floor(count * parts + 1e-6) / parts);
}

export const number = value => format('NumberFormat', {}, value);

// Never says 100 % of what is not whole, or 0 % of what has begun.
export function percent(share) {
	const shown = share >= 1 ? 1 : share <= 0 ? 0 : Math.min(0.99, Math.max(0.01, Math.floor(share * 100 + 1e-6) / 100));
	return format('NumberFormat', {style: 'percent'}, shown);
}

// A part of a sum, rounded, so that the parts make up the whole.
export const part = share => format('NumberFormat', {style: 'percent'}, share);

export function clock(seconds) {
	const whole = Math.max(0, Math.floor(seconds || 0));
	const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
	const two = value => String(value).padStart(2, '0');
	return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

export function moment(time, style = 'short') {
	if (!time) return '–';
	const date = new Date(typeof time === 'number' ? time * 1000 : time);
	return format('DateTimeFormat', {dateStyle: 'medium', ...style && {timeStyle: style}}, date);
}

// The time of day of what happened a short while ago.
export const hour = time => format('DateTimeFormat', {timeStyle: 'short'}, new Date(time));

// ---- Titles

export function nameOf(item) {
	if (item.name || item.fallbackName) return item.name || item.fallbackName;
	// Its file is named by a token, which says nothing to people.
	if (item.fallbackName === null && item.added) {
		return t('titleOf', {day: format('DateTimeFormat', {day: 'numeric', month: 'long'}, new Date(item.added))});
	}
	const parts = String(item.url || '').split(/[?#]/)[0].split('/').filter(Boolean), last = parts.at(-1);
	// Manifests have the same few names, so that of the folder is shown with them.
	const path = /\.(m3u8|mpd)$/i.test(last) && parts.length > 3 ? parts.slice(-2).join('/') : last || item.url || item.id || '';
	try { return decodeURIComponent(path); } catch { return path; }
}

// The bytes of a title, and how many of them are held; of a title of several files, those of all its files.
export function amounts(item) {
	const of = item.title || item;
	const held = item.partBytes ? item.bytes + item.partBytes : of.bytes;
	const size = item.partBytes !== undefined && item.partBytes !== null ? null : of.size;
	return {held, size, share: size ? Math.min(1, held / size) : size === 0 ? 1 : null};
}

export function heldText(item) {
	const {held, share} = amounts(item);
	if (share === null) return t('heldBytes', {bytes: bytes(held)});
	return share >= 1 ? t('heldWhole') : t('heldShare', {share: percent(share)});
}

// ---- Pictures of bytes

const SCALE = 1000;

// Draws ranges of bytes into a bar. A hole is never too thin to be seen, and neither is what is held.
export function ranges(bar, list, size, classOf = () => 'held') {
	const drawn = [];
	for (const range of size ? list : []) {
		const [first, end] = range;
		const from = Math.floor(first / size * SCALE), to = Math.max(from + 1, Math.ceil(end / size * SCALE));
		const before = drawn.at(-1), kind = classOf(range);
		if (before && first > before.byte && from < before.to + 3) before.to = Math.max(before.from + 1, from - 3);
		if (before && first <= before.byte && kind === before.kind) Object.assign(before, {to, byte: end});
		else if (!before || to > before.to) drawn.push({from, to: Math.min(SCALE, to), byte: end, kind});
	}
	const last = drawn.at(-1);
	if (last && last.byte < size) last.to = Math.min(last.to, SCALE - 3);
	bar.replaceChildren(...drawn.map(({from, to, kind}) => svg('rect', {
		class: kind, x: from, y: 0, width: Math.max(1, to - from), height: 10})));
	return bar;
}

export const rangeBar = (label, list, size, classOf) => ranges(svg('svg', {
	class: 'ranges', viewBox: `0 0 ${SCALE} 10`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label,
}), list, size, classOf);

export function holes(held, size) {
	const found = [];
	let end = 0;
	for (const [first, next] of held) {
		if (first > end) found.push([end, first]);
		end = Math.max(end, next);
	}
	if (end < size) found.push([end, size]);
	return found;
}

// A bar that fills; its text stands beside it.
export function bar(share, label) {
	const inner = h('span');
	const outer = h('span.bar', {role: 'progressbar', 'aria-valuemin': 0, 'aria-valuemax': 100,
		'aria-label': label}, inner);
	outer.show = value => {
		inner.style.inlineSize = `${(value || 0) * 100}%`;
		outer.setAttribute('aria-valuenow', Math.floor((value || 0) * 100));
	};
	outer.show(share);
	return outer;
}

// ---- Saying things

export function note(text, isFailure = false) {
	const place = document.getElementById('notes');
	const element = h('p', {class: isFailure ? 'note bad' : 'note'}, text);
	element.append(h('button', {type: 'button', class: 'plain', 'aria-label': t('close'),
		on: {click: () => element.remove()}}, '×'));
	place.append(element);
	while (place.children.length > 3) place.firstChild.remove();
	setTimeout(() => element.remove(), isFailure ? 20_000 : 8000);
}

// Why something failed: the service's own sentence in English, and in other languages words for its kind.
export function why({code, hint, detail, title} = {}) {
	if (language() === 'en') return detail || title || '';
	return t(['followFeed'].includes(hint) ? `why.${hint}` : hasText(`why.${code}`) ? `why.${code}` : 'why.other');
}

export function fail(error) {
	if (error.name === 'AbortError') return;
	if (error.name !== 'Problem' && error.name !== 'Error') console.error(error);
	note(error.status ? t('refused', {why: why(error.document)}) : error.message || t('notReached'), true);
}

// Asks before an act, in words of what comes of it; returns whether the act is wanted.
export function ask(title, parts, act, {danger = false, cancel = t('cancel')} = {}) {
	const from = document.activeElement;
	return new Promise(decide => {
		const heading = h('h2', {id: 'asks'}, title);
		const yes = h('button', {type: 'submit', class: danger ? 'danger' : 'main'}, act);
		const no = h('button', {type: 'button', autofocus: danger, on: {click: () => dialog.close()}}, cancel);
		const form = h('form', heading,
			parts.map(part => typeof part === 'string' ? h('p', part) : part),
			h('div.acts', act && yes, no));
		const dialog = h('dialog', {'aria-labelledby': 'asks'}, form);
		let answer = false;
		form.addEventListener('submit', event => { event.preventDefault(); answer = true; dialog.close(); });
		dialog.addEventListener('close', () => { dialog.remove(); from?.isConnected && from.focus(); decide(answer); });
		document.body.append(dialog);
		dialog.showModal();
	});
}

// ---- A small store of this browser, which may be refused.

export function remember(key, value) {
	try {
		if (value === undefined) return JSON.parse(localStorage.getItem(`mv.${key}`));
		localStorage.setItem(`mv.${key}`, JSON.stringify(value));
	} catch { /* private windows may have no store */ }
	return null;
}

// A word that the service gives, in the language of the pages; itself if a newer service gives one that they lack.
export const word = (kind, name) => hasText(`${kind}.${name}`) ? t(`${kind}.${name}`) : name;

export {t, many};
