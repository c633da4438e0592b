// One title: what is held of it, byte by byte, where its last bytes came from, and what can be done with it.

import {get, on, query, request} from './api.js';
import {amounts, ask, button, bytes, check, choice, facts, fail, field, h, heldText, many, moment, nameOf, note, number, percent, rangeBar, row, t, table, waiting, word} from './ui.js';
import {paint} from './card.js';
import {showCover} from './covers.js';
import {menu} from './menu.js';
import {queueActs} from './queue.js';
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
	const heading = h('h1', {dir: 'auto'}), figures = h('dl.facts.panel'), map = h('div'), origins = h('div'), receipts = h('div'), cover = h('span.cover', {'aria-hidden': 'true'}), says = h('span');
	const leave = gone => { if (gone && !signal.aborted) location.hash = '#/titles'; };
	const mode = choice(MODES.map(key => [key, t(`mode.${key || 'default'}`)]), item.mode || '');
	mode.addEventListener('change', () => request(mode.value ? 'PUT' : 'DELETE', `resources/${id}/mode`, mode.value ? {mode: mode.value} : undefined)
		.then(() => note(t('done'))).catch(fail));
	const fetchRest = async () => {
		await request('POST', 'downloads', {downloads: [{id}]});
		note(many('queued', 1));
	};
	// One act stands out; the others are in a menu, and those that end the title are at the end of the page.
	const more = h('button', {type: 'button'}, t('moreActs'));
	menu(more, () => {
		const isWhole = amounts(item).share === 1;
		return [...queueActs(item), null,
			[t(item.class === 'pinned' ? 'unpin' : 'pin'), () => togglePin(item).then(refresh)], ...isWhole ? [] : [[t('fetchRest'), fetchRest]],
			[t('rename'), () => rename(item).then(refresh)], [t('setCover'), chooseCover], [t('addSubtitles'), addSubtitles],
			...item.subtitles.map(language => [t('removeSubtitles', {language}), () => request('DELETE', query(`resources/${id}/subtitles`, {language})).then(refresh)]), null,
			[t('share'), () => share(item)], [t('makeLink'), () => makeLink(item)],
			[t('saveCopy'), saveCopy, {disabled: !isWhole, title: isWhole ? null : t('saveCopyHole')}]];
	});
	const words = h('div.ends', h('div', h('p', t('removeSays')), button(t('remove'), () => remove(item).then(leave))),
		h('div', h('p', t('shredSays')), button(t('shred'), () => shred(item).then(leave), {class: 'danger'})));
	main.append(h('p', h('a', {href: '#/titles'}, t('allTitles'))), h('div.title', cover, h('div', heading, h('p.soft', says),
		h('div.acts', h('a.main', {href: `#/play/${id}`}, t('play')), more), field(t('mode'), mode))), figures, h('h2', t('byteMap')), map,
		h('h2', t('cameFrom')), h('p.legend.soft', SOURCES.map(source => h('span', h('span', {class: `key ${source === 'vault' ? 'held' : source}`}), t(`source.${source}`)))), origins,
		h('h2', t('receipts')), receipts, h('h2', t('titleEnds')), words);

	function draw() {
		const {size, share} = amounts(item);
		heading.textContent = nameOf(item);
		drawCover();
		says.textContent = [heldText(item), t(`class.${item.class}`), share === 1 ? '' : t('saveCopyHole')].filter(Boolean).join(' · ');
		facts(figures, [['held', heldText(item)], ['size', size === null ? '?' : bytes(size)], ['class', t(`class.${item.class}`)],
			['id', item.id], ['type', item.type || '?'], ['added', moment(item.added)], ['played', moment(item.accessed > item.added ? item.accessed : item.added)],
			['generation', number(item.generation)], ['url', item.url], item.title && ['files', number(item.title.resources)],
			item.title?.otherAudio.length && ['otherAudio', item.title.otherAudio.join(', ')], item.title?.otherSubtitles.length && ['otherSubtitles', item.title.otherSubtitles.join(', ')],
			item.subtitles.length && ['subtitles', item.subtitles.join(', ')]]);
		const {held} = amounts(item);
		const words = item.held.slice(0, SHOWN).map(([first, end]) => `${number(first)}–${number(end - 1)}`).join(', ');
		map.replaceChildren(item.title ? rangeBar(heldText(item), share === 1 ? [[0, 1]] : [], 1) : rangeBar(heldText(item), item.held, item.size),
			h('p.soft', item.title ? t('mapOfFiles', {held: bytes(held)}) : t('ranges', {words: words || '–'})));
	}

	let shownCover;
	function drawCover() {
		if (shownCover === item.cover) return;
		shownCover = item.cover;
		paint(cover, item);
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

	// The language is asked, unless the name of the file says it. What is not UTF-8 is most likely Windows-1252.
	async function addSubtitles() {
		const file = h('input', {type: 'file', accept: '.srt,.vtt', required: true});
		const language = h('input', {required: true, maxlength: 35, pattern: '[A-Za-z0-9\\-]+', autocomplete: 'off', spellcheck: 'false', placeholder: 'de'});
		file.addEventListener('change', () => { language.value ||= /\.([a-z]{2,3}(?:-[a-z0-9]{1,8})*)\.[a-z]+$/i.exec(file.files[0]?.name)?.[1] || ''; });
		if (!await ask(t('addSubtitles'), [field(t('subtitleFile'), file, t('subtitleWords')), field(t('language'), language)], t('save'))) return;
		const bytes = await file.files[0].arrayBuffer(), read = (as, fatal) => new TextDecoder(as, {fatal}).decode(bytes);
		let text;
		try { text = read('utf-8', true); } catch { text = read('windows-1252', false); }
		await request('PUT', `resources/${id}/subtitles`, {language: language.value.trim(), text});
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
