// Where one was in each title. The vault keeps it sealed, apart for each viewer; nothing of it stays in the browser.

import {get, request} from './api.js';

let known = null;  // by id: seconds and duration
let last = Promise.resolve();

export async function positions(signal) {
	if (!known) {
		const told = await get('positions', signal);
		known = new Map(told.positions.map(({id, seconds, duration}) => [id, {seconds, duration}]));
	}
	return known;
}

// Tells the vault where one is. What cannot be told now is told again in a few seconds.
export function keepPosition(id, seconds, duration) {
	known?.set(id, {seconds, duration});
	last = request('PUT', `resources/${encodeURIComponent(id)}/position`, {seconds, duration}).catch(() => {});
	return last;
}

// Waits until the vault has been told all.
export const settled = () => last;
