// The rows with which the shelf begins: what one goes on with, what is new, and the next episodes.

import {get, query} from './api.js';
import {card, collectionCard} from './card.js';
import {collections, titlesOf} from './groups.js';
import {goesOnAt, isOver} from './positions.js';
import {h, many, t} from './ui.js';

const SHOWN = 12;  // titles of a row
const SERIES = new Set(['series', 'feed']);

// Returns the ids of what goes on, the latest first.
const continued = places => [...places].filter(([, place]) => goesOnAt(place) !== null)
	.sort((a, b) => b[1].changed - a[1].changed).map(([id]) => id);

// Returns the next title of a series: the one behind the last that was played to its end, unless it has begun itself.
function nextEpisode({titles}, places) {
	const last = titles.findLastIndex(id => isOver(places.get(id)));
	const next = last < 0 ? null : titles[last + 1];
	return next && !places.get(next)?.seconds ? next : null;
}

// Fills `place` with the rows; `items` are all titles of the shelf.
export async function rows(place, items, places, signal) {
	const known = new Map(items.map(item => [item.id, item]));
	const groups = await collections(signal);
	const newest = items.length > SHOWN ? (await get(query('resources', {sort: 'added', limit: SHOWN}), signal)).resources.filter(item => item.id) : [];
	const ids = groups.filter(group => SERIES.has(group.kind)).map(group => nextEpisode(group, places)).filter(Boolean).slice(0, SHOWN);
	const episodes = ids.length ? await titlesOf(ids, signal) : [];
	const titles = list => list.map(item => { const one = card('tile', places); one.fill(item); return one; });
	const drawn = [
		['row.continue', titles(continued(places).map(id => known.get(id)).filter(Boolean).slice(0, SHOWN))],
		['row.episodes', titles(episodes)],
		['row.new', titles(newest)],
		['row.collections', groups.map(group => collectionCard(group, many('titles', group.titles.length)))],
	].filter(([, list]) => list.length);
	if (signal.aborted) return;
	const side = new Map([...place.querySelectorAll('ul')].map(list => [list.getAttribute('aria-label'), list.scrollLeft]));
	place.replaceChildren(...drawn.map(([key, list]) => h('section', h('h2', t(key)), h('ul.row', {role: 'list', 'aria-label': t(key)}, list))));
	for (const list of place.querySelectorAll('ul')) list.scrollLeft = side.get(list.getAttribute('aria-label')) || 0;
}
