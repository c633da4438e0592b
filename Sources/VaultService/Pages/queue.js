// What plays next: first what was put into the queue, then the next title of the collection, else of the shelf. The queue
// is in memory alone, and forgotten with the page.

import {get} from './api.js';
import {collectionOf} from './groups.js';
import {nextOf} from './shelf.js';
import {nameOf, note, t} from './ui.js';

const MOST = 500;  // titles

let titles = [];
const hearers = new Set();

export const queued = () => titles;

// Calls `act` when the queue has changed, until a signal.
export function onQueue(act, signal) {
	hearers.add(act);
	signal?.addEventListener('abort', () => hearers.delete(act));
}

function become(list) {
	titles = list.slice(0, MOST);
	for (const act of [...hearers]) act();
}

export const enqueue = item => become([...titles, item]);
const enqueueFirst = item => become([item, ...titles]);
export const dequeue = place => become(titles.toSpliced(place, 1));
export const forgetTitle = id => { if (titles.some(item => item.id === id)) become(titles.filter(item => item.id !== id)); };

// Takes the title out of the queue if it stands first there.
export const take = id => { if (titles[0]?.id === id) dequeue(0); };

// The acts of a title's menu.
export const queueActs = item => [
	[t('playAfter'), () => { enqueueFirst(item); note(t('playsAfter', {name: nameOf(item)})); }],
	[t('addToQueue'), () => { enqueue(item); note(t('inQueue', {name: nameOf(item)})); }]];

// Returns what plays after a title, or null. Nothing follows the last title of a collection.
export async function following(item, signal) {
	if (titles.length) return titles[0];
	const group = await collectionOf(item.id, signal);
	if (!group) return nextOf(item.id, signal);
	const next = group.titles[group.titles.indexOf(item.id) + 1];
	return next ? get(`resources/${encodeURIComponent(next)}`, signal) : null;
}
