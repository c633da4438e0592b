// The page of a title that plays: the player stands above it, and here is what it plays and what follows.

import {isOwner} from './api.js';
import {chapterList} from './chapters.js';
import * as player from './player.js';
import {following, onQueue, queueActs} from './queue.js';
import {collectionOf, groupName} from './groups.js';
import {menu} from './menu.js';
import {iconButton} from './icons.js';
import {button, fail, h, heldText, nameOf, t} from './ui.js';

const SHORT = 5;  // seconds

export async function show(main, id, signal) {
	// Who opens another title while one plays wants to hear it.
	if (player.current()?.id !== id) await player.start(id, player.plays());
	if (signal.aborted) return;
	signal.addEventListener('abort', player.becomeBar);
	const title = player.current();
	if (!title) return;
	const {item} = title, {artist, album, series} = item.tags || {};
	const group = await collectionOf(id, signal).catch(() => null);
	if (signal.aborted) return;
	const held = h('p.held-text'), follows = h('p.soft'), chapters = chapterList(title.chapters, second => title.goTo(second));
	const start = button(t('fromStart'), async () => { title.goTo(0); await title.play(); }, {hidden: true});
	const more = iconButton('more', t('moreActs'), () => {});
	menu(more, () => [...queueActs(item), ...isOwner() ? [null, [t('toTitle'), () => { location.hash = `#/titles/${id}`; }]] : []]);
	main.append(h('div.head.named', h('h1', {dir: 'auto'}, nameOf(item)), h('div.acts', start, more)),
		[artist, album || series].some(Boolean) ? h('p.soft', {dir: 'auto'}, [artist, album || series].filter(Boolean).join(' · ')) : '',
		group ? h('p', h('a', {href: `#/collections/${group.id}`, dir: 'auto'}, groupName(group))) : '',
		held, h('p.legend.seeks.soft', h('span', h('span.key.heard'), t('legendPlayed')), h('span', h('span.key.held'), t('legendHeld')), h('span', h('span.key'), t('legendHole'))),
		chapters, follows, h('p.soft.keys', h('small', t('keyWords'))));

	// Only of what was begun before: there it may be wanted.
	const began = title.before !== null || title.second() > SHORT;

	function draw() {
		if (player.current() !== title) return;
		held.textContent = title.heldWords();
		start.hidden = !began || !title.isOpened || title.second() < SHORT;
		chapters.now(title.second());
	}

	async function drawNext() {
		const next = await following(item, signal).catch(() => null);
		follows.replaceChildren(...next ? [t('nextIs'), ' ', h('a', {href: `#/play/${next.id}`, dir: 'auto'}, nameOf(next)), ` (${heldText(next)})`] : []);
	}

	player.hear(draw, signal);
	onQueue(() => drawNext().catch(fail), signal);
	draw();
	drawNext();
	document.getElementById('player').focus({preventScroll: true});  // so that the keys work at once
}
