// The shelf: a card for each title. Only the cards near the window exist, so ten thousand titles cost no more than fifty.

import {get, isOwner, on, query} from './api.js';
import {card} from './card.js';
import {positions} from './positions.js';
import {rows} from './rows.js';
import {chooser, choice, fail, h, many, nothing, remember, t, waiting} from './ui.js';

const FIRST_PAGE = 100, PAGE = 1000;  // titles
const LEAST_WIDTH = 10;  // of a card, in rem
const WORDS = 5.4;  // below its poster, in rem
const RELOAD_AFTER = 3000;  // milliseconds after titles came or went

// What was listed last: the player finds the next title here.
const listed = {items: [], sort: remember('sort') || 'name', filter: '', search: '', scroll: 0};

export async function nextOf(id, signal) {
	let items = listed.items;
	if (!items.some(item => item.id === id))
		items = (await get(query('resources', {sort: listed.sort, limit: 1000}), signal)).resources.filter(item => item.id);
	const place = items.findIndex(item => item.id === id);
	return place < 0 ? null : items[place + 1] || null;
}

export async function show(main, _, signal) {
	const places = await positions(signal);
	const count = h('p.soft', {role: 'status'});
	const sort = choice(['name', 'played', 'added', 'size'].map(key => [key, t(`sort.${key}`)]), listed.sort,
		{'aria-label': t('sort')});
	const tools = chooser(listed, signal, change => { Object.assign(listed, change); return tryLoad(); });
	tools.append(sort);
	const grid = h('ul.grid', {role: 'list', 'aria-label': t('page.shelf')}), begins = h('div.rows'), blank = h('div');
	const all = h('div.head', h('h2', t('allTitles')), count);
	main.append(h('div.head.shelf', h('h1', t('page.shelf')), tools), begins, all, grid, blank);

	let loading = null;
	const view = virtual(grid, places, signal);

	// Loads page after page; shows what came as soon as it came, unless older cards are shown meanwhile. `begun` is called
	// when something is shown.
	async function load(again = false, begun = () => {}) {
		loading?.abort();
		const mine = loading = new AbortController();
		const items = [], {sort, filter, search} = listed, keep = again ? listed.items.length : 0;
		let after, early;
		begins.hidden = Boolean(search || filter);
		do {
			const page = await get(query('resources', {sort, filter, search, after, limit: after ? PAGE : FIRST_PAGE}),
				AbortSignal.any([signal, mine.signal]));
			for (const item of page.resources) if (item.id) items.push(item);
			after = page.next;
			if (items.length >= keep || !after) {
				listed.items = items;
				view.show(items);
				begun();
				count.textContent = items.length ? `${many('titles', items.length)}${after ? ' …' : ''}` : '';
				all.hidden = !items.length;
				blank.replaceChildren(items.length ? '' : search || filter ? nothing(t('nothingFound'))
					: nothing(t(isOwner() ? 'emptyShelf' : 'nothingShared'), false, isOwner() ? h('a', {href: '#/downloads'}, t('toDownloads')) : ''));
			}
			// The rows do not wait for ten thousand titles.
			if (after && !again && !begins.hidden) early ??= rows(begins, [...items], places, signal).catch(() => {});
			await new Promise(done => setTimeout(done, 30));
		} while (after && !signal.aborted);
		await early;
		if (!begins.hidden) await rows(begins, items, places, signal);
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
	} else await new Promise((begun, broken) => load(false, begun).then(begun, broken));
}

// Lays cards out by their number, and makes only those that are near the window.
function virtual(grid, places, signal) {
	let items = [], columns = 1, width = 0, height = 0, rem = 16, asked = false;
	const cards = new Map(), spare = [];

	function measure() {
		rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
		const whole = grid.clientWidth;
		columns = Math.max(2, Math.floor(whole / (LEAST_WIDTH * rem)));
		width = whole / columns;
		height = Math.round(width + WORDS * rem);
		for (const [place, one] of cards) put(one, place);
	}

	function put({style}, place) {
		style.inlineSize = `${width}px`;
		style.blockSize = `${height}px`;
		style.insetInlineStart = `${place % columns * width}px`;
		style.insetBlockStart = `${Math.floor(place / columns) * height}px`;
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
		for (const [place, one] of cards) {
			if (!one.contains(document.activeElement)) continue;
			const row = Math.floor(place / columns);
			for (const near of placesOf(row, row + 1)) wanted.add(near);
		}
		for (const [place, one] of cards) {
			if (wanted.has(place)) continue;
			cards.delete(place);
			one.remove();
			if (spare.length < 60) spare.push(one);
		}
		for (const place of wanted) {
			if (cards.has(place)) continue;
			const one = spare.pop() || card('card', places);
			cards.set(place, one);
			put(one, place);
			one.fill(items[place], place, items.length);
		}
		// The order of the cards in the document is that of the titles, for the tab key and for screen readers.
		let next = grid.firstElementChild;
		for (const place of [...cards.keys()].sort((a, b) => a - b)) {
			const one = cards.get(place);
			if (one === next) next = next.nextElementSibling;
			else grid.insertBefore(one, next);
		}
	}

	const ask = () => { if (!asked) { asked = true; requestAnimationFrame(draw); } };
	for (const event of ['scroll', 'resize']) addEventListener(event, ask, {signal, passive: true});
	grid.addEventListener('focusin', draw, {signal});
	const watcher = new ResizeObserver(() => { measure(); ask(); });
	watcher.observe(grid);
	signal.addEventListener('abort', () => watcher.disconnect());
	measure();
	return {
		show(list) {
			items = list;
			for (const [place, one] of cards) if (items[place]) one.fill(items[place], place, items.length);
			draw();
		},
		change(place) { cards.get(place)?.fill(items[place], place, items.length); },
	};
}
