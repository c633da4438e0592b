// Where one was in each title. The vault keeps it sealed, apart for each viewer, and nothing of it stays in the browser.
// Of a guest, who is neither the owner nor a viewer, the vault knows nothing: their places stay in their browser.

import {currentSession, get, isOwner, request} from './api.js';
import {remember} from './ui.js';

const EDGE = 5;  // seconds from the beginning or the end that count as there; of a short title, a quarter
const MOST = 500;  // places of a guest

let known = null;  // by id: seconds, duration, and when
let last = Promise.resolve();

const edge = duration => Math.min(EDGE, duration / 4);

// After the end of a session there is no guest, so that nothing is kept.
const isGuest = () => Boolean(currentSession()) && !isOwner() && !currentSession().viewer;

export async function positions(signal) {
	if (!known) {
		const told = isGuest() ? remember('places') || [] : (await get('positions', signal)).positions;
		known = new Map(told.map(({id, seconds, duration, changed}) => [id, {seconds, duration, changed: Date.parse(changed) || changed || 0}]));
	}
	return known;
}

// Tells the vault where one is. What cannot be told now is told again in a few seconds.
export function keepPosition(id, now, duration) {
	const seconds = now < edge(duration) ? 0 : now > duration - edge(duration) ? duration : Math.floor(now * 10) / 10;
	const before = known?.get(id);
	if (!currentSession() || before?.seconds === seconds && before.duration === duration) return last;
	known?.set(id, {seconds, duration, changed: Date.now()});
	if (isGuest()) {
		const latest = [...known || []].sort((a, b) => b[1].changed - a[1].changed).slice(0, MOST);
		return void remember('places', latest.map(([key, place]) => ({id: key, ...place})));
	}
	last = request('PUT', `resources/${encodeURIComponent(id)}/position`, {seconds, duration}).catch(() => {});
	return last;
}

// Whether a title was played to its end; how much of it was played, from 0 to 1; and where it goes on.
export const isOver = place => Boolean(place?.duration) && place.seconds > place.duration - edge(place.duration);
export const played = place => !place?.seconds ? 0 : place.duration ? Math.min(1, place.seconds / place.duration) : 0;
export const goesOnAt = place => place?.seconds && !isOver(place) ? place.seconds : null;

// Waits until the vault has been told all.
export const settled = () => last;
