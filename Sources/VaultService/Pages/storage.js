// What takes the disk, and the limits.

import {get, on, query} from './api.js';
import {amounts, bar, bytes, facts, h, heldText, many, moment, nameOf, number, part, rangeBar, t, waiting} from './ui.js';

const SHOWN = 10;  // of the largest titles
const CLASSES = ['pinned', 'download', 'cache'];
const KINDS = {pinned: 'held', download: 'origin', cache: 'unstored'};

export async function show(main, _, signal) {
	const figures = h('dl.facts.panel'), trouble = h('p.bad-text', {role: 'status'}), classes = h('div'), largest = h('ul.cards'), going = h('ul.cards'), limits = h('dl.facts.panel');
	main.append(h('h1', t('page.storage')), trouble, figures, h('h2', t('byClass')), classes, h('h2', t('largest')), largest,
		h('h2', t('goesNext')), h('p.soft', t('goesNextWords')), going, h('h2', t('limits')), limits, h('p', h('a', {href: '#/settings'}, t('changeLimits'))));
	async function refresh() {
		const [status, settings, next, {resources: items}] = await Promise.all([get('status', signal), get('settings', signal), get(query('evictions', {limit: SHOWN}), signal),
			get(query('resources', {sort: 'held', limit: SHOWN}), signal)]);
		trouble.textContent = status.storeFailure ? t('storeFails', {why: status.storeFailure}) : '';
		facts(figures, [['titles', number(status.resources)], ['heldBytes', bytes(status.bytes)], ['used', bytes(status.used)], next.free !== null && ['free', bytes(next.free)], ['evicted', bytes(status.evicted)]]);
		facts(limits, [['maxSize', settings.maxSize ? bytes(settings.maxSize) : t('noLimit')],
			['maxAge', settings.maxAge ? many('days', Math.round(settings.maxAge / 86_400)) : t('noLimit')],
			['minFree', settings.minFree === null ? t('minFreeDefault') : bytes(settings.minFree)],
			['evictDownloads', t(settings.evictDownloads ? 'yes' : 'no')]]);
		const room = next.maxSize === null ? null : next.maxSize - next.used;
		going.replaceChildren(...next.next.length ? next.next.map(item => h('li', h('div.line',
			h('a.name', {href: `#/titles/${item.id || ''}`, dir: 'auto'}, nameOf(item)),
			h('span.soft', [bytes(item.bytes), t(`class.${item.class}`), t('playedAt', {time: moment(item.accessed)}), item.expires && t('goesAt', {time: moment(item.expires)})].filter(Boolean).join(' · ')))))
			: [h('li.soft', t('goesNone'))]);
		if (room !== null) going.prepend(h('li.soft', room > 0 ? t('roomLeft', {bytes: bytes(room)}) : t('roomNone')));
		const sums = CLASSES.map(kind => next.classes[kind]);
		const all = sums.reduce((sum, one) => sum + one, 0);
		let end = 0;
		const words = CLASSES.map((kind, place) => `${t(`class.${kind}`)}: ${bytes(sums[place])} (${part(all ? sums[place] / all : 0)})`);
		classes.replaceChildren(rangeBar(words.join(', '), CLASSES.map((kind, place) => [end, end += sums[place], KINDS[kind]]).filter(([from, to]) => to > from), all, run => run[2]),
			h('p.legend.soft', CLASSES.map((kind, place) => h('span', h('span', {class: `key ${KINDS[kind]}`}), words[place]))));
		const top = amounts(items[0] || {bytes: 0}).held || 1;
		largest.replaceChildren(...items.map(item => {
			const name = nameOf(item), show = bar(amounts(item).held / top, name);
			show.classList.add('sum');
			return h('li', h('div.line', h('a.name', {href: `#/titles/${item.id || ''}`, dir: 'auto'}, name), h('span.soft', bytes(amounts(item).held), ', ', heldText(item))), show);
		}));
	}

	const later = waiting(1000, () => refresh().catch(() => {}), signal, true);
	for (const event of ['store', 'many']) on(event, later, signal);
	await refresh();
}
