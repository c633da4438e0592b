// Albums, series, feeds and folders: the vault groups titles and knows in which order people expect them.

import {on} from './api.js';
import {card} from './card.js';
import {positions} from './positions.js';
import {collections, groupName, titlesOf} from './groups.js';
import {enqueue} from './queue.js';
import {heading} from './states.js';
import {button, h, many, nothing, t, waiting, word} from './ui.js';

const RELOAD_AFTER = 2000;  // milliseconds after titles changed

async function load(id, signal) {
	const group = (await collections(signal)).find(found => found.id === id);
	return group ? {...group, titles: await titlesOf(group.titles, signal)} : {kind: 'folder', titles: []};
}

// The page of one collection: its titles in their order.
export async function show(main, id, signal) {
	const places = await positions(signal), list = h('ul.tiles', {role: 'list'}), says = h('div');
	let found = await load(id, signal);
	main.append(heading(groupName(found)), h('p.soft', [word('collection', found.kind), many('titles', found.titles.length)].join(' · ')),
		h('div.acts', h('a.main', {href: found.titles[0] ? `#/play/${found.titles[0].id}` : null}, t('play')),
			button(t('addAll'), () => found.titles.forEach(item => enqueue(item)))), list, says);
	function draw() {
		list.replaceChildren(...found.titles.map(item => {
			const one = card('tile', places);
			one.fill(item);
			return one;
		}));
		says.replaceChildren(found.titles.length ? '' : nothing(t('nothingFound')));
	}
	const again = waiting(RELOAD_AFTER, async () => { found = await load(id, signal); draw(); }, signal, true);
	for (const event of ['resource', 'removed', 'many']) on(event, again, signal);
	draw();
}
