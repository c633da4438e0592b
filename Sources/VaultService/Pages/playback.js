// One title on the player: it opens, plays, says at a hole why it stops, goes on after a failure, and keeps its place.

import {get, isOwner, on, query, request} from './api.js';
import {chaptersOf} from './chapters.js';
import {goesOnAt, keepPosition, positions} from './positions.js';
import {trackChoices} from './tracks.js';
import {amounts, button, clock, fail, h, heldText, holes, percent, t} from './ui.js';

const BEHIND = 5;  // seconds behind a hole at which it goes on: the place of a byte is an estimate
const KEPT_EVERY = 5;  // seconds that play
const SAID_AFTER = 200;  // milliseconds of waiting
const PLAYLISTS = {hls: 'application/vnd.apple.mpegurl', dash: 'application/dash+xml'};

// `stage` has the video, `say` for what stops it, `tracks` for its choices, `saysTracks` for what is wrong with them,
// and `changed`, which is called when something is to be drawn again.
export async function playback(stage, found, signal) {
	const {video, say, changed} = stage, {id} = found;
	let item = found;
	const [chapters, {languages}] = await Promise.all([chaptersOf(id, signal), get('languages', signal).catch(() => ({languages: []}))]);
	const before = goesOnAt((await positions(signal)).get(id));
	const kind = item.kind || item.title?.kind || (/mpegurl/i.test(item.type) ? 'hls' : /dash\+xml/i.test(item.type) ? 'dash' : null);
	const isSound = Boolean(item.type?.startsWith('audio/')) && !kind;
	const playable = !kind || video.canPlayType(PLAYLISTS[kind]) !== '';
	let known = item.duration ? item.duration / 1000 : NaN;  // the last known length: it stays while the title is opened again
	let goOnAt = null, goOn = false, hasPlayed = false, isGone = false;
	let waitsAt = null, failures = 0, openings = 0, lastKept = 0;
	let link = null;  // the path that plays the title
	let isOpened = false;  // its length is that of the video

	// ---- What is held
	const isKnown = () => Number.isFinite(known);
	const isWhole = () => amounts(item).share === 1;
	// A title of several files is not one row of bytes, so its places are known only if all of it is held.
	const gaps = () => isWhole() ? [] : kind || !item.held ? null : holes(item.held, item.size || Infinity);
	const at = byte => item.size && isOpened && isKnown() ? byte / item.size * known : null;
	const byteAt = second => Math.min(item.size - 1, Math.floor(second / known * item.size));

	// A sentence about what will not play without the network.
	function heldWords() {
		const {share, held: has} = amounts(item), found = gaps();
		if (isGone) return '';
		if (share === 1) return playable ? t('playsOffline') : '';
		if (!has || !item.held?.length) return t('playsOnlineOnly');
		if (!found || !item.size) return t('partsUnknown', {held: heldText(item)});
		const place = byte => at(byte) === null ? percent(Math.round(byte / item.size * 100) / 100) : clock(Math.round(at(byte)));
		const shown = found.slice(0, 5).map(([first, end]) => `${place(first)}–${end >= item.size && at(end) === null ? percent(1) : place(end)}`).join(', ');
		return t(found.length > 5 ? 'holesMore' : 'holes', {held: heldText(item), holes: shown, more: found.length - 5});
	}

	const isHole = now => Boolean(known && item.size && item.held && !kind && !isWhole())
		&& !item.held.some(([first, end]) => byteAt(now) >= first && byteAt(now) < end);

	const gone = () => t(isOwner() ? 'wasRemoved' : 'notShared');
	on('resource', change => { if (change.id === id) { isGone = false; item = {...item, ...change.resource}; changed(); } }, signal);
	on('removed', change => { if (change.id === id) { isGone = true; changed(); say(gone()); } }, signal);
	on('many', async () => { item = await get(`resources/${id}`, signal).catch(() => item); changed(); }, signal);

	// ---- Where one was. Only what has played is kept, and nothing while the place is still to be found again.
	function keep() {
		// Without a length it is being closed, and its time says nothing.
		const length = video.duration;
		if (!Number.isFinite(length) || !hasPlayed || goOnAt !== null) return;
		keepPosition(id, video.currentTime, Math.round(length));
	}

	// ---- Playing
	const second = () => goOnAt ?? (isOpened ? video.currentTime : 0);

	async function open() {
		const {path} = await request('POST', 'links', {id}, signal);
		if (!path.startsWith('/media/')) throw new Error(t('failed'));
		link = path;
		const source = await choices.source(path);
		if (!signal.aborted) video.src = source;
	}

	async function play() {
		if (!playable) return;
		if (!video.getAttribute('src')) { goOn = true; return changed(); }  // it plays as soon as it can
		if (video.error) return again(second());
		await video.play().catch(error => { if (error.name !== 'AbortError' && error.name !== 'NotSupportedError') throw error; });
	}

	async function again(place, plays = true) {
		openings++;
		goOnAt = place;
		waitsAt = null;
		goOn = plays;
		say('');
		await open();
	}

	// Goes to a second. After a failure, it is opened again there.
	function goTo(wanted) {
		if (!isKnown() || !isOpened) return;
		const place = Math.min(known, Math.max(0, wanted));
		if (waitsAt !== null) waitsAt = goOnAt = place;
		else if (video.error) again(place).catch(fail);
		else if (goOnAt !== null) goOnAt = place;
		else video.currentTime = place;
		changed();
	}

	// Says why it does not play: the service is away, the bytes are not held, or the browser cannot.
	async function explainFailure() {
		if (!video.error || signal.aborted) return;
		const mine = openings, isOver = () => signal.aborted || openings !== mine;
		const place = second(), gap = gaps()?.find(([, end]) => !at(end) || at(end) > place);
		let answer;
		try {
			await get('session', signal);
			const first = gap && byteAt(place) >= gap[0] ? byteAt(place) : gap?.[0] || 0;
			answer = await fetch(link, {headers: {Range: `bytes=${first}-${first}`}, signal});
		} catch (error) {
			if (error.name === 'AbortError' || isOver()) return;
			waitsAt = place;
			return say(t('waitsForService'));
		}
		if (isOver()) return;
		if (answer.ok) {
			await answer.body?.cancel();
			if (failures++ < 3) {
				await new Promise(done => setTimeout(done, 500 * 2 ** failures));
				return isOver() || again(place).catch(fail);
			}
			// What is played there may need bytes from before that place.
			const lacks = !isWhole() && (kind || video.error.code === MediaError.MEDIA_ERR_NETWORK);
			const later = lacks && !kind && place + BEHIND < known ? place + BEHIND : null;
			return say(lacks ? t('notHeldAround') : t('cannotPlay', {type: item.type || '?'}), ...offers(place, later));
		}
		if ([401, 403, 404].includes(answer.status) && (isGone || !isOwner())) return say(gone());
		const problem = await answer.json().catch(() => ({}));
		if (isOver()) return;
		const after = gap && at(gap[1]) !== null && gap[1] < item.size ? Math.min(at(gap[1]) + BEHIND, (at(gap[1]) + known) / 2) : null;
		say(h('span', t('notHeldHere'), ' ', h('small', problem.detail || '')), ...offers(place, after));
	}

	const offers = (place, after) => [button(t('tryAgain'), () => again(place)),
		after === null ? '' : button(t('jumpHeld', {time: clock(after)}), () => again(after))];

	const hear = (events, act) => events.split(' ').forEach(event => video.addEventListener(event, act, {signal}));
	on('connection', ({open}) => open && waitsAt !== null && again(waitsAt).catch(fail), signal);
	hear('error', () => { if (video.getAttribute('src')) explainFailure(); });
	hear('loadedmetadata', () => {
		if (Number.isFinite(video.duration)) known = video.duration;
		const isFirst = !isOpened;
		isOpened = true;
		if (goOnAt === null && isFirst && before < known - BEHIND) goOnAt = before;
		if (goOnAt !== null) video.currentTime = goOnAt;
		goOnAt = null;
		choices.list();
		stage.isReady();
		changed();
		if (goOn) video.play().catch(() => {});
		goOn = false;
	});
	hear('pause ended', keep);
	hear('playing', () => { failures = 0; hasPlayed = true; say(''); });
	hear('waiting', () => setTimeout(() => { if (!signal.aborted && !video.error && !video.paused && video.readyState < 3) say(t('waits')); }, SAID_AFTER));
	hear('seeked canplay', () => { if (stage.says() === t('waits') && video.readyState > 2) say(''); });
	hear('timeupdate', () => { if (Math.abs(video.currentTime - lastKept) > KEPT_EVERY) { lastKept = video.currentTime; keep(); } });
	addEventListener('pagehide', keep, {signal});

	// ---- Sound and subtitles
	const choices = trackChoices(video, kind, {place: stage.tracks, signal, says: stage.saysTracks, languages, sound: item.tags?.language,
		added: (item.subtitles || []).map(language => ({key: `added ${language}`, language, name: language, added: query(`resources/${id}/subtitles`, {language})})),
		reopen: () => again(second(), !video.paused || goOn).catch(fail)});

	return {
		id, kind, isSound, playable, before, open, play, goTo, keep, second, heldWords, isHole,
		get item() { return item; }, chapters,
		get length() { return isKnown() ? known : 0; }, get isOpened() { return isOpened; },
		get isWanted() { return hasPlayed || goOn || !video.paused; },
		get ranges() { return isWhole() ? [[0, 1]] : kind ? [] : item.held || []; }, get rangesEnd() { return isWhole() ? 1 : item.size; },
		jump: seconds => goTo(second() + seconds),
	};
}
