// The player: it stands outside the pages, large on the page of its title and as a bar on all others, and plays on.

import {get, isOwner, on} from './api.js';
import {WAIT, announce} from './upnext.js';
import {coverOf, showCover} from './covers.js';
import {collectionOf} from './groups.js';
import {iconButton} from './icons.js';
import {bindKeys} from './keyboard.js';
import {control, tell, tellNothing, tellPlace} from './mediasession.js';
import {playback} from './playback.js';
import {following, forgetTitle, onQueue, queued, take} from './queue.js';
import {queueButton} from './queuelist.js';
import {seekBar} from './seek.js';
import {paint} from './card.js';
import {tuning} from './tuning.js';
import {clock, fail, h, nameOf, t} from './ui.js';

const BACK = 10, AHEAD = 30;  // seconds of a jump
const SHORT = 30;  // seconds of sound that is no song
const HIDE_AFTER = 3000;  // milliseconds until the controls of a full screen go

const element = document.getElementById('player'), video = h('video', {playsinline: true, preload: 'metadata'});
const hearers = new Set();
let title = null, life = null;  // what plays, and the end of it
let starts = 0;  // of titles, to tell the last one
let next = null;  // the title that follows
let begins = false;  // whether it begins by itself
let notice = null;  // ends the notice of it
let due = null;  // what begins as soon as the title ends, because its notice is over
let isDeclined = false;
let isSaid = false;  // whether something lies over the picture

export const current = () => title;
export const plays = () => Boolean(title) && !video.paused;
const isLarge = () => document.body.dataset.page === 'play';

// Calls `act` whenever the title, its place or what follows it changes, until a signal.
export function hear(act, signal) {
	hearers.add(act);
	signal.addEventListener('abort', () => hearers.delete(act));
}

// ---- What is shown

const cover = h('div.cover', {'aria-hidden': 'true'}), says = h('p.says', {role: 'status', hidden: true});
const big = iconButton('play', t('play'), toggle), play = iconButton('play', t('play'), toggle);
big.classList.add('big');
const seek = seekBar(second => title?.goTo(second)), time = h('span.time');
const back = iconButton('back', '', () => title?.jump(-BACK), String(BACK)), ahead = iconButton('ahead', '', () => title?.jump(AHEAD), String(AHEAD));
const skip = iconButton('next', t('next'), goNext), sound = iconButton('sound', t('mute'), () => { video.muted = !video.muted; });
const volume = h('input', {type: 'range', min: 0, max: 1, step: 0.05, value: 1, class: 'volume', on: {input: () => { video.muted = false; video.volume = Number(volume.value); }}});
const picture = iconButton('picture', '', swapPicture), full = iconButton('full', '', swapFull), quit = iconButton('close', '', close);
quit.classList.add('quit');
full.hidden = !document.fullscreenEnabled;
const tune = tuning(video, () => video.pause());
const name = h('a', {dir: 'auto'}), then = h('small');
const queue = queueButton({current, next: () => next, start});
const stage = h('div.stage', video, cover, big, says);
element.append(stage, h('div.now', name, then), seek, h('div.row', play, back, ahead, skip, time, h('span.gap'), tune.button, queue, sound, volume, picture, full, quit));
Object.assign(element, {tabIndex: 0});
element.dataset.keys = '';

function say(text, ...acts) {
	isSaid = Boolean(text);
	says.replaceChildren(text, ...acts);
	says.hidden = !text;
	big.hidden = isSaid || !video.paused;
}

// The words of all controls, in the language of the pages.
function translate() {
	const labels = [[element, 'player'], [volume, 'volume'], [picture, 'picture'], [full, 'full'], [quit, 'closePlayer'], [skip, 'next']];
	for (const [one, key] of labels) one.setAttribute('aria-label', one.title = t(key));
	element.removeAttribute('title');
	back.setAttribute('aria-label', back.title = t('back', {seconds: BACK}));
	ahead.setAttribute('aria-label', ahead.title = t('ahead', {seconds: AHEAD}));
	tune.translate();
	queue.relabel();
	showState();
	if (title) draw();
}

function showState() {
	for (const one of [play, big]) one.become(video.paused ? 'play' : 'pause', t(video.paused ? 'play' : 'pause'));
	sound.become(video.muted ? 'mute' : 'sound', t(video.muted ? 'unmute' : 'mute'));
	big.hidden = isSaid || !video.paused;
}

function draw() {
	if (!title) return;
	name.textContent = nameOf(title.item);
	name.setAttribute('href', `#/play/${title.id}`);
	video.setAttribute('aria-label', nameOf(title.item));
	then.textContent = next ? `${t('nextIs')} ${nameOf(next)}` : '';
	skip.disabled = !next;
	play.disabled = big.disabled = !title.playable;
	seek.become(title);
	drawPlace();
}

function drawPlace() {
	const now = title.second(), {length} = title;
	time.textContent = length ? `${clock(now)} / ${clock(length)}` : clock(now);
	seek.now(title);
	tellPlace(now, length, video.playbackRate, !video.paused);
	for (const act of [...hearers]) act();
}

// ---- One title after the other

// Puts a title on the player; `plays` whether it begins at once. What was on it keeps its place.
export async function start(id, plays = true) {
	const mine = ++starts, item = await get(`resources/${encodeURIComponent(id)}`);
	if (mine !== starts) return;
	leave();
	const {signal} = life = new AbortController();
	// The title's own words do not take the notice of the next one away.
	const sayOfTitle = (text, ...acts) => { if (text || !notice) say(text, ...acts); };
	const made = await playback({
		video, say: sayOfTitle, changed: draw, tracks: tune.tracks, saysTracks: tune.says, says: () => says.textContent, isReady: tune.apply}, item, signal);
	if (mine !== starts) return;
	title = made;
	take(id);
	element.hidden = false;
	document.body.dataset.plays = title.isSound ? 'sound' : 'picture';
	const isCurrent = () => title === made;
	cover.replaceChildren();
	cover.hidden = !title.isSound;
	paint(cover, item);
	picture.hidden = title.isSound || !document.pictureInPictureEnabled;
	if (title.isSound) showCover(cover, item, isCurrent);
	else coverOf(item).then(address => { if (address && isCurrent()) video.poster = address; });
	tell(item, isCurrent).catch(() => {});
	on('removed', change => forgetTitle(change.id), signal);
	say('');
	draw();
	lookAhead();
	if (!title.playable) return say(t(title.kind !== 'dash' ? 'noHls' : isOwner() ? 'noDash' : 'noDashViewer'));
	if (plays) await title.play();
	await title.open();
}

// Finds out what follows: the queue may have changed, or the titles.
async function lookAhead() {
	const mine = title;
	const found = mine && await following(mine.item, life.signal).catch(() => null);
	if (title !== mine) return;
	// What only stands behind it on the shelf, such as another film, waits for a press.
	const isMeant = found && (queued().length > 0 || Boolean(await collectionOf(mine.id).catch(() => null)));
	if (title !== mine) return;
	next = found || null;
	begins = Boolean(isMeant);
	draw();
}
onQueue(lookAhead);

function leave() {
	forgetNotice();
	title?.keep();
	life?.abort();
	if (!title) return;
	title = next = null;
	begins = false;
	video.removeAttribute('src');
	video.removeAttribute('poster');
	video.load();
	tune.tracks.replaceChildren();
	tune.says('');
}

export function close() {
	starts++;
	leave();
	if (document.pictureInPictureElement === video) document.exitPictureInPicture().catch(() => {});
	element.hidden = true;
	delete document.body.dataset.plays;
	tellNothing();
	for (const act of [...hearers]) act();
}

// One leaves the page of the title: what was only looked at goes, and the rest plays on in the bar.
export function becomeBar() {
	if (!title) return;
	title.keep();
	if (!title.isWanted) close();
}

async function goTo(item) {
	const isHere = isLarge();
	await start(item.id);
	if (isHere && isLarge()) location.replace(`#/play/${item.id}`);
}

function forgetNotice() {
	notice?.();
	notice = due = null;
	isDeclined = false;
}

const beginNext = item => { if (!tune.endsHere()) goTo(item).catch(fail); };

function announceNext() {
	if (notice || isDeclined || !next || !begins || tune.endsHere()) return;
	notice = announce(next, say, {
		begin: item => goTo(item).catch(fail),
		over: item => { if (video.ended) beginNext(item); else due = item; },
		decline: () => { isDeclined = true; }});
}

function goNext() {
	if (next) goTo(next).catch(fail);
}

// ---- What the buttons do

async function toggle() {
	if (!title) return;
	if (!video.paused) return video.pause();
	await title.play();
}

async function swapPicture() {
	await (document.pictureInPictureElement ? document.exitPictureInPicture() : video.requestPictureInPicture());
}

async function swapFull() {
	await (document.fullscreenElement ? document.exitFullscreen() : element.requestFullscreen());
}

let hideTimer = null;
function wake() {
	element.classList.remove('idle');
	clearTimeout(hideTimer);
	hideTimer = setTimeout(() => element.classList.toggle('idle', !video.paused && document.fullscreenElement === element), HIDE_AFTER);
}
for (const event of ['pointermove', 'keydown', 'focusin']) element.addEventListener(event, wake);

for (const event of ['play', 'pause', 'ended', 'volumechange']) video.addEventListener(event, () => { showState(); wake(); if (title) drawPlace(); });
for (const event of ['timeupdate', 'seeked', 'ratechange', 'durationchange']) video.addEventListener(event, () => title && drawPlace());
video.addEventListener('volumechange', () => { volume.value = video.muted ? 0 : video.volume; });
for (const event of ['play', 'seeking']) video.addEventListener(event, forgetNotice);
// The notice of a picture comes at the end, and that of a song so early that the next one begins without a pause.
video.addEventListener('timeupdate', () => {
	if (title?.isSound && video.duration > SHORT && !video.paused && video.duration - video.currentTime <= WAIT * video.playbackRate) announceNext();
});
video.addEventListener('ended', () => { if (due) beginNext(due); else announceNext(); });
stage.addEventListener('click', event => {
	if (event.target !== video && event.target !== cover && event.target !== stage) return;
	if (isLarge()) toggle().catch(fail); else location.hash = `#/play/${title?.id}`;
});
addEventListener('signout', close);
addEventListener('texts', translate);

bindKeys(element, {seek: seek.input, play, toggle, swapFull, goNext, jump: seconds => title?.jump(seconds),
	mute: () => sound.click(), swapPicture: () => picture.hidden || swapPicture(), faster: tune.faster,
	tenth: tenth => title?.goTo(title.length * tenth / 10)});
control({play: () => title?.play(), pause: () => video.pause(), stop: close, nexttrack: () => goNext(),
	previoustrack: () => title?.goTo(0), seekbackward: ({seekOffset}) => title?.jump(-(seekOffset || BACK)),
	seekforward: ({seekOffset}) => title?.jump(seekOffset || AHEAD), seekto: ({seekTime}) => title?.goTo(seekTime)});
translate();
