// Starts the app: signs in, shows the page that the address names, and tells when the service is away.

import * as api from './api.js';
import {settled} from './positions.js';
import {moveFocus} from './arrows.js';
import {icon} from './icons.js';
import {menu} from './menu.js';
import * as shelf from './shelf.js';
import {failed, waits} from './states.js';
import {LANGUAGES, language, setLanguage} from './texts.js';
import {busy, button, fail, field, h, note, t, why} from './ui.js';

const ALL = ['collections'];
const OWNERS = ['titles', 'downloads', 'storage', 'keys', 'access', 'health', 'settings'];
const ROOMS = 4;  // at the bottom of a telephone
const main = document.getElementById('main'), nav = document.getElementById('nav');
const lost = document.getElementById('lost');
let life = null;  // ends with the page that is shown

// ---- What the address says

const decoded = text => { try { return decodeURIComponent(text); } catch { return text; } };

const place = () => {
	const [name = '', ...rest] = location.hash.replace(/^#\/?/, '').split('/');
	return {name, argument: rest.map(decoded).join('/')};
};

function takeTicket() {
	const match = /^#ticket=([A-Za-z0-9_-]+)$/.exec(location.hash);
	if (match) history.replaceState(null, '', location.pathname);
	return match?.[1];
}

const moduleOf = name => name === '' ? shelf : import(
	name === 'play' ? './play.js' : [...ALL, ...OWNERS].includes(name) ? `./${name}.js` : './shelf.js').catch(reloadIfReplaced);

// The service was replaced by another version, whose files have other addresses.
async function reloadIfReplaced(error) {
	const text = await (await fetch('/', {cache: 'no-cache'})).text();
	if (text.includes(new URL('.', import.meta.url).pathname)) throw error;
	location.reload();
	return new Promise(() => {});
}

async function show(moved) {
	if (!api.currentSession()) return;
	const {name, argument} = place();
	if (OWNERS.includes(name) && !api.isOwner()) return location.replace('#/');
	for (const old of document.querySelectorAll('#notes .bad')) old.remove();  // of the page before
	life?.abort();
	const mine = life = new AbortController();
	document.body.dataset.page = name || 'shelf';
	for (const link of nav.querySelectorAll('a')) {
		if (link.dataset.page === (ALL.includes(name) ? '' : name)) link.setAttribute('aria-current', 'page');
		else link.removeAttribute('aria-current');
	}
	let done = () => {};
	try {
		const page = await moduleOf(name);
		if (mine.signal.aborted) return;
		main.replaceChildren();
		done = waits(main);
		await page.show(main, argument, mine.signal);
		if (mine.signal.aborted) return;
	} catch (error) {
		if (mine.signal.aborted) return;
		done();
		if (!main.children.length) main.append(h('h1', t('failed')));
		if (error.status === 404) main.append(failed(t('noSuchTitle')));
		else {
			if (error instanceof api.Unreached) api.on('connection', ({open}) => open && show(), mine.signal);
			main.append(failed(error.status ? t('refused', {why: error.message}) : error.message || t('notReached'), () => show()));
			if (!error.status && error.name !== 'Error') console.error(error);
		}
	} finally {
		done();
	}
	const heading = main.querySelector('h1');
	document.title = [heading?.textContent, 'MediaVault'].filter(Boolean).join(' – ');
	if (!moved) return;
	scrollTo(0, 0);
	if (main.contains(document.activeElement) || name === 'play' && document.activeElement?.id === 'player') return;
	heading?.setAttribute('tabindex', '-1');
	heading?.focus({preventScroll: true});
}

// ---- The frame around every page

function frame() {
	document.documentElement.lang = language();
	document.getElementById('skip').textContent = t('skip');
	nav.setAttribute('aria-label', t('pages'));
	const names = api.currentSession() ? ['', ...api.isOwner() ? OWNERS : []] : [];
	nav.replaceChildren(...names.map((name, place) => h('a', {href: `#/${name}`, 'data-page': name},
		place < ROOMS && icon(name || 'shelf'), h('span', t(`page.${name || 'shelf'}`)))));
	// A telephone has place for some rooms at its bottom; a menu leads to the others.
	if (names.length > ROOMS) {
		const more = h('button.rooms', {type: 'button'}, icon('more'), h('span', t('moreRooms')));
		menu(more, () => names.slice(ROOMS).map(name => [t(`page.${name}`), () => { location.hash = `#/${name}`; }]));
		nav.append(more);
	}
	document.body.dataset.rooms = Math.min(names.length, ROOMS + 1);
	dispatchEvent(new Event('texts'));
	const languages = h('select', {'aria-label': t('language'), on: {change: () => {
		setLanguage(languages.value);
		frame();
		if (api.currentSession()) show(); else welcome();
	}}}, Object.entries(LANGUAGES).map(([key, name]) => h('option', {value: key, lang: key, selected: key === language()}, name)));
	document.getElementById('foot').replaceChildren(languages, ...api.currentSession() ? [
		h('span', t('signedInAs', {name: api.currentSession().viewer || t(api.isOwner() ? 'owner' : 'guest')})), button(t('signOut'), async () => {
			dispatchEvent(new Event('signout'));  // the player tells where one is
			await settled();
			await api.signOut();
		})] : []);
}

function welcome(isSpent = false) {
	life?.abort();
	dispatchEvent(new Event('signout'));
	document.body.dataset.page = 'welcome';
	document.title = 'MediaVault';
	lost.replaceChildren();
	const name = h('input', {required: true, maxlength: 100, autocomplete: 'username', autocapitalize: 'none'});
	const pin = h('input', {type: 'password', required: true, minlength: 4, maxlength: 64, autocomplete: 'current-password', inputmode: 'numeric'});
	const send = h('button', {type: 'submit', class: 'main'}, t('signIn')), says = h('p.bad-text', {role: 'alert'});
	main.replaceChildren(h('h1', t('welcome')), isSpent ? h('p.bad-text', {role: 'alert'}, t('spentTicket')) : '',
		h('form.panel', {on: {submit: event => {
			event.preventDefault();
			busy(send, async () => {
				says.textContent = '';
				try {
					await api.signIn({name: name.value.trim(), pin: pin.value});
				} catch (error) {
					pin.value = '';
					pin.focus();
					says.textContent = error.status === 401 ? t('wrongPIN')
						: error.status === 429 ? t('waitForPIN', {seconds: error.document.retryAfter || 30}) : error.status ? why(error.document) : t('notReached');
					return;
				}
				frame();
				show();
			});
		}}}, field(t('viewerName'), name), field(t('pinCode'), pin), says, send),
		h('h2', t('ownersOnly')), h('p', t('runOpen')), h('p', h('code', 'mediavault open')), h('p.soft', t('runOpenMore')));
}

// ---- The connection

let countdown = null;

function tellConnection({open, wait}) {
	clearInterval(countdown);
	if (open) {
		if (lost.children.length) note(t('isBack'));
		return lost.replaceChildren();
	}
	const until = Date.now() + wait, left = h('span', {'aria-hidden': 'true'});
	const count = () => { left.textContent = t('nextTry', {seconds: Math.max(0, Math.ceil((until - Date.now()) / 1000))}); };
	count();
	countdown = setInterval(count, 500);
	if (lost.children.length) return lost.querySelector('span[aria-hidden]').replaceWith(left);
	lost.replaceChildren(h('p', h('span', t('isLost')), ' ', left, ' ', button(t('tryNow'), api.connect)));
}

async function begin() {
	const ticket = takeTicket();
	frame();
	for (let wait = 1000; ; wait = Math.min(30_000, wait * 2)) {
		try {
			const signedIn = await api.start(ticket);
			lost.replaceChildren();
			frame();
			return signedIn ? show() : welcome(Boolean(ticket));
		} catch (error) {
			const isLocked = error.document?.code === 'locked';
			main.replaceChildren(h('h1', isLocked ? t('isLocked') : 'MediaVault'), h('p', t(isLocked ? 'isLockedWords' : 'away')));
			let now;
			const pressed = new Promise(done => { now = done; });
			lost.replaceChildren(h('p', isLocked ? '' : error.status ? why(error.document) : t('isLost'), ' ', button(t('tryNow'), now)));
			await Promise.race([pressed, new Promise(done => setTimeout(done, wait))]);
		}
	}
}

api.on('connection', tellConnection);
addEventListener('hashchange', () => {
	const ticket = takeTicket();
	if (ticket) return api.start(ticket).then(signedIn => { frame(); return signedIn ? show() : welcome(true); }).catch(fail);
	if (location.hash.startsWith('#/') || !location.hash) show(true);
});
addEventListener('keydown', moveFocus);
document.getElementById('skip').addEventListener('click', event => { event.preventDefault(); main.focus(); });
navigator.serviceWorker?.register(new URL('worker.js', import.meta.url), {scope: '/'}).catch(() => {});
begin();
