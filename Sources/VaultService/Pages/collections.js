// Albums, series, feeds and folders: the vault groups titles and knows in which order people expect them.

import {isOwner, on, request} from './api.js';
import {card} from './card.js';
import {positions} from './positions.js';
import {collections, groupName, titlesOf} from './groups.js';
import {menu} from './menu.js';
import {start} from './player.js';
import {enqueue} from './queue.js';
import {heading} from './states.js';
import {ask, button, field, h, many, note, nothing, t, waiting, word} from './ui.js';

const RELOAD_AFTER = 2000;  // milliseconds after titles changed

async function load(id, signal) {
	const group = (await collections(signal)).find(found => found.id === id);
	return group ? {...group, titles: await titlesOf(group.titles, signal)} : {kind: 'folder', titles: []};
}

// What its owner can do with a collection. All of it applies to what comes later, too.
async function change(group, members) {
	await request('PATCH', 'collections', {id: group.id, ...members});
	note(t('done'));
}

async function rename(group) {
	const name = h('input', {value: group.name || '', maxlength: 200, autocomplete: 'off'});
	if (await ask(t('renameTitle', {name: groupName(group)}), [field(t('newName'), name), t('renameGroupWords')], t('save'))) await change(group, {name: name.value.trim()});
}

const acts = (group, again) => [
	[t(group.pinned ? 'unpinGroup' : 'pinGroup'), () => change(group, {pinned: !group.pinned}).then(again)],
	[t('rename'), () => rename(group).then(again)],
	[t('share'), async () => (await import('./viewers.js')).shareCollection(group).then(again)]];

// The page of one collection: its titles in their order.
export async function show(main, id, signal) {
	const places = await positions(signal), list = h('ul.tiles', {role: 'list'}), says = h('div');
	let found = await load(id, signal);
	const play = async () => { await start(found.titles[0].id); location.hash = `#/play/${found.titles[0].id}`; };
	const title = heading(groupName(found)), about = h('p.soft'), more = isOwner() && found.id ? h('button', {type: 'button'}, t('moreActs')) : '';
	main.append(title, about,
		h('div.acts', button(t('play'), play, {class: 'main', disabled: !found.titles.length}),
			button(t('addAll'), () => found.titles.forEach(item => enqueue(item))), more), list, says);
	function draw() {
		title.firstChild.textContent = groupName(found);
		about.textContent = [word('collection', found.kind), many('titles', found.titles.length), found.pinned && t('class.pinned')].filter(Boolean).join(' · ');
		list.replaceChildren(...found.titles.map(item => {
			const one = card('tile', places);
			one.fill(item);
			return one;
		}));
		says.replaceChildren(found.titles.length ? '' : nothing(t('nothingFound')));
	}
	const reload = async () => { found = await load(id, signal); draw(); };
	const again = waiting(RELOAD_AFTER, reload, signal, true);
	if (more) menu(more, () => acts(found, reload));
	for (const event of ['resource', 'removed', 'many']) on(event, again, signal);
	draw();
}
