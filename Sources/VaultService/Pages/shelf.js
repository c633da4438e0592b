// The shelf: a card for each title. Only the cards near the window exist, so ten thousand titles cost no more than fifty.

import {get, isOwner, on, query} from './api.js';
import {showCover} from './covers.js';
import {positions} from './positions.js';
import {amounts, bytes, chooser, choice, clock, fail, h, heldText, many, nameOf, remember, t, waiting} from './ui.js';

const FIRST_PAGE = 100, PAGE = 500;  // titles
const LEAST_WIDTH = 12;  // of a card, in rem
const RELOAD_AFTER = 3000;  // milliseconds after titles came or went

// What was listed last: the player finds the next title here.
const listed = {items: [], sort: remember('sort') || 'name', filter: '', search: '', scroll: 0};

let places = new Map();  // where one was in each title

export async function nextOf(id, signal) {
	let items = listed.items;
	if (!items.some(item => item.id === id))
		items = (await get(query('resources', {sort: listed.sort, limit: 1000}), signal)).resources.filter(item => item.id);
	const place = items.findIndex(item => item.id === id);
	return place < 0 ? null : items[place + 1] || null;
}

export async function show(main, _, signal) {
	places = await positions(signal);
	const count = h('p.soft', {role: 'status'});
	const sort = choice(['name', 'played', 'added', 'size'].map(key => [key, t(`sort.${key}`)]), listed.sort,
		{'aria-label': t('sort')});
	const tools = chooser(listed, signal, change => { Object.assign(listed, change); return tryLoad(); });
	tools.append(sort);
	const grid = h('ul.grid', {role: 'list', 'aria-label': t('page.shelf')});
	main.append(h('div.head', h('h1', t('page.shelf')), tools),
		count, grid);

	let loading = null;
	const view = virtual(grid, signal);

	// Loads page after page; shows what came as soon as it came, unless older cards are shown meanwhile.
	async function load(again = false) {
		loading?.abort();
		const mine = loading = new AbortController();
		const items = [], {sort, filter, search} = listed, keep = again ? listed.items.length : 0;
		let after;
		do {
			const page = await get(query('resources', {sort, filter, search, after, limit: after ? PAGE : FIRST_PAGE}),
				AbortSignal.any([signal, mine.signal]));
			for (const item of page.resources) if (item.id) items.push(item);
			after = page.next;
			if (items.length >= keep || !after) {
				listed.items = items;
				view.show(items);
				count.textContent = items.length ? `${many('titles', items.length)}${after ? ' …' : ''}`
					: search || filter ? t('nothingFound') : t(isOwner() ? 'emptyShelf' : 'nothingShared');
			}
			await new Promise(done => setTimeout(done, 30));
		} while (after && !signal.aborted);
	}

	const tryLoad = again => load(again).catch(error => signal.aborted || fail(error));
	const reload = waiting(RELOAD_AFTER, () => tryLoad(true), signal, true);
	sort.addEventListener('change', () => {
		remember('sort', listed.sort = sort.value);
		tryLoad();
	});

	on('resource', ({id, resource}) => {
		const place = listed.items.findIndex(item => item.id === id);
		if (place < 0) return resource.part || reload();
		listed.items[place] = {...listed.items[place], ...resource};
		view.change(place);
	}, signal);
	on('removed', ({id}) => {
		const place = listed.items.findIndex(item => item.id === id);
		if (place < 0) return;
		listed.items.splice(place, 1);
		view.show(listed.items);
	}, signal);
	on('many', reload, signal);
	signal.addEventListener('abort', () => { listed.scroll = scrollY; });

	if (listed.items.length) {
		view.show(listed.items);
		const {scroll} = listed;
		requestAnimationFrame(() => scrollTo(0, scroll));
		tryLoad(true);
	} else await load();
}

// Lays cards out by their number, and makes only those that are near the window.
function virtual(grid, signal) {
	let items = [], columns = 1, width = 0, height = 0, rem = 16, asked = false;
	const cards = new Map(), spare = [];

	function measure() {
		rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
		const whole = grid.clientWidth;
		columns = Math.max(2, Math.floor(whole / (LEAST_WIDTH * rem)));
		width = whole / columns;
		height = Math.round(width * 9 / 16 + 6.4 * rem);
		for (const [place, card] of cards) put(card, place);
	}

	function put(card, place) {
		card.style.inlineSize = `${width}px`;
		card.style.blockSize = `${height}px`;
		card.style.insetInlineStart = `${place % columns * width}px`;
		card.style.insetBlockStart = `${Math.floor(place / columns) * height}px`;
	}

	// The places of some rows, and of two rows before and after them.
	function placesOf(from, to) {
		const first = Math.max(0, (Math.floor(from) - 2) * columns);
		const last = Math.min(items.length, (Math.ceil(to) + 2) * columns);
		return new Set(Array.from({length: Math.max(0, last - first)}, (_, i) => first + i));
	}

	function draw() {
		asked = false;
		if (signal.aborted) return;
		grid.style.blockSize = `${Math.ceil(items.length / columns) * height}px`;
		const top = -grid.getBoundingClientRect().top;
		const wanted = placesOf(top / height, (top + innerHeight) / height);
		// The cards around the one with the focus, too: an arrow leads to them before the next frame, or after a scroll away.
		for (const [place, card] of cards) {
			if (!card.contains(document.activeElement)) continue;
			const row = Math.floor(place / columns);
			for (const near of placesOf(row, row + 1)) wanted.add(near);
		}
		for (const [place, card] of cards) {
			if (wanted.has(place)) continue;
			cards.delete(place);
			card.remove();
			if (spare.length < 60) spare.push(card);
		}
		for (const place of wanted) {
			if (cards.has(place)) continue;
			const card = spare.pop() || newCard();
			cards.set(place, card);
			put(card, place);
			card.fill(items[place], place, items.length);
		}
		// The order of the cards in the document is that of the titles, for the tab key and for screen readers.
		let next = grid.firstElementChild;
		for (const place of [...cards.keys()].sort((a, b) => a - b)) {
			const card = cards.get(place);
			if (card === next) next = next.nextElementSibling;
			else grid.insertBefore(card, next);
		}
	}

	const ask = () => { if (!asked) { asked = true; requestAnimationFrame(draw); } };
	addEventListener('scroll', ask, {signal, passive: true});
	grid.addEventListener('focusin', draw, {signal});
	const watcher = new ResizeObserver(() => { measure(); ask(); });
	watcher.observe(grid);
	signal.addEventListener('abort', () => watcher.disconnect());
	measure();
	return {
		show(list) {
			items = list;
			for (const [place, card] of cards) if (items[place]) card.fill(items[place], place, items.length);
			draw();
		},
		change(place) { cards.get(place)?.fill(items[place], place, items.length); },
	};
}

function newCard() {
	const cover = h('span.cover', {'aria-hidden': 'true'}), name = h('span.name', {dir: 'auto'});
	const length = h('span'), held = h('span'), full = h('span');
	const share = h('span.bar', {'aria-hidden': 'true'}, full);
	const link = h('a', cover, name, share, h('span.soft', length), h('span.soft', held));
	const card = h('li.card', link);
	let shown = null;
	card.fill = (item, place, count) => {
		card.setAttribute('aria-posinset', place + 1);
		card.setAttribute('aria-setsize', count);
		if (shown === item) return;
		shown = item;
		const text = nameOf(item), at = places.get(item.id), {share: part, size, held: has} = amounts(item);
		link.setAttribute('href', `#/play/${item.id}`);
		name.textContent = text;
		paint(cover, item.name || item.url || item.id, text);
		showCover(cover, item, () => shown === item);
		const seconds = (item.title?.duration || item.duration) / 1000 || at?.duration;
		length.textContent = [
			at?.seconds ? t('leftAt', {time: clock(at.seconds)}) : seconds && clock(seconds), bytes(size ?? has)].filter(Boolean).join(' · ');
		held.textContent = [heldText(item), item.class === 'pinned' && t('pinned')].filter(Boolean).join(' · ');
		full.style.inlineSize = `${(part ?? 0) * 100}%`;
	};
	return card;
}

// A cover out of the name alone: its colours and its letters.
export function paint(cover, seed, name) {
	let mix = 2166136261;
	for (let i = 0; i < seed.length; i++) mix = Math.imul(mix ^ seed.charCodeAt(i), 16777619) >>> 0;
	const hue = mix % 360, other = (hue + 40 + (mix >>> 9) % 60) % 360, angle = (mix >>> 16) % 180;
	cover.style.background = `linear-gradient(${angle}deg, hsl(${hue} 45% 34%), hsl(${other} 55% 20%))`;
	const words = name.replace(/\.[a-z0-9]{2,5}$/i, '').split(/[^\p{L}\p{N}]+/u).filter(Boolean);
	cover.textContent = words.slice(0, 2).map(word => [...word][0].toLocaleUpperCase()).join('');
}

