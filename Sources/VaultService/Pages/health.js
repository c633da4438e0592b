// Whether all is well: readiness for a time without the network, a check of every block, figures, and events as they come.

import {get, on, operation, query} from './api.js';
import {bar, button, bytes, check, choice, facts, fail, field, h, many, moment, nameOf, number, note, percent, svg, t, waiting, why} from './ui.js';

const DAY = 86_400_000;  // milliseconds
const SPANS = [[0, 'now'], [DAY, 'oneDay'], [7 * DAY, 'oneWeek'], [30 * DAY, 'oneMonth']];
const EVERY = 5000;  // milliseconds between two looks at the figures
const JUDGED_AFTER = 2000;  // milliseconds after something changed
const EVENTS = 50;
const KINDS = ['resource', 'removed', 'download', 'store', 'many'];

const log = [];  // of events, as long as the app is open

for (const name of KINDS) on(name, told => {
	const last = log[0], id = told.id || '';
	const entry = {time: Date.now(), name, id, text: inWords(name, told), count: 1};
	if (last && last.name === name && last.id === id) log[0] = {...entry, count: last.count + 1};
	else log.unshift(entry);
	log.length = Math.min(log.length, EVENTS);
});

function inWords(name, told) {
	if (name === 'resource') return t('event.resource', {name: nameOf(told.resource), held: bytes((told.resource.title || told.resource).bytes)});
	if (name === 'download') return t('event.download', {name: nameOf(told), state: t(`state.${told.state}`), held: bytes(told.held)});
	if (name === 'removed') return t('event.removed', {id: told.id});
	if (name === 'store') return told.isStoring === false ? t('event.storeFails', {why: why({code: told.reason, detail: told.message || told.reason})}) : t('event.store', {bytes: bytes(told.evicted || 0)});
	return t('event.many');
}

// What is not ready: in English in the service's own sentence, else in words for its cause.
const found = ({cause, message}) => why({code: cause, detail: message});

export async function show(main, _, signal) {
	const verdict = h('div', {role: 'status'}), until = choice(SPANS.map(([span, name]) => [String(span), t(name)]), String(7 * DAY));
	const which = choice([['pinned', t('onlyPinned')], ['downloaded', t('pinnedAndDownloaded')]], 'pinned');
	const figures = h('dl.facts.panel'), charts = h('div.facts'), events = h('div.log.panel', {role: 'log', 'aria-live': 'off', tabindex: 0, 'aria-label': t('events')});
	main.append(h('h1', t('page.health')), h('h2', t('readiness')), h('div.tools', field(t('readyUntil'), until), field(t('readyTitles'), which)), verdict,
		h('h2', t('verify')), verifier(), h('h2', t('figures')), figures, charts, h('p.soft', t('chartsWords')), h('h2', t('events')), events);

	// ---- Readiness
	async function judge() {
		const told = await get(query('readiness', {
			until: Number(until.value) ? `${new Date(Date.now() + Number(until.value)).toISOString().slice(0, 19)}Z` : '', titles: which.value}), signal);
		verdict.replaceChildren(
			h('p', {class: told.ready ? 'good-text' : 'bad-text'}, h('strong', told.ready ? t('ready', {titles: many('titles', told.titles), bytes: bytes(told.bytes)})
				: t(told.unreadyTitles ? 'notReady' : 'notReadyYet', {unready: number(told.unreadyTitles), titles: many('titles', told.titles)}))),
			told.findings.length ? h('ul', told.findings.map(finding => h('li', found(finding)))) : '',
			told.unready.length ? h('ul', told.unready.map(title => h('li', title.id ? h('a', {href: `#/titles/${title.id}`, dir: 'auto'}, nameOf(title)) : nameOf(title),
				': ', title.findings.map(found).join('; ')))) : '');
	}
	const judgeLater = waiting(JUDGED_AFTER, () => document.hidden || judge().catch(() => {}), signal, true);
	for (const name of ['resource', 'removed', 'many']) on(name, judgeLater, signal);
	until.addEventListener('change', () => judge().catch(fail));
	which.addEventListener('change', () => judge().catch(fail));

	// ---- Verification
	function verifier() {
		const repair = check(t('repair')), progress = bar(0, t('progress')), says = h('p', {role: 'status'});
		let running = null;
		const stop = button(t('stop'), () => running?.abort(), {hidden: true});
		progress.hidden = true;
		const start = button(t('verifyAll'), async () => {
			running = new AbortController();
			stop.hidden = progress.hidden = false;
			let told = 0;
			try {
				const done = await operation('verifications', {repair: repair.box.checked}, at => {
					const share = at.bytesTotal ? at.bytesOpened / at.bytesTotal : 1;
					progress.show(share);
					if (Date.now() - told > 2000) {  // a screen reader need not hear each step
						told = Date.now();
						says.textContent = t('verifies', {share: percent(share), damage: number(at.damage)});
					}
				}, AbortSignal.any([signal, running.signal]));
				progress.show(1);
				says.textContent = done.sound ? t('verifySound', {bytes: bytes(done.bytesOpened)})
					: t('verifyDamage', {titles: many('titles', done.damagedResources), remaining: number(done.remaining)});
				says.className = done.sound ? 'good-text' : 'bad-text';
				await judge();
			} catch (error) {
				progress.hidden = true;
				says.textContent = error.name === 'AbortError' ? t('verifyStopped') : '';
				throw error;
			} finally {
				stop.hidden = true;
			}
		}, {class: 'main'});
		return h('div.panel', h('p.soft', t('verifyWords')), h('div.acts', start, stop, repair.label), progress, says);
	}

	// ---- Figures
	async function showFigures() {
		const status = await get('status', signal);
		facts(figures, [['titles', number(status.resources)], ['heldBytes', bytes(status.bytes)], ['used', bytes(status.used)],
			['fetched', bytes(status.bytesFetched)], ['store', status.storeFailure ? t('storesNothing', {why: why({code: 'diskFull', detail: status.storeFailure})}) : t('storeGood')],
			['feeds', status.feeds.failing ? many('feedsFail', status.feeds.failing) : number(status.feeds.followed)],
			['downloads', ['running', 'waiting', 'paused', 'failed', 'damaged'].filter(state => status.downloads[state]).map(state => many(`count.${state}`, status.downloads[state])).join(', ') || t('queueEmpty')]]);
	}

	// ---- The log
	const lines = h('div.log.panel', {role: 'log', 'aria-live': 'off', tabindex: 0, 'aria-label': t('logLines')}), version = h('p.soft');
	const text = line => [line.time, line.level, line.message, line.reason].filter(Boolean).join(' ');
	let told = {lines: []};
	async function showLog() {
		told = await get('log', signal);
		version.textContent = t('versionIs', {version: told.version});
		lines.replaceChildren(...told.lines.length ? told.lines.toReversed().map(line => h('p', {lang: 'en'}, text(line))) : [h('p.soft', t('noLines'))]);
	}
	// Neither names nor addresses: the log's lines are sent without them, and of the status only numbers are taken.
	async function report() {
		await showLog();
		const status = await get('status', signal), {failing, followed} = status.feeds;
		await navigator.clipboard.writeText([`MediaVault ${told.version}`, navigator.userAgent,
			`titles ${status.resources}, segments ${status.segments}, bytes ${status.bytes}, used ${status.used}, stores ${!status.storeFailure}`,
			`downloads ${JSON.stringify(status.downloads)}, feeds ${JSON.stringify({failing, followed})}`, ...told.lines.map(text)].join('\n'));
		note(t('copied'));
	}
	main.append(h('h2', t('logLines')), version, lines, h('div.acts', button(t('copyReport'), report)), h('p.soft', t('reportWords')));

	// The service adds a sample every few seconds, and the whole hour is sent each time: no sooner than that.
	let drawn = 0;
	async function showHistory() {
		if (Date.now() < drawn) return;
		const {every, samples} = await get('history', signal);
		drawn = Date.now() + every * 1000 - EVERY / 2;
		const at = sample => Date.parse(sample.time);
		const rates = key => samples.slice(1).map((one, place) => [at(one), Math.max(0, one[key] - samples[place][key]) / Math.max(1, (at(one) - at(samples[place])) / 1000)]);
		const values = key => samples.map(one => [at(one), one[key]]);
		charts.replaceChildren(chart(t('chart.served'), rates('served'), value => `${bytes(value)}/s`), chart(t('chart.fetched'), rates('fetched'), value => `${bytes(value)}/s`),
			chart(t('chart.playing'), values('playbacks'), number), chart(t('chart.held'), values('held'), bytes), chart(t('chart.running'), values('downloads'), number));
	}

	function chart(title, points, words) {
		const now = points.at(-1)?.[0] || 0, from = Math.min(points[0]?.[0] ?? now, now - 60_000), top = Math.max(...points.map(point => point[1]), 0);
		const path = points.map(([time, value], place) => `${place ? 'L' : 'M'}${((time - from) / (now - from || 1) * 300).toFixed(1)} ${(58 - value / (top || 1) * 54).toFixed(1)}`).join('');
		const text = t('chartSays', {title, now: words(points.at(-1)?.[1] || 0), top: words(top)});
		return h('figure.panel', h('figcaption', text), svg('svg', {class: 'chart', viewBox: '0 0 300 60', preserveAspectRatio: 'none', role: 'img', 'aria-label': text}, svg('path', {d: path || 'M0 58'})));
	}
	const look = () => Promise.all([showFigures(), showHistory()]);
	const timer = setInterval(() => { if (!document.hidden) look().catch(() => {}); }, EVERY);
	signal.addEventListener('abort', () => clearInterval(timer));

	// ---- Events
	function write() {
		events.replaceChildren(...log.length ? log.map(entry => h('p', h('time.soft', moment(entry.time / 1000, 'medium')), ' ', h('span', {dir: 'auto'}, entry.text),
			entry.count > 1 ? h('span.soft', ` ×${number(entry.count)}`) : '')) : [h('p.soft', t('noEvents'))]);
	}
	const later = waiting(250, write, signal, true);
	for (const name of KINDS) on(name, later, signal);
	write();
	await Promise.all([judge(), look(), showLog()]);
}
