// A card of a title: its poster in its own shape, its name, how much of it was watched, and a menu.

import {isOwner} from './api.js';
import {showCover} from './covers.js';
import {groupName} from './groups.js';
import {iconButton} from './icons.js';
import {menu} from './menu.js';
import {isOver, played} from './positions.js';
import {queueActs} from './queue.js';
import {amounts, bytes, clock, h, heldText, nameOf, t} from './ui.js';

// `places` tells where one was in each title. The card is empty until `fill` gives it a title.
export function card(kind, places) {
	const cover = h('span.cover', {'aria-hidden': 'true'}), name = h('span.name', {dir: 'auto'}), says = h('span.soft');
	const full = h('span'), watched = h('span.bar.watched', full), held = h('span.soft.part');
	const link = h('a', h('span.frame', {'aria-hidden': 'true'}, cover, watched), name, says, held);
	const more = iconButton('more', '', () => {});
	const element = h(`li.${kind}`, link, more);
	let shown = null;
	menu(more, () => [...queueActs(shown), ...isOwner() ? [null, [t('toTitle'), () => { location.hash = `#/titles/${shown.id}`; }]] : []]);
	element.fill = (item, place, count) => {
		if (count) { element.setAttribute('aria-posinset', place + 1); element.setAttribute('aria-setsize', count); }
		if (shown === item) return;
		shown = item;
		const text = nameOf(item), at = places.get(item.id), share = played(at), {size, share: part} = amounts(item);
		link.setAttribute('href', `#/play/${item.id}`);
		name.textContent = text;
		more.setAttribute('aria-label', more.title = `${t('moreActs')}: ${text}`);
		paint(cover, item);
		showCover(cover, item, () => shown === item);
		const seconds = (item.title?.duration || item.duration) / 1000 || at?.duration;
		says.textContent = [isOver(at) ? t('watched') : at?.seconds ? t('leftAt', {time: clock(at.seconds)}) : seconds ? clock(seconds) : size === null ? '' : bytes(size),
			item.class === 'pinned' && t('pinned')].filter(Boolean).join(' · ');
		held.textContent = part === 1 ? '' : heldText(item);
		watched.hidden = !share;
		full.style.inlineSize = `${share * 100}%`;
	};
	return element;
}

// A poster out of the name alone: its colours and its letters.
export function paint(cover, item) {
	const name = nameOf(item), seed = item.name || item.url || item.id;
	let mix = 2166136261;
	for (let i = 0; i < seed.length; i++) mix = Math.imul(mix ^ seed.charCodeAt(i), 16777619) >>> 0;
	const hue = mix % 360, other = (hue + 40 + (mix >>> 9) % 60) % 360, angle = (mix >>> 16) % 180;
	cover.classList.toggle('square', Boolean(item.type?.startsWith('audio/')));
	cover.classList.remove('has-picture', 'tall');
	cover.style.aspectRatio = '';
	cover.style.background = `linear-gradient(${angle}deg, hsl(${hue} 45% 34%), hsl(${other} 55% 20%))`;
	const words = name.replace(/\.[a-z0-9]{2,5}$/i, '').split(/[^\p{L}\p{N}]+/u).filter(Boolean);
	cover.textContent = words.slice(0, 2).map(word => [...word][0].toLocaleUpperCase()).join('');
}

// A card of a collection: its picture is that of its name, and behind it stand others.
export function collectionCard(found, words) {
	const cover = h('span.cover.square.stack', {'aria-hidden': 'true'});
	paint(cover, {name: groupName(found), id: found.id});
	cover.classList.add('square');
	return h('li.tile', h('a', {href: `#/collections/${found.id}`}, h('span.frame', {'aria-hidden': 'true'}, cover),
		h('span.name', {dir: 'auto'}, groupName(found)), h('span.soft', words)));
}
