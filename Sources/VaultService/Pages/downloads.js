// The download queue, live.

import {get, on, query, request} from './api.js';
import {feeds} from './feeds.js';
import {bar, busy, button, bytes, check, clock, field, h, many, moment, nameOf, note, percent, t, waiting, why} from './ui.js';

const PAGE = 200;  // downloads
const REFRESH_AFTER = 400;  // milliseconds after the queue changed

const ACTS = {
	waiting: ['pause', 'first', 'last', 'cancel'], running: ['pause', 'cancel'], paused: ['resume', 'first', 'last', 'cancel'],
	failed: ['retry', 'cancel'], done: [], ended: []};

export async function show(main, _, signal) {
	const counts = h('p.soft', {role: 'status'}), list = h('ul.cards', {role: 'list', 'aria-label': t('queue')});
	const more = button(t('more'), () => refresh(list.children.length + PAGE));
	const over = h('ul.cards', {role: 'list', 'aria-label': t('overList')}), overTitle = h('summary');
	const folded = h('details.panel', {hidden: true}, overTitle, over);
	const forAll = ['pause', 'resume', 'retry', 'clear'].map(act => button(t(`${act}All`), async () => {
		await request('PATCH', 'downloads', {act, all: true});
		await refresh();
	}, {hidden: true}));
	main.append(h('h1', t('page.downloads')), adder(), h('h2', t('queue')), counts, h('div.acts', forAll), list, more, folded);

	// Offers for all downloads what some of them can do.
	function offer({running, waiting, paused, failed}) {
		const hadFocus = forAll.includes(document.activeElement);
		[running + waiting, paused, failed, failed].forEach((count, place) => { forAll[place].hidden = !count; });
		if (hadFocus && document.activeElement.hidden) forAll.find(one => !one.hidden)?.focus();
	}

	const cards = new Map();
	const later = waiting(REFRESH_AFTER, () => refresh(), signal, true);

	async function refresh(wanted = Math.max(PAGE, list.children.length)) {
		const found = [];
		let page, after;
		do {
			page = await get(query('downloads', {limit: Math.min(1000, wanted), after}), signal);
			found.push(...page.downloads);
			after = page.next;
		} while (after && found.length < wanted);
		more.hidden = !after;
		const isOver = entry => entry.state === 'done' || entry.state === 'ended';
		// A title may be in the queue and fetched by clients, too: what the queue does is shown, else what still runs.
		const rank = entry => isOver(entry) * 4 + !entry.queued * 2 + (entry.state !== 'running');
		const shown = new Map();
		for (const entry of found) if (!shown.has(entry.id) || rank(entry) < rank(shown.get(entry.id))) shown.set(entry.id, entry);
		const entries = [...shown.values()].sort((a, b) => isOver(a) - isOver(b));
		offer(page.counts);
		const told = ['running', 'waiting', 'paused', 'failed', 'damaged'].filter(state => page.counts[state]);
		counts.textContent = told.length ? told.map(state => many(`count.${state}`, page.counts[state])).join(', ') : t('queueEmpty');
		const focused = document.activeElement;
		for (const [id, card] of cards) if (!shown.has(id)) { cards.delete(id); card.remove(); }
		const ended = entries.filter(isOver);
		for (const [place, some] of [[list, entries.filter(entry => !isOver(entry))], [over, ended]]) {
			let next = place.firstElementChild;
			for (const entry of some) {
				if (!cards.has(entry.id)) cards.set(entry.id, newCard(later));
				const card = cards.get(entry.id);
				card.fill(entry);
				if (card === next) next = next.nextElementSibling;
				else place.insertBefore(card, next);
			}
		}
		folded.hidden = !ended.length;
		overTitle.textContent = many('over', ended.length);
		if (focused?.isConnected && document.activeElement !== focused) focused.focus({preventScroll: true});
	}

	on('download', entry => {
		const card = cards.get(entry.id);
		if (card?.queued && !entry.queued) return;
		if (card?.queued !== entry.queued || card.state !== entry.state) later();
		if (card?.queued === entry.queued) card.fill(entry);
	}, signal);
	on('removed', later, signal);
	on('many', later, signal);

	function adder() {
		const urls = h('textarea', {rows: 3, required: true, spellcheck: 'false', placeholder: 'https://…'});
		const name = h('input', {maxlength: 200, autocomplete: 'off'}), languages = h('input', {maxlength: 200, autocomplete: 'off', spellcheck: 'false'}), first = check(t('addFirst'));
		const send = h('button', {type: 'submit', class: 'main'}, t('add'));
		get('languages', signal).then(usual => { languages.placeholder = usual.languages.join(','); }, () => {});
		return h('form.panel', {on: {submit: event => {
			event.preventDefault();
			busy(send, async () => {
				const lines = urls.value.split(/\s*\n\s*/).map(line => line.trim()).filter(Boolean);
				const bad = lines.find(line => !URL.canParse(line));
				if (bad) return note(t('noURL', {text: bad}), true);
				const title = lines.length === 1 && name.value.trim() || undefined, audio = languages.value.trim() || undefined;
				await request('POST', 'downloads', {downloads: lines.map(url => ({url, title, audio, subtitles: audio})), first: first.box.checked});
				urls.value = name.value = '';
				note(many('queued', lines.length));
				await refresh();
			});
		}}}, field(t('addURLs'), urls, t('addURLsHint')), field(t('addName'), name), field(t('set.languages'), languages, t('addLanguages')), h('div.acts', send, first.label));
	}

	await refresh();
	await feeds(main, signal, refresh);
}

function newCard(changed) {
	const name = h('a.name', {dir: 'auto'}), tag = h('span.tag'), says = h('span.soft');
	const progress = bar(0, ''), acts = h('span.acts'), problem = h('p.bad-text', {hidden: true});
	const card = h('li', h('div.line', name, tag, acts), progress, h('div.line', says), problem);
	let rate = null, before = null;
	card.fill = entry => {
		const now = performance.now(), isRunning = entry.state === 'running';
		if (!isRunning || !before || entry.held < before.held) [rate, before] = [null, {at: now, held: entry.held}];
		else if (now - before.at > 700) {
			const latest = (entry.held - before.held) / (now - before.at) * 1000;
			rate = rate === null ? latest : rate * 0.7 + latest * 0.3;
			before = {at: now, held: entry.held};
		}
		const text = nameOf(entry), share = entry.size ? entry.held / entry.size : entry.state === 'done' ? 1 : 0;
		name.textContent = text;
		if (entry.held || entry.state === 'done') name.setAttribute('href', `#/play/${entry.id}`); else name.removeAttribute('href');
		tag.textContent = t(`state.${entry.state}`);
		tag.className = `tag ${{failed: 'bad', done: 'good'}[entry.state] || ''}`;
		progress.show(share);
		progress.setAttribute('aria-label', text);
		says.textContent = [
			entry.size ? t('ofSize', {held: bytes(entry.held), size: bytes(entry.size), share: percent(share)}) : bytes(entry.held),
			rate && `${bytes(rate)}/s`, rate && entry.size && t('left', {time: clock((entry.size - entry.held) / rate)}),
			entry.state === 'waiting' && entry.nextAttempt && t('nextAttempt', {time: moment(entry.nextAttempt, 'medium')}), !entry.queued && isRunning && t('byClient'), !entry.queued && entry.state === 'failed' && t('wasClient')]
			.filter(Boolean).join(' · ');
		problem.hidden = !entry.problem;
		problem.textContent = why(entry.problem || {});
		// What failed for a client may fail again in the queue, which has other acts.
		if (card.state === entry.state && card.queued === entry.queued) return;
		[card.state, card.queued] = [entry.state, entry.queued];
		// What a client waited for is not in the queue: to try it again is to add it.
		const wanted = entry.queued ? ACTS[entry.state] || [] : isRunning ? ['cancel']
			: entry.state === 'failed' && !entry.contentID ? ['retry'] : [];
		const hadFocus = acts.contains(document.activeElement);
		acts.replaceChildren(...wanted.map(act => button(t(`act.${act}`), async () => {
			if (entry.queued) await request('PATCH', 'downloads', {act, ids: [entry.id]});
			else if (act === 'retry') await request('POST', 'downloads', {downloads: [{url: entry.url}]});
			else await request('DELETE', query('downloads', {id: entry.id}));
			changed();
		}, {'aria-label': `${t(`act.${act}`)}: ${text}`})));
		if (hadFocus) (acts.firstChild || name).focus();
	};
	return card;
}
