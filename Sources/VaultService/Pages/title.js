// One title: what is held of it, byte by byte, where its last bytes came from, and what can be done with it.

import {get, on, query, request} from './api.js';
import {amounts, ask, button, bytes, check, choice, facts, fail, field, h, heldText, many, moment, nameOf, note, number, percent, rangeBar, row, t, table, waiting, word} from './ui.js';
import {showCover} from './covers.js';
import {remove, rename, shred, togglePin} from './titles.js';
import {makeLink} from './access.js';
import {share} from './viewers.js';

const MODES = ['', 'online', 'prefer-vault', 'offline', 'no-store'];
const SOURCES = ['vault', 'origin', 'unstored'];
const SHOWN = 20;  // ranges in words

// The name of a title as that of a file, with the suffix that its address has.
function fileName(item) {
	const suffix = /\.[a-z0-9]{1,5}$/i.exec(item.url.split(/[?#]/)[0])?.[0] || '';
	const name = nameOf(item).replace(/[/\\:*?"<>|\p{Cc}]/gu, '_').replace(/^[. ]+/, '').slice(0, 150) || 'title';
	return name.toLowerCase().endsWith(suffix.toLowerCase()) ? name : name + suffix;
}

export async function show(main, id, signal) {
	let item = await get(`resources/${encodeURIComponent(id)}`, signal);
	const heading = h('h1', {dir: 'auto'}), figures = h('dl.facts.panel'), map = h('div'), origins = h('div'), receipts = h('div'), cover = h('span.cover', {hidden: true});
	const pin = button('', () => togglePin(item).then(refresh));
	const leave = gone => { if (gone && !signal.aborted) location.hash = '#/titles'; };
	const mode = choice(MODES.map(key => [key, t(`mode.${key || 'default'}`)]), item.mode || '', {'aria-label': t('mode')});
	mode.addEventListener('change', () => request(mode.value ? 'PUT' : 'DELETE', `resources/${id}/mode`, mode.value ? {mode: mode.value} : undefined)
		.then(() => note(t('done'))).catch(fail));
	const whole = button(t('fetchRest'), async () => {
		await request('POST', 'downloads', {downloads: [{id}]});
		note(many('queued', 1));
	});
	const copyHole = h('p.soft', {id: 'copyhole'}, t('saveCopyHole')), copy = button(t('saveCopy'), saveCopy, {'aria-describedby': copyHole.id});
	main.append(h('p', h('a', {href: '#/titles'}, t('allTitles'))), heading,
		h('div.acts', h('a', {href: `#/play/${id}`}, t('play')), pin, whole, button(t('rename'), () => rename(item).then(refresh)),
			button(t('makeLink'), () => makeLink(item)), button(t('setCover'), chooseCover), button(t('share'), () => share(item)), copy, mode, button(t('remove'), () => remove(item).then(leave), {class: 'danger'}),
			button(t('shred'), () => shred(item).then(leave), {class: 'danger'})),
		copyHole, cover, figures, h('h2', t('byteMap')), map,
		h('h2', t('cameFrom')), h('p.legend.soft', SOURCES.map(source => h('span', h('span', {class: `key ${source === 'vault' ? 'held' : source}`}), t(`source.${source}`)))), origins,
		h('h2', t('receipts')), receipts);

	function draw() {
		const {size, share} = amounts(item);
		heading.textContent = nameOf(item);
		drawCover();
		pin.textContent = t(item.class === 'pinned' ? 'unpin' : 'pin');
		whole.hidden = share === 1;
		copy.disabled = share !== 1;
		copyHole.hidden = share === 1;
		facts(figures, [['held', heldText(item)], ['size', size === null ? '?' : bytes(size)], ['class', t(`class.${item.class}`)],
			['id', item.id], ['type', item.type || '?'], ['added', moment(item.added)], ['played', moment(item.accessed > item.added ? item.accessed : item.added)],
			['generation', number(item.generation)], ['url', item.url], item.title && ['files', number(item.title.resources)]]);
		const {held} = amounts(item);
		const words = item.held.slice(0, SHOWN).map(([first, end]) => `${number(first)}–${number(end - 1)}`).join(', ');
		map.replaceChildren(item.title ? rangeBar(heldText(item), share === 1 ? [[0, 1]] : [], 1) : rangeBar(heldText(item), item.held, item.size),
			h('p.soft', item.title ? t('mapOfFiles', {held: bytes(held)}) : t('ranges', {words: words || '–'})));
	}

	let shownCover = null;
	function drawCover() {
		if (shownCover === item.cover) return;
		shownCover = item.cover;
		cover.hidden = !item.cover;
		cover.replaceChildren();
		const tag = item.cover;
		showCover(cover, item, () => shownCover === tag);
	}

	async function chooseCover() {
		const file = h('input', {type: 'file', accept: 'image/jpeg,image/png,image/webp', required: true});
		const away = check(t('removeCover'), {on: {change: () => { file.disabled = away.box.checked; }}});
		if (!await ask(t('setCover'), [field(t('coverFile'), file, t('coverWords')), away.label], t('save'))) return;
		if (away.box.checked) await request('DELETE', `resources/${id}/cover`);
		else {
			const bytes = new Uint8Array(await file.files[0].arrayBuffer()), parts = [];
			for (let i = 0; i < bytes.length; i += 0x8000) parts.push(String.fromCharCode(...bytes.subarray(i, i + 0x8000)));
			await request('PUT', `resources/${id}/cover`, {image: btoa(parts.join(''))});
		}
		await refresh();
	}

	// Saves the bytes as the origin sent them. A folder of several files is for the command: a browser saves one file.
	async function saveCopy() {
		const isManifest = item.kind || item.title || /mpegurl|dash\+xml/i.test(item.type || '');
		if (isManifest) return void await ask(t('saveCopy'), [t('saveCopyFolder')], null, {cancel: t('close')});
		if (!await ask(t('saveCopyOf', {name: nameOf(item)}), [t('saveCopyWords')], t('saveCopyAct'))) return;
		const {path} = await request('POST', 'links', {id}, signal);
		if (!path.startsWith('/media/')) throw new Error(t('failed'));
		h('a', {href: path, download: fileName(item)}).click();
	}

	async function drawOrigins() {
		const {answers, size} = await get(`resources/${id}/explanation`, signal);
		const whole = size || Math.max(1, ...answers.flatMap(answer => answer.runs.map(run => run.end)));
		origins.replaceChildren(...answers.length ? answers.map(answer => {
			const sums = SOURCES.map(source => [source, answer.runs.filter(run => run.source === source).reduce((sum, run) => sum + run.end - run.first, 0)]);
			const all = sums.reduce((sum, [, count]) => sum + count, 0) || 1;
			const says = sums.filter(([, count]) => count).map(([source, count]) => t('shareFrom', {share: percent(count / all), source: t(`source.${source}`)})).join(', ');
			const text = `${answer.ended ? moment(answer.ended, 'medium') : t('stillRuns')}, ${bytes(answer.bytes)}: ${says || '–'}`;
			return h('figure', h('figcaption', text),
				rangeBar(text, answer.runs.map(run => [run.first, run.end, run.source]), whole, run => run[2]));
		}) : [h('p.soft', t('noAnswers'))]);
	}

	async function drawReceipts() {
		const audit = await get(query('audit', {id}), signal);
		receipts.replaceChildren(table(t('receipts'), [t('number'), t('time'), t('act'), t('outcome')], audit.receipts.reverse().map(receipt => row(
			number(receipt.sequence), moment(receipt.time), word('receipt', receipt.act), word('outcome', receipt.outcome))), t('noReceipts')));
	}

	async function refresh() {
		item = await get(`resources/${id}`, signal);
		draw();
	}

	const later = waiting(2000, drawOrigins, signal, true);
	on('resource', change => {
		if (change.id !== id) return;
		item = change.resource;
		draw();
		later();
	}, signal);
	on('removed', change => leave(change.id === id), signal);
	on('many', () => refresh().catch(fail), signal);
	draw();
	await Promise.all([drawOrigins(), drawReceipts()]);
}
