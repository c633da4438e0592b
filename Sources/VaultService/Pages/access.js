// Who plays at the moment, and who may come in: browsers, viewers, tokens of the API, and named links of players.

import {get, query, request} from './api.js';
import {passOn, viewers} from './viewers.js';
import {ask, button, busy, choice, field, h, hour, many, moment, nameOf, note, number, row, t, table} from './ui.js';

const DAY = 86_400;  // seconds
const PLAYING_EVERY = 10_000;  // milliseconds
const LIFETIMES = [[DAY, 'oneDay'], [7 * DAY, 'oneWeek'], [30 * DAY, 'oneMonth'], [365 * DAY, 'oneYear'], [0, 'forEver']];
const lifetime = (value = 30 * DAY) => choice(LIFETIMES.map(([seconds, name]) => [String(seconds), t(name)]), String(value));

// Shows a secret once, with a button that copies it.
async function reveal(title, words, secret) {
	const copy = button(t('copy'), async () => { await navigator.clipboard.writeText(secret); note(t('copied')); });
	await ask(title, [words, h('code.secret', {tabindex: 0}, secret), copy], null, {cancel: t('close')});
}

export async function makeLink(item) {
	const name = h('input', {maxlength: 100, required: true, autocomplete: 'off', value: nameOf(item).slice(0, 90)}), until = lifetime();
	if (!await ask(t('linkTo', {name: nameOf(item)}), [t('linkWords'), field(t('sort.name'), name), field(t('lifetime'), until)], t('makeLink'))) return null;
	const link = await request('POST', 'links', {id: item.id, name: name.value.trim(), lifetime: Number(until.value)});
	await reveal(t('newLink'), t('newTokenWords'), location.origin + link.path);
	return link;
}

export async function show(main, _, signal) {
	const playing = h('div'), tokens = h('div'), links = h('div'), sessions = h('div'), people = h('div');
	const scope = choice(['read', 'play', 'metrics', 'admin'].map(key => [key, t(`scope.${key}`)]), 'play');
	const name = h('input', {maxlength: 100, autocomplete: 'off'}), until = lifetime(), send = h('button', {type: 'submit', class: 'main'}, t('createToken'));
	const form = h('form', {on: {submit: event => {
		event.preventDefault();
		busy(send, async () => {
			const made = await request('POST', 'tokens', {scope: scope.value, name: name.value.trim() || null, lifetime: Number(until.value)});
			name.value = '';
			await reveal(t('newToken'), t('newTokenWords'), made.token);
			await refresh();
		});
	}}}, field(t('tokenScope'), scope), field(t('sort.name'), name), field(t('lifetime'), until), send);

	main.append(h('h1', t('page.access')), h('h2', t('playing')), h('p.soft', t('playingWords')), playing, h('h2', t('sessions')), h('p.soft', t('sessionsWords')), sessions, h('p', button(t('otherDevice'), () => passOn(t('otherDevice'), t('otherDeviceWords'), {}))), people,
		h('h2', t('tokens')), h('p.soft', t('tokensWords')), tokens, h('details.panel', h('summary', t('createToken')), form),
		h('h2', t('links')), h('p.soft', t('linksWords')), links);

	const revoke = (kind, grant, label) => button(t('revoke'), async () => {
		if (!await ask(t(`revoke.${kind}`, {name: label}), [t(`revoke.${kind}Words`)], t('revoke'), {danger: true})) return;
		await request('DELETE', query(kind, {id: grant.id}));
		await refresh();
	}, {'aria-label': `${t('revoke')}: ${label}`});

	const rename = (session, label) => button(t('rename'), async () => {
		const name = h('input', {maxlength: 100, required: true, autocomplete: 'off', value: label});
		if (!await ask(t('renameTitle', {name: label}), [field(t('newName'), name)], t('save'))) return;
		await request('PATCH', 'sessions', {id: session.id, name: name.value.trim()});
		await refresh();
	}, {'aria-label': `${t('rename')}: ${label}`});

	async function refresh() {
		const [held, named, signedIn, mine] = await Promise.all(['tokens', 'links', 'sessions', 'session'].map(path => get(path, signal)));
		sessions.replaceChildren(table(t('sessions'), [t('browser'), t('created'), t('expires'), t('lastUsed'), t('acts')], signedIn.sessions.map(session => row(
			h('td', session.viewer || t('owner'), ', ', session.browser || session.id, session.id === mine.id && ` (${t('thisOne')})`), moment(session.created), moment(session.expires), session.lastUsed ? moment(session.lastUsed) : t('never'),
			h('td', rename(session, session.browser || session.id), session.id === mine.id ? '' : revoke('sessions', session, session.browser || session.id)))), ''));
		tokens.replaceChildren(table(t('tokens'), [t('sort.name'), t('tokenScope'), t('expires'), t('lastUsed'), t('acts')], held.tokens.map(token => row(
			token.name || token.id, t(`scope.${token.scope}`), token.expires ? moment(token.expires) : t('never'), token.lastUsed ? moment(token.lastUsed, null) : t('never'),
			revoke('tokens', token, token.name || token.id))), t('noTokens')));
		links.replaceChildren(table(t('links'), [t('sort.name'), t('leadsTo'), t('expires'), t('lastUsed'), t('acts')], named.links.map(link => row(
			link.name, h('td.wide-text', link.count > 1 ? many('titles', link.count) : nameOf({url: link.url})), link.expires ? moment(link.expires) : t('never'), link.lastUsed ? moment(link.lastUsed, null) : t('never'),
			revoke('links', link, link.name))), t('noLinks')));
		// Each list has the number of all records.
		if (held.damaged) links.append(h('p.bad-text', t('damagedGrants', {count: number(held.damaged)})));
	}

	async function refreshPlaying() {
		const {playbacks} = await get('playbacks', signal);
		playing.replaceChildren(table(t('playing'), [t('aTitle'), t('plays'), t('began'), t('lastAsked')], playbacks.map(one => row(
			h('td.wide-text', {dir: 'auto'}, one.id ? h('a', {href: `#/titles/${one.id}`}, nameOf(one)) : nameOf(one)),
			h('td', {dir: 'auto'}, [t(`holder.${one.holder}`), one.holderName].filter(Boolean).join(': ')),
			hour(one.began), one.open ? t('now') : hour(one.last))), t('nonePlays')));
	}
	const timer = setInterval(() => { if (!document.hidden) refreshPlaying().catch(() => {}); }, PLAYING_EVERY);
	signal.addEventListener('abort', () => clearInterval(timer));
	await Promise.all([refreshPlaying(), refresh(), viewers(people, signal)]);
}
