// The people who see what the owner shares with them.

import {get, query, request} from './api.js';
import {collectionOf, groupName} from './groups.js';
import {code} from './qr.js';
import {ask, button, busy, check, field, h, many, moment, nameOf, note, number, row, t, table} from './ui.js';

// Shows a link that signs another device in, and the code of it for a camera.
export async function passOn(title, words, order) {
	const {ticket} = await request('POST', 'tickets', {use: 'session', ...order});
	const link = `${location.origin}/#ticket=${ticket}`;
	const isHere = /^(127\.|localhost$|\[::1\]$)/.test(location.hostname);
	await ask(title, [words, isHere && h('p.bad-text', t('linkIsHere')), code(link, t('code')), h('code.secret', {tabindex: 0}, link)].filter(Boolean), null, {cancel: t('close')});
}

const pinField = () => h('input', {type: 'password', minlength: 4, maxlength: 64, autocomplete: 'new-password', inputmode: 'numeric'});

export async function viewers(place, signal) {
	const list = h('div'), name = h('input', {maxlength: 100, required: true, autocomplete: 'off'}), pin = pinField(), all = check(t('sharesAll'));
	const send = h('button', {type: 'submit', class: 'main'}, t('addViewer'));
	place.append(h('h2', t('viewers')), h('p.soft', t('viewersWords')), list, h('details.panel', h('summary', t('addViewer')), h('form', {on: {submit: event => {
		event.preventDefault();
		busy(send, async () => {
			await request('POST', 'viewers', {name: name.value.trim(), pin: pin.value || null, sharesAll: all.box.checked});
			name.value = pin.value = '';
			all.box.checked = false;
			await refresh();
		});
	}}}, field(t('viewerName'), name), field(t('pinCode'), pin, t('pinHint')), h('p', all.label), send)));

	async function changePIN(viewer) {
		const other = pinField();
		if (!await ask(t('pinOf', {name: viewer.name}), [field(t('pinCode'), other, t('pinHint')), t('pinWords')], t('save'))) return;
		await request('PATCH', 'viewers', other.value ? {id: viewer.id, pin: other.value} : {id: viewer.id, hasPIN: false});
		note(t('done'));
		await refresh();
	}

	// Shows from where someone failed to sign in, and lets the next try be accepted at once.
	async function unlock(viewer) {
		const places = viewer.failures.map(one => row(h('td', {dir: 'auto'}, one.address || t('thisMachine'), one.knownDevice && ` (${t('knownDevice')})`), number(one.count), moment(one.last), one.until ? moment(one.until) : t('atOnce')));
		if (!await ask(t('failedSignIns', {name: viewer.name}), [table(t('failedSignIns', {name: viewer.name}), [t('from'), t('howMany'), t('lastTry'), t('nextTryAt')], places), t('unlockWords')], t('unlock'))) return;
		await request('PATCH', 'viewers', {id: viewer.id, unlock: true});
		note(t('done'));
		await refresh();
	}

	async function drop(viewer) {
		if (!await ask(t('removeViewer', {name: viewer.name}), [t('removeViewerWords')], t('remove'), {danger: true})) return;
		await request('DELETE', query('viewers', {id: viewer.id}));
		await refresh();
	}

	async function refresh() {
		const told = await get('viewers', signal);
		const act = (text, viewer, does) => button(text, () => does(viewer), {'aria-label': `${text}: ${viewer.name}`});
		list.replaceChildren(table(t('viewers'), [t('viewerName'), t('pinCode'), t('sees'), t('acts')], told.viewers.map(viewer => row(
			h('td', {dir: 'auto'}, viewer.name), t(viewer.hasPIN ? 'yes' : 'no'), viewer.sharesAll ? t('all') : [number(viewer.titles), viewer.collections && many('collections', viewer.collections)].filter(Boolean).join(' + '),
			h('td', h('span.acts', act(t('signIn'), viewer, one => passOn(t('signInOf', {name: one.name}), t('viewerCode'), {viewer: one.id})),
				viewer.failures.length > 0 && act(t('unlock'), viewer, unlock), act(t('newPIN'), viewer, changePIN), act(t('remove'), viewer, drop))))), t('noViewers')));
	}
	await refresh();
}

// Asks with whom a title is shared.
export async function share(item) {
	const [shared, group] = await Promise.all([get('shares'), collectionOf(item.id)]);
	const now = shared.shares.find(one => one.id === item.id)?.viewers || [];
	await askWhom(nameOf(item), [t('shareWords'), !item.name && h('p.bad-text', t('shareUnnamed', {name: nameOf(item)}))], now, {resources: [item.id]}, group);
}

// Asks with whom a collection is shared, with all that comes later.
export const shareCollection = group => askWhom(groupName(group), [t('shareWords'), t('shareLater')], group.viewers, {collection: group.id});

async function askWhom(name, parts, viewers, what, group) {
	const people = await get('viewers'), now = new Set(viewers);
	if (!people.viewers.length) return note(t('noViewers'));
	// A viewer who sees all titles, or the title's collection, sees it, too.
	const isAnyway = viewer => viewer.sharesAll || Boolean(group?.viewers.includes(viewer.id));
	const words = viewer => viewer.sharesAll ? t('seesAll', {name: viewer.name}) : isAnyway(viewer) ? `${viewer.name} (${groupName(group)})` : viewer.name;
	const boxes = people.viewers.map(viewer => [viewer, check(words(viewer), {checked: isAnyway(viewer) || now.has(viewer.id), disabled: isAnyway(viewer)})]);
	if (!await ask(t('shareTitle', {name}), [...parts, ...boxes.map(([, box]) => h('p', box.label))], t('save'))) return;
	for (const [viewer, {box}] of boxes)
		if (!box.disabled && box.checked !== now.has(viewer.id))
			await request('POST', 'shares', {...what, viewer: viewer.id, shared: box.checked});
	note(t('done'));
}
