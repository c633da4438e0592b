// Where one was in each title. The vault keeps it sealed, apart for each viewer; nothing of it stays in the browser.

import {get, on, request} from './api.js';

let known = null;  // by id: seconds and duration
on('session', () => { known = null; });

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
	return request('PUT', `resources/${encodeURIComponent(id)}/position`, {seconds, duration}).catch(() => {});
}
