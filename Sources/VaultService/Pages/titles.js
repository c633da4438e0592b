// The table of all titles. One title has a page of its own: title.js.

import {get, on, query, request} from './api.js';
import {amounts, ask, bar, button, bytes, chooser, field, h, heldText, many, moment, nameOf, note, t, waiting} from './ui.js';

const PAGE = 100;  // titles
const SORTS = {name: 'ascending', size: 'descending', added: 'descending', played: 'descending'};

const chosen = {sort: 'added', filter: '', search: ''};

export async function show(main, id, signal) {
	if (id) return (await import('./title.js')).show(main, id, signal);
	const count = h('p.soft', {role: 'status'}), body = h('tbody');
	const heads = Object.keys(SORTS).map(sort => h('th', {scope: 'col', class: sort === 'added' || sort === 'played' ? 'wide' : null}, button(t(`sort.${sort}`), () => {
		chosen.sort = sort;
		return load();
	})));
	heads.splice(1, 0, h('th', {scope: 'col'}, t('held')));
	const more = button(t('more'), () => load(true)), ticked = new Map();
	const several = h('div.acts', {hidden: true, role: 'group', 'aria-label': t('acts')});
	const tick = (item, isTicked) => {
		if (isTicked) ticked.set(item.id, item); else ticked.delete(item?.id);
		several.hidden = !ticked.size;
		several.replaceChildren(h('span', many('titles', ticked.size)), ...[['rename', renameSeveral], ['moveInto', moveSeveral], ['pin', pinSeveral]].map(
			([key, act]) => button(t(key), () => act([...ticked.values()]).then(isDone => { if (isDone) { ticked.clear(); load(); } }))));
	};
	main.append(h('div.head', h('h1', t('page.titles')), chooser(chosen, signal, change => { Object.assign(chosen, change); return load(); })), count, several,
		h('div.scroll', {tabindex: 0, role: 'region', 'aria-label': t('page.titles')}, h('table', h('caption.away', t('page.titles')),
			h('thead', h('tr', heads, h('th', {scope: 'col', class: 'wide'}, t('acts')))), body)), more);
	const rows = new Map();
	let after, loads = 0;

	async function load(goOn = false) {
		const mine = ++loads;
		const page = await get(query('resources', {...chosen, limit: PAGE, after: goOn ? after : undefined}), signal);
		if (mine !== loads) return;
		after = page.next;
		more.hidden = !after;
		if (!goOn) { rows.clear(); body.replaceChildren(); }
		for (const item of page.resources.filter(item => item.id)) {
			rows.set(item.id, newRow(item, ticked.has(item.id), tick));
			body.append(rows.get(item.id));
		}
		for (const gone of ticked.keys()) if (!rows.has(gone)) ticked.delete(gone);
		tick();
		count.textContent = rows.size ? `${many('titles', rows.size)}${after ? ' …' : ''}${page.damaged ? ` · ${many('damagedRows', page.damaged)}` : ''}` : t('nothingFound');
		heads.filter(head => head.firstChild.tagName).forEach((head, place) => {
			const sort = Object.keys(SORTS)[place];
			if (sort === chosen.sort) head.setAttribute('aria-sort', SORTS[sort]); else head.removeAttribute('aria-sort');
		});
	}

	const later = waiting(2000, () => rows.size > PAGE || load(), signal, true);
	on('resource', ({id: changed, resource}) => { if (rows.has(changed)) rows.get(changed).fill(resource); else if (!resource.part) later(); }, signal);
	on('removed', ({id: gone}) => { rows.get(gone)?.remove(); rows.delete(gone); tick({id: gone}); }, signal);
	on('many', later, signal);
	await load();
}

function newRow(item, isTicked, tick) {
	const box = h('input', {type: 'checkbox', checked: isTicked, on: {change: () => tick(item, box.checked)}});
	const link = h('a', {dir: 'auto', href: `#/titles/${item.id}`}), tag = h('span.tag'), share = bar(0, t('held'));
	const heldSays = h('small.soft'), size = h('td.number'), added = h('td.wide'), played = h('td.wide');
	const pin = button('', () => togglePin(item)), drop = button(t('remove'), () => remove(item));
	const line = h('tr', h('th', {scope: 'row', class: 'wide-text'}, box, ' ', link, ' ', tag), h('td', share, heldSays), size, added, played,
		h('td.wide', h('span.acts', pin, drop)));
	line.fill = changed => {
		item = {...item, ...changed};
		const {held, size: whole, share: part} = amounts(item), name = nameOf(item);
		link.textContent = name;
		box.setAttribute('aria-label', t('choose', {name}));
		tag.textContent = t(`class.${item.class}`);
		share.show(part ?? 0);
		heldSays.textContent = heldText(item);
		size.textContent = bytes(whole ?? held);
		added.textContent = moment(item.added, null);
		played.textContent = moment(item.accessed, null);
		pin.textContent = t(item.class === 'pinned' ? 'unpin' : 'pin');
		pin.setAttribute('aria-label', `${pin.textContent}: ${name}`);
		drop.setAttribute('aria-label', `${t('remove')}: ${name}`);
	};
	line.fill(item);
	return line;
}

// ---- What one can do with a title

export async function togglePin(item) {
	const isPinned = item.class === 'pinned';
	await request(isPinned ? 'DELETE' : 'PUT', `resources/${item.id}/pin`);
	note(t(isPinned ? 'unpinnedNow' : 'pinnedNow', {name: nameOf(item)}));
}

// Each returns whether the title is gone.
export async function remove(item) {
	const {held} = amounts(item);
	if (!await ask(t('removeTitle', {name: nameOf(item)}), [
		t('removeWords', {bytes: bytes(held)}), item.class === 'pinned' && t('removePinned')].filter(Boolean), t('remove'), {danger: true})) return false;
	const done = await request('DELETE', `resources/${item.id}`);
	note(t('removedNow', {name: nameOf(item), bytes: bytes(done.bytes)}));
	return true;
}

export async function shred(item) {
	const {held} = amounts(item);
	if (!await ask(t('shredTitle', {name: nameOf(item)}), [t('shredWords', {bytes: bytes(held)}), t('shredMore')], t('shred'), {danger: true})) return false;
	const done = await request('POST', 'shreds', {resources: [{id: item.id}]});
	const problem = done.resources.find(resource => resource.problem)?.problem;
	if (problem) throw new Error(problem.detail || problem.title);
	note(t(done.outcome === 'destroyed' ? 'shreddedNow' : 'shreddedPartly', {name: nameOf(item), generation: done.generation}));
	return true;
}

export async function rename(item) {
	const name = h('input', {value: item.name || '', maxlength: 200, autocomplete: 'off'}), label = field(t('newName'), name);
	if (!await ask(t('renameTitle', {name: nameOf(item)}), [label, t('renameWords')], t('save'))) return;
	await setName(item, name.value.trim());
}

// ---- What one can do with several titles at once. Each returns whether it was done.

const setName = (item, name) => request(name ? 'PUT' : 'DELETE', `resources/${item.id}/name`, name ? {name} : undefined);

async function renameSeveral(items) {
	const fields = items.map(item => h('input', {value: item.name || '', placeholder: nameOf(item), maxlength: 200, autocomplete: 'off'}));
	if (!await ask(t('renameSeveral'), [...items.map((item, place) => field(nameOf(item), fields[place])), t('renameWords')], t('save'))) return false;
	for (const [place, item] of items.entries()) {
		const name = fields[place].value.trim();
		if (name !== (item.name || '')) await setName(item, name);
	}
	return true;
}

async function moveSeveral(items) {
	const name = h('input', {maxlength: 200, autocomplete: 'off'});
	if (!await ask(t('moveInto'), [field(t('newName'), name), t('moveWords')], t('save'))) return false;
	await request('POST', 'collections', {resources: items.map(item => item.id), name: name.value.trim() || null});
	return true;
}

async function pinSeveral(items) {
	for (const item of items) await request('PUT', `resources/${item.id}/pin`);
	return true;
}
