// The player: plays a title, draws what is held of it, and says before what will not play without the network.

import {get, isOwner, on, request} from './api.js';
import {amounts, button, choice, clock, fail, h, heldText, holes, nameOf, number, percent, ranges, svg, t}
	from './ui.js';
import {coverOf, showCover} from './covers.js';
import {keepPosition, positions} from './positions.js';
import {nextOf, paint} from './shelf.js';
import {trackChoices, trackLine} from './tracks.js';

const SPEEDS = [0.5, 0.75, 1, 1.25, 1.5, 2, 3];
const STEP = 10;  // seconds of a jump
const BEHIND = 5;  // seconds behind a hole at which it goes on: the place of a byte is an estimate
const HIDE_AFTER = 3000;  // milliseconds until the controls of a full screen go
const PLAYLISTS = {hls: 'application/vnd.apple.mpegurl', dash: 'application/dash+xml'};

const ICONS = {
	play: 'M8 5v14l11-7z', pause: 'M7 5h4v14H7zm6 0h4v14h-4z', next: 'M6 5v14l9-7zm10 0h3v14h-3z',
	back: 'M11 6v12L3 12zm9 0v12l-8-6z', ahead: 'M13 6v12l8-6zM4 6v12l8-6z',
	sound: 'M4 9v6h4l5 5V4L8 9zm11-1v8a5 5 0 0 0 0-8z', mute: 'M4 9v6h4l5 5V4L8 9zm11 1 5 5m0-5-5 5',
	full: 'M4 4h6v2H6v4H4zm10 0h6v6h-2V6h-4zM4 14h2v4h4v2H4zm14 0h2v6h-6v-2h4z',
	picture: 'M3 5h18v14H3zm2 2v10h14V7zm6 4h7v5h-7z'};

const icon = name => svg('svg', {viewBox: '0 0 24 24', 'aria-hidden': 'true', class: `icon ${name}`}, svg('path', {d: ICONS[name]}));

function iconButton(name, label, act) {
	const element = button('', act, {class: 'icon', 'aria-label': label, title: label});
	element.append(icon(name));
	element.become = (other, text) => {
		element.replaceChildren(icon(other));
		element.setAttribute('aria-label', text);
		element.title = text;
	};
	return element;
}

export async function show(main, id, signal) {
	let item = await get(`resources/${encodeURIComponent(id)}`, signal);
	const before = (await positions(signal)).get(id);
	const kind = item.kind || item.title?.kind || (/mpegurl/i.test(item.type) ? 'hls' : /dash\+xml/i.test(item.type) ? 'dash' : null);
	const isSound = item.type?.startsWith('audio/') && !kind;
	const video = h('video', {playsinline: true, preload: 'metadata', 'aria-label': nameOf(item)});
	const playable = !kind || video.canPlayType(PLAYLISTS[kind]) !== '';

	// ---- What is shown
	const cover = h('div.cover', {'aria-hidden': 'true', hidden: !isSound});
	paint(cover, item.name || item.url || item.id, nameOf(item));
	if (isSound) showCover(cover, item, () => true);
	else coverOf(item).then(address => { if (address) video.poster = address; });
	const says = h('p.says', {role: 'status', hidden: true});
	const big = iconButton('play', t('play'), toggle);
	big.classList.add('big');
	const stage = h('div.stage', video, cover, big, says);
	const map = svg('svg', {viewBox: '0 0 1000 10', preserveAspectRatio: 'none', class: 'ranges', 'aria-hidden': 'true'});
	const seek = h('input', {type: 'range', min: 0, max: 1, step: 'any', value: 0, 'aria-label': t('seek'), disabled: true});
	const time = h('span.time', '0:00');
	const play = iconButton('play', t('play'), toggle);
	const sound = iconButton('sound', t('mute'), () => { video.muted = !video.muted; });
	const volume = h('input', {type: 'range', min: 0, max: 1, step: 0.05, value: 1, class: 'volume', 'aria-label': t('volume')});
	const speed = choice(SPEEDS.map(value => [String(value), `${number(value)}×`]), '1', {'aria-label': t('speed')});
	const tracks = h('span.tracks'), trackWords = trackLine();
	const picture = iconButton('picture', t('picture'), swapPicture);
	picture.hidden = isSound || !document.pictureInPictureEnabled;
	const full = iconButton('full', t('full'), swapFull);
	full.hidden = !document.fullscreenEnabled;
	const next = iconButton('next', t('next'), goNext);
	next.disabled = true;
	const controls = h('div.controls',
		h('div.seek', map, seek),
		h('div.row', play, iconButton('back', t('back', {seconds: STEP}), () => jump(-STEP)),
			iconButton('ahead', t('ahead', {seconds: STEP}), () => jump(STEP)), next, time, h('span.gap'),
			tracks, speed, sound, volume, picture, full));
	const player = h('section.player', {'aria-label': t('player'), tabindex: 0, 'data-keys': ''}, stage, controls);
	const held = h('p.held-text'), start = button(t('fromStart'), () => { goTo(0); video.play().catch(() => {}); });
	start.hidden = true;
	const nextLink = h('p.soft');
	main.append(h('div.head', h('h1', {dir: 'auto'}, nameOf(item))), player, trackWords, held,
		start, h('p.legend.soft', h('span', h('span.key.held'), t('legendHeld')), h('span', h('span.key'), t('legendHole'))),
		nextLink, h('p.soft', h('small', t('keyWords'))));

	player.focus({preventScroll: true});  // so that the keys work at once

	// ---- What is held
	let known = NaN;  // the last known length: it stays while the title is opened again
	const isKnown = () => Number.isFinite(known);
	const isWhole = () => amounts(item).share === 1;
	// A title of several files is not one row of bytes, so its places are known only if all of it is held.
	const gaps = () => isWhole() ? [] : kind ? null : holes(item.held, item.size || Infinity);
	const at = byte => item.size && isKnown() ? byte / item.size * known : null;
	const byteAt = second => Math.min(item.size - 1, Math.floor(second / known * item.size));

	function tellHeld() {
		ranges(map, isWhole() ? [[0, 1]] : kind ? [] : item.held, isWhole() ? 1 : item.size);
		const {share, held: has} = amounts(item), found = gaps();
		if (share === 1) held.textContent = playable ? t('playsOffline') : '';
		else if (!has || !item.held.length) held.textContent = t('playsOnlineOnly');
		else if (!found || !item.size) held.textContent = t('partsUnknown', {held: heldText(item)});
		else {
			const place = byte => at(byte) === null ? percent(Math.round(byte / item.size * 100) / 100) : clock(Math.round(at(byte)));
			const shown = found.slice(0, 5).map(([first, end]) => `${place(first)}–${end >= item.size && at(end) === null ? percent(1) : place(end)}`).join(', ');
			held.textContent = t(found.length > 5 ? 'holesMore' : 'holes', {held: heldText(item), holes: shown, more: found.length - 5});
		}
		describe();
	}

	function describe() {
		const now = goOnAt ?? video.currentTime, length = isKnown() ? known : 0;
		if (document.activeElement !== seek || !seek.matches(':active')) seek.value = now;
		time.textContent = length ? `${clock(now)} / ${clock(length)}` : clock(now);
		const isHole = length && item.size && !kind && !isWhole() && !item.held.some(([first, end]) => byteAt(now) >= first && byteAt(now) < end);
		seek.setAttribute('aria-valuetext', t(isHole ? 'placeHole' : 'place', {now: clock(now), length: clock(length)}));
	}

	let isGone = false;
	on('resource', change => { if (change.id === id) { isGone = false; item = change.resource; tellHeld(); } }, signal);
	const gone = () => t(isOwner() ? 'wasRemoved' : 'notShared');
	on('removed', change => { if (change.id === id) { isGone = true; held.textContent = ''; say(gone()); } }, signal);
	on('many', async () => { item = await get(`resources/${id}`, signal).catch(() => item); tellHeld(); }, signal);

	// ---- Where one was. Only what has played is kept, and nothing while the place is still to be found again.
	function keep() {
		// Without a length it is being closed, and its time says nothing.
		const now = video.currentTime, length = video.duration;
		if (!Number.isFinite(length) || !hasPlayed || goOnAt !== null) return;
		keepPosition(id, now > 5 && now < length - 5 ? Math.floor(now * 10) / 10 : 0, Math.round(length));
	}

	// ---- Playing
	let goOnAt = null, goOn = false, hasPlayed = false, waitsAt = null, failures = 0, openings = 0, lastKept = 0, hideTimer = null;
	let link = null;  // the path that plays the title

	function say(text, ...acts) {
		says.replaceChildren(text, ...acts);
		says.hidden = !text;
		big.hidden = Boolean(text) || !video.paused;
	}

	async function open() {
		const {path} = await request('POST', 'links', {id}, signal);
		if (!path.startsWith('/media/')) throw new Error(t('failed'));
		link = path;
		video.src = await choices.source(path);
	}

	async function toggle() {
		if (!playable) return;
		if (!video.getAttribute('src')) return void (goOn = true);  // it plays as soon as it can
		if (!video.paused) return video.pause();
		if (video.error) return again(goOnAt ?? video.currentTime);
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
	function goTo(second) {
		if (!isKnown()) return;
		const place = Math.min(known, Math.max(0, second));
		if (waitsAt !== null) waitsAt = goOnAt = place;
		else if (video.error) again(place).catch(fail);
		else if (goOnAt !== null) goOnAt = place;
		else video.currentTime = place;
		describe();
	}

	const jump = seconds => goTo((goOnAt ?? video.currentTime) + seconds);

	// Says why it does not play: the service is away, the bytes are not held, or the browser cannot.
	async function explainFailure() {
		if (!video.error || signal.aborted) return;
		const mine = openings, isOver = () => signal.aborted || openings !== mine;
		const place = goOnAt ?? video.currentTime, gap = gaps()?.find(([, end]) => !at(end) || at(end) > place);
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

	const hear = (events, act) => events.split(' ').forEach(event => video.addEventListener(event, act));
	on('connection', ({open}) => open && waitsAt !== null && again(waitsAt).catch(fail), signal);
	hear('error', () => { if (video.getAttribute('src')) explainFailure(); });
	hear('loadedmetadata', () => {
		known = video.duration;
		seek.max = isKnown() ? known : 1;
		seek.disabled = false;
		if (goOnAt === null) {
			goOnAt = before?.seconds && before.seconds < known - 5 ? before.seconds : null;
			start.hidden = goOnAt === null;
		}
		if (goOnAt !== null) video.currentTime = goOnAt;
		goOnAt = null;
		video.playbackRate = Number(speed.value);
		choices.list();
		tellHeld();
		if (goOn) video.play().catch(() => {});
		goOn = false;
	});
	hear('play pause ended', event => {
		play.become(video.paused ? 'play' : 'pause', t(video.paused ? 'play' : 'pause'));
		big.hidden = !video.paused || !says.hidden;
		if (event.type !== 'play') keep();
		wake();
	});
	hear('playing', () => { failures = 0; hasPlayed = true; say(''); });
	hear('waiting', () => { if (!video.error) say(t('waits')); });
	hear('seeked canplay', () => { if (says.textContent === t('waits') && video.readyState > 2) say(''); });
	hear('timeupdate', () => {
		describe();
		if (Math.abs(video.currentTime - lastKept) > 5) { lastKept = video.currentTime; keep(); }
	});
	hear('ended', () => { if (!next.disabled) say(t('ended'), button(t('playNext'), goNext)); });
	hear('volumechange', () => {
		volume.value = video.muted ? 0 : video.volume;
		sound.become(video.muted ? 'mute' : 'sound', t(video.muted ? 'unmute' : 'mute'));
	});
	hear('click', toggle);
	seek.addEventListener('input', () => goTo(Number(seek.value)));
	volume.addEventListener('input', () => { video.muted = false; video.volume = Number(volume.value); });
	speed.addEventListener('change', () => { video.playbackRate = Number(speed.value); });
	addEventListener('pagehide', keep, {signal});
	signal.addEventListener('abort', () => {
		keep();
		clearTimeout(hideTimer);
		if (document.pictureInPictureElement === video) document.exitPictureInPicture().catch(() => {});
		video.removeAttribute('src');
		video.load();
	});

	// ---- Sound and subtitles
	const choices = trackChoices(video, kind, {place: tracks, signal, reopen: () => again(goOnAt ?? video.currentTime, !video.paused || goOn).catch(fail),
		says: text => { trackWords.textContent = text; trackWords.hidden = !text; }});

	// ---- The screen, the keys, and what comes next
	async function swapPicture() {
		await (document.pictureInPictureElement ? document.exitPictureInPicture() : video.requestPictureInPicture());
	}

	async function swapFull() {
		await (document.fullscreenElement ? document.exitFullscreen() : player.requestFullscreen());
	}

	function wake() {
		player.classList.remove('idle');
		clearTimeout(hideTimer);
		hideTimer = setTimeout(() => player.classList.toggle('idle', !video.paused && document.fullscreenElement === player), HIDE_AFTER);
	}
	for (const event of ['pointermove', 'keydown', 'focusin']) player.addEventListener(event, wake);

	function faster(by) {
		const place = Math.min(SPEEDS.length - 1, Math.max(0, SPEEDS.indexOf(Number(speed.value)) + by));
		speed.value = String(SPEEDS[place]);
		video.playbackRate = SPEEDS[place];
	}

	const KEYS = {
		' ': toggle, k: toggle, j: () => jump(-STEP), l: () => jump(STEP), m: () => sound.click(), f: swapFull,
		p: () => picture.hidden || swapPicture(), n: goNext, '>': () => faster(1), '<': () => faster(-1)};

	player.addEventListener('keydown', event => {
		if (event.ctrlKey || event.altKey || event.metaKey) return;
		const from = event.target, isStage = from === player || from === seek;
		const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
		if (from.matches('select, .volume') || event.key === ' ' && from.matches('button')) return;
		if (isStage && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) jump(event.key === 'ArrowLeft' ? -STEP : STEP);
		else if (from === player && event.key === 'Enter') toggle();
		else if (from === player && event.key === 'ArrowDown') play.focus();
		else if (from === player && event.key === 'ArrowUp') document.querySelector('nav [aria-current], nav a')?.focus();
		else if (/^[0-9]$/.test(event.key)) goTo(known * event.key / 10);
		else if (act) Promise.resolve(act()).catch(fail);
		else return;
		event.preventDefault();
	});

	let following = null;
	function goNext() {
		if (following) location.hash = `#/play/${following.id}`;
	}
	nextOf(id, signal).then(found => {
		following = found;
		if (!found) return;
		next.disabled = false;
		nextLink.append(t('nextIs'), ' ', h('a', {href: `#/play/${found.id}`, dir: 'auto'}, nameOf(found)), ` (${heldText(found)})`);
	}).catch(() => {});

	if (navigator.mediaSession) {
		coverOf(item).then(address => {
			navigator.mediaSession.metadata = new MediaMetadata({title: nameOf(item), artwork: address ? [{src: address}] : []});
		});
		for (const [name, act] of [['play', toggle], ['pause', toggle], ['nexttrack', goNext],
			['seekbackward', () => jump(-STEP)], ['seekforward', () => jump(STEP)]])
			navigator.mediaSession.setActionHandler(name, act);
	}

	tellHeld();
	if (!playable) {
		say(t(kind !== 'dash' ? 'noHls' : isOwner() ? 'noDash' : 'noDashViewer'));
		play.disabled = big.disabled = true;
		return;
	}
	await open();
}
