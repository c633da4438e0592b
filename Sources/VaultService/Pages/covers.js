// Covers of titles. They are kept in memory alone: no picture of the vault gets into the browser's cache.

import {blob} from './api.js';
import {h} from './ui.js';

const KEPT = 300;  // pictures
const AT_ONCE = 4;  // requests

const kept = new Map();  // by id and tag: the promise of an address in memory, or of null
const waiting = [];
let running = 0;

async function load(id) {
	if (running >= AT_ONCE) await new Promise(go => waiting.push(go));
	running++;
	try {
		return URL.createObjectURL(await blob(`resources/${encodeURIComponent(id)}/cover`));
	} catch {
		return null;  // it was removed meanwhile, or its bytes are gone
	} finally {
		running--;
		waiting.shift()?.();
	}
}

// Returns the address of a title's cover; null if it has none.
export function coverOf(item) {
	if (!item.cover) return Promise.resolve(null);
	const key = `${item.id} ${item.cover}`, known = kept.get(key) || load(item.id);
	kept.delete(key);
	kept.set(key, known);
	if (kept.size > KEPT) {
		const [oldest, address] = kept.entries().next().value;
		kept.delete(oldest);
		address.then(text => text && URL.revokeObjectURL(text));
	}
	return known;
}

// Puts a title's cover, in its own shape, in place of the one that was painted, if `isWanted` says so when it comes.
export async function showCover(place, item, isWanted) {
	const address = await coverOf(item);
	if (!address || !isWanted()) return;
	const picture = h('img', {src: address, alt: '', draggable: 'false'});
	await picture.decode().catch(() => {});
	if (!isWanted() || !picture.naturalWidth) return;
	place.replaceChildren(picture);
	place.classList.add('has-picture');
	place.classList.toggle('tall', picture.naturalHeight > picture.naturalWidth);
	place.style.aspectRatio = `${picture.naturalWidth} / ${picture.naturalHeight}`;
}
