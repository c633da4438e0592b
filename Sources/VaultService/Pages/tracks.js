// What a viewer can hear and read of a title. Where the browser offers no choice itself, that of an HLS title is read
// from its playlist: another sound is the same playlist with that sound alone, and subtitles become cues as they come near.

import {blob} from './api.js';
import {choice, h, number, t} from './ui.js';
import {renditions, segments, withAudio} from './renditions.js';
import {beginning, parse, room, shift} from './subtitles.js';

const PLAYLIST = 'application/vnd.apple.mpegurl';
const MAX_PLAYLIST = 8 << 20, MAX_TEXT = 4 << 20, MAX_START = 1 << 16;  // bytes that are read
const AHEAD = 60;  // seconds of subtitles that are fetched before they show
const RETRY = 20_000;  // milliseconds
const MOST = 40;  // segments of subtitles in that time

// The languages that were chosen last, for the next title. They are forgotten with the page, and nothing stores them.
// Until something was chosen, the languages that the viewer wants decide.
const wanted = {audio: null, subtitles: undefined};

// The tag of a language in its short form: `de` for `deu`.
function short(tag) {
	try { return Intl.getCanonicalLocales(tag)[0].toLowerCase(); } catch { return String(tag).toLowerCase(); }
}

const speaks = (tag, language) => Boolean(tag) && `${short(tag)}-`.startsWith(`${short(language)}-`);
const favourite = (list, languages) => languages.map(language => list.find(one => speaks(one.language, language))).find(Boolean);

// Reads the first bytes at an address of this service, and no more than `most`.
async function read(address, most, signal, headers = {}) {
	const answer = await fetch(address, {headers, signal, cache: 'no-store', redirect: 'error'});
	if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
	const reader = answer.body.getReader(), bytes = new Uint8Array(most);
	let count = 0, isCut = false;
	for (let {value, done} = await reader.read(); !done && !isCut; {value, done} = await reader.read()) {
		isCut = count + value.length > most;
		bytes.set(value.subarray(0, most - count), count);
		count = Math.min(most, count + value.length);
	}
	await reader.cancel();
	return {bytes: bytes.subarray(0, count), isCut};
}

const textOf = async (address, most, signal) => {
	const {bytes, isCut} = await read(address, most, signal);
	return {text: new TextDecoder().decode(bytes), isCut};
};

// The choices of one title. `place` gets them, `says` what went wrong, and `reopen` plays the title with another sound.
// `added` are the subtitles that were added to the title, `languages` those that the viewer wants, and `sound` is the
// language of a title of one file, if it says it.
export function trackChoices(video, kind, {place, says, reopen, signal, added, languages, sound}) {
	let playlist = null;  // its text, its address, and what it offers
	let audio = null, made = null;  // the chosen sound, and the address in memory of the playlist with it
	let track = null, reading = null;
	const isOurs = kind === 'hls' && !video.audioTracks;

	// Returns what the player plays for a link of the title.
	async function source(path) {
		if (!isOurs) return path;
		const base = new URL(path, location.href).href;
		const {text, isCut} = await textOf(base, MAX_PLAYLIST, signal).catch(error => {
			if (error.name === 'AbortError') throw error;
			return {text: ''};  // the player itself learns why
		});
		const isFirst = !playlist;
		playlist = {text, base, ...renditions(isCut ? '' : text, base)};
		if (isFirst) audio = (wanted.audio ? playlist.audio.find(one => one.language === wanted.audio) : favourite(playlist.audio, languages)) || null;
		if (isFirst && !wanted.audio && audio?.isDefault) audio = null;
		audio = playlist.audio.find(one => one.key === audio?.key) || null;
		forget();
		if (!audio || playlist.audio.length < 2) return path;
		made = URL.createObjectURL(new Blob([withAudio(text, base, audio.key)], {type: PLAYLIST}));
		return made;
	}

	function forget() {
		if (made) URL.revokeObjectURL(made);
		made = null;
	}

	// ---- The choices

	const named = (one, at) => one.label || one.name || one.language || number(at + 1);
	const offer = (label, list, now, none, act) => h('label', h('span', label), choice(
		[...none ? [['', none]] : [], ...list.map((one, at) => [String(at), named(one, at)])], now < 0 ? '' : String(now),
		{'aria-label': label, on: {change: event => act(event.target.value === '' ? null : Number(event.target.value))}}));

	function list() {
		place.replaceChildren();
		if (playlist?.audio.length || playlist?.subtitles.length) return listRenditions();
		// A browser with a choice of its own, and a file that brings subtitles along.
		const sounds = [...video.audioTracks || []], texts = [...video.textTracks].filter(one => one !== track && one.kind !== 'metadata');
		if (sounds.length > 1) place.append(offer(t('audio'), sounds, sounds.findIndex(one => one.enabled), null,
			chosen => sounds.forEach((one, at) => { one.enabled = at === chosen; })));
		if (texts.length) place.append(offer(t('subtitles'), texts, texts.findIndex(one => one.mode === 'showing'), t('noSubtitles'),
			chosen => texts.forEach((one, at) => { one.mode = at === chosen ? 'showing' : 'disabled'; })));
		offerSubtitles(added, sound);
	}

	function listRenditions() {
		const {audio: sounds, subtitles} = playlist;
		const playing = sounds.findIndex(one => audio ? one.key === audio.key : one.isDefault);
		if (sounds.length > 1) place.append(offer(t('audio'), sounds, Math.max(0, playing), null, async chosen => {
			audio = sounds[chosen];
			wanted.audio = audio.language;
			await reopen();
		}));
		offerSubtitles([...subtitles, ...added], sounds[playing]?.language);
	}

	// Who hears a language that they want needs no subtitles, unless they chose some before.
	function offerSubtitles(texts, heard) {
		if (!texts.length) return;
		const usual = languages.some(language => speaks(heard, language)) ? undefined : favourite(texts, languages);
		reading ??= start(wanted.subtitles === undefined ? usual : texts.find(one => wanted.subtitles && one.language === wanted.subtitles));
		place.append(offer(t('subtitles'), texts, texts.findIndex(one => one.key === reading.key), t('noSubtitles'), chosen => {
			wanted.subtitles = texts[chosen]?.language || null;
			reading = start(texts[chosen]);
		}));
	}

	// ---- Subtitles

	// Begins to show a rendition, or none, in place of what was shown.
	function start(rendition) {
		for (const cue of [...track?.cues || []]) track.removeCue(cue);
		says('');
		if (!rendition) {
			if (track) track.mode = 'disabled';
			return {key: null};
		}
		track ||= video.addTextTrack('subtitles', t('subtitles'));
		track.mode = 'showing';
		const begun = {key: rendition.key, address: rendition.address, isRoom: room(), list: rendition.added ? [{added: rendition.added, start: 0, end: Infinity}] : null, waits: 0, taken: 0, isBusy: false};
		come(begun);
		return begun;
	}

	// Fetches what comes near; what cannot be had is tried again in a while.
	async function come(mine = reading) {
		if (!(mine?.address || mine?.list) || mine.isBusy || Date.now() < mine.waits) return;
		mine.isBusy = true;
		try {
			mine.list ||= segments((await textOf(mine.address, MAX_PLAYLIST, signal)).text, mine.address).segments;
			for (let next; mine.taken < MOST && (next = nearest(mine));) {
				next.isTaken = true;
				mine.taken++;
				await take(next, mine).catch(error => { next.isTaken = false; throw error; });
			}
			// A playlist of very many short pieces must not keep the network busy.
			if (mine.taken >= MOST) Object.assign(mine, {waits: Date.now() + RETRY, taken: 0});
		} catch (error) {
			if (signal.aborted) return;
			mine.waits = Date.now() + RETRY;
			if (mine === reading) says(t('subtitlesNotHeld'));
		} finally {
			mine.isBusy = false;
		}
	}

	const nearest = mine => mine === reading
		? mine.list.find(one => !one.isTaken && one.start < video.currentTime + AHEAD && one.end >= video.currentTime) : null;

	async function take(segment, mine) {
		const {text, isCut} = segment.added ? {text: await (await blob(segment.added, signal)).text()} : await textOf(segment.address, MAX_TEXT, signal), read = parse(text);
		const later = read?.map ? shift(read.map, await begins()) : 0;
		if (mine !== reading) return;
		says(read ? isCut ? t('subtitlesCut') : '' : t('subtitlesUnread'));
		for (const {start, end, text, settings} of read?.cues || []) {
			const cue = {start: start + later, end: end + later, text};
			if (cue.end <= 0 || !mine.isRoom(cue)) continue;
			track.addCue(Object.assign(new VTTCue(Math.max(0, cue.start), cue.end, text), settings));
		}
	}

	// The ticks at which the title begins; null if its beginning cannot be had.
	let told = null;
	const begins = () => told ||= (async () => {
		const {segments: [first], initialization} = segments((await textOf(playlist.variant, MAX_PLAYLIST, signal)).text, playlist.variant);
		const part = async address => (await read(address, MAX_START, signal, {Range: `bytes=0-${MAX_START - 1}`})).bytes;
		return beginning(await part(first.address), initialization && await part(initialization));
	})().catch(() => null);

	for (const event of ['timeupdate', 'seeking']) video.addEventListener(event, () => come());
	video.textTracks.addEventListener('addtrack', event => { if (event.track !== track) list(); }, {signal});
	signal.addEventListener('abort', forget);
	return {source, list};
}
