// The feeds that the vault follows; they fill the download queue.

import {get, on, query, request} from './api.js';
import {ask, busy, button, check, choice, field, h, many, moment, note, t, waiting, why} from './ui.js';

const PERIODS = [['', 'never'], ['3600', 'hourly'], ['86400', 'daily'], ['604800', 'weekly']];

export async function feeds(main, signal, changed) {
	const list = h('ul.cards', {role: 'list', 'aria-label': t('feeds')});
	const url = h('input', {type: 'url', required: true, placeholder: 'https://…', autocomplete: 'off'});
	const every = choice(PERIODS.map(([key, name]) => [key, t(name)]), '86400');
	const send = h('button.main', {type: 'submit'}, t('addFeed'));
	main.append(h('h2', t('feeds')), list, h('details.panel', h('summary', t('addFeed')), h('form', {on: {submit: event => {
		event.preventDefault();
		busy(send, async () => {
			await request('POST', 'subscriptions', {url: url.value, every: Number(every.value) || null});
			url.value = '';
			await refresh();
		});
	}}}, field(t('feedURL'), url), field(t('every'), every), send)));

	async function refresh() {
		const {subscriptions} = await get('subscriptions', signal);
		list.replaceChildren(...subscriptions.length ? subscriptions.map(show) : [h('li.soft', t('noFeeds'))]);
	}

	const show = feed => h('li',
		h('div.line', h('span.name', {dir: 'auto'}, feed.name), h('span.acts',
			feed.url && button(t('runNow'), () => run(feed)), button(t('remove'), () => remove(feed)))),
		h('p.soft', [feed.url || feed.list, many('titles', feed.titles), feed.nextRun && t('nextRun', {time: moment(feed.nextRun)})]
			.filter(Boolean).join(' · ')),
		feed.problem && h('p.bad-text', why({code: feed.problemCode, detail: feed.problem})));

	async function run(feed) {
		const done = await request('POST', 'syncs', {id: feed.id});
		note([t('ran', {fetched: done.fetched.length, removed: done.removed.length}),
			done.repairs.length && t('repaired', {repairs: done.repairs.join(', ')})].filter(Boolean).join(' '));
		await Promise.all([refresh(), changed()]);
	}

	async function remove(feed) {
		const titles = check(t('removeFeedTitles'));
		if (!await ask(t('removeFeed', {name: feed.name}), [t('removeFeedWords'), titles.label], t('remove'), {danger: true})) return;
		await request('DELETE', query('subscriptions', {id: feed.id, titles: titles.box.checked || ''}));
		await refresh();
	}

	const later = waiting(1500, () => refresh().catch(() => {}), signal, true);
	for (const event of ['download', 'many']) on(event, later, signal);
	await refresh();
}
