// Which titles belong together, and in which order people expect them. The vault knows; its answer is kept until titles
// change.

import {get, on, query} from './api.js';
import {word} from './ui.js';

const MOST = 200;  // titles of one request

let answer = null;
for (const event of ['resource', 'removed', 'many', 'connection']) on(event, () => { answer = null; });

// The request serves several pages, so that the end of none breaks it off.
export function collections() {
	answer ??= get('collections').then(found => found.collections.filter(group => group.titles.length));
	const mine = answer;
	return mine.catch(error => { if (answer === mine) answer = null; throw error; });
}

// Returns the collection of a title, or null.
export const collectionOf = async id => (await collections()).find(group => group.titles.includes(id)) || null;

// A collection that only its folder would name has no name for viewers.
export const groupName = group => group.name || word('collection', group.kind);

// Returns titles by their ids, in the same order, without those that are gone.
export async function titlesOf(ids, signal) {
	const pages = [];
	for (let first = 0; first < ids.length; first += MOST) pages.push(ids.slice(first, first + MOST));
	return (await Promise.all(pages.map(page => get(query('resources', {ids: page.join(',')}), signal)))).flatMap(page => page.resources);
}
