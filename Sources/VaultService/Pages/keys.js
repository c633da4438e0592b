// The keys: each generation and what hangs on it, the acts on them, and the signed receipts of those acts.

import {get, operation, request} from './api.js';
import {ask, bar, button, bytes, facts, h, moment, note, number, row, t, table, word} from './ui.js';

const SHOWN = 100;  // receipts

export async function show(main, _, signal) {
	const figures = h('dl.facts.panel'), generations = h('div'), receipts = h('div'), slots = h('div');
	const progress = bar(0, t('progress')), says = h('p', {role: 'status'}), work = h('div', {hidden: true}, says, progress);
	main.append(h('h1', t('page.keys')), figures, h('div.acts',
		button(t('rotate'), async () => {
			if (!await ask(t('rotateAsk'), [t('rotateWords')], t('rotate'))) return;
			await request('POST', 'rotations', {});
			await refresh();
		}),
		button(t('rewrap'), () => run('rewraps', told => [told.total ? told.keys / told.total : 1, t('rewrapSays', {keys: number(told.keys), total: number(told.total)})],
			done => t('rewrapDone', {keys: number(done.keys), generation: done.generation}))),
		button(t('reseal'), async () => {
			if (!await ask(t('resealAsk'), [t('resealWords')], t('reseal'))) return;
			await run('reseals', told => [told.bytesTotal ? told.bytes / told.bytesTotal : 1, t('resealSays', {bytes: bytes(told.bytes), total: bytes(told.bytesTotal)})],
				() => t('resealDone'));
		}),
		button(t('lock'), async () => {
			if (!await ask(t('lockAsk'), [t('lockWords'), t('lockMore')], t('lock'), {danger: true})) return;
			await request('POST', 'locks');
			note(t('locked'));
			await refresh().catch(() => {});
		}, {class: 'danger'})), work,
	h('h2', t('generations')), generations, h('h2', t('slots')), h('p.soft', t('slotsWords')), slots, h('h2', t('receipts')), receipts);

	// Runs a long operation and shows how far it is.
	async function run(path, tell, end) {
		work.hidden = false;
		try {
			const done = await operation(path, {}, told => {
				const [share, text] = tell(told);
				progress.show(share);
				says.textContent = text;
			}, signal);
			progress.show(1);
			says.textContent = end(done);
		} catch (error) {
			work.hidden = true;
			throw error;
		}
		await refresh();
	}

	function retire(generation) {
		return button(t('retire'), async () => {
			if (!await ask(t('retireAsk', {number: generation.number}), [t('retireWords'),
				generation.backups && t('retireBackups', {count: number(generation.backups)})].filter(Boolean), t('retire'), {danger: true})) return;
			await request('POST', 'retirements', {generation: generation.number});
			await refresh();
		}, {'aria-label': `${t('retire')}: ${t('generation')} ${number(generation.number)}`});
	}

	async function refresh() {
		const [keys, audit, status, keyring] = await Promise.all(['keys', 'audit', 'status', 'keyring'].map(path => get(path, signal)));
		facts(figures, [['current', number(keys.current)], ['runningAct', keys.act || '–'],
			['unlockedBy', status.unlock.restsWithVault ? t('unlockedHere', {method: t(`method.${status.unlock.method}`)}) : t(`method.${status.unlock.method}`)],
			['memory', t(status.keysLocked ? 'memoryLocked' : 'memoryLoose')]]);
		generations.replaceChildren(table(t('generations'), [t('number'), t('stateOf'), t('created'), t('titlesOnIt'), t('bytesOnIt'), t('backups'), t('acts')],
			keys.generations.map(one => row(number(one.number), t(`generation.${one.state}`), moment(one.created), number(one.titles),
				bytes(one.bytes), number(one.backups), one.state === 'active' && !one.resources ? retire(one) : one.resources ? t('stillNeeded') : '–')), t('none')));
		slots.replaceChildren(table(t('slots'), [t('number'), t('sort.name'), t('method')], keyring.slots.map(slot => row(
			number(slot.number), slot.label, t(`method.${slot.method}`))), t('none')));
		const last = audit.receipts.slice(-SHOWN).reverse();
		receipts.replaceChildren(
			h('p', {class: audit.sound ? 'good-text' : 'bad-text'}, !audit.receipts.length && audit.sound ? t('noReceipts')
				: audit.sound ? t(audit.anchored ? 'auditSound' : 'auditLoose', {count: number(audit.receipts.length)})
					: t('auditBad', {faults: audit.faults.map(fault => `${fault.line}: ${fault.kind}`).join(', ')})),
			last.length ? table(t('receipts'), [t('number'), t('time'), t('act'), t('outcome'), t('generation'), t('keysChanged')], last.map(receipt => row(
				number(receipt.sequence), moment(receipt.time, 'medium'), word('receipt', receipt.act), word('outcome', receipt.outcome), number(receipt.generation),
				receipt.resources === undefined ? '–' : number(receipt.resources))), '') : '');
	}

	const timer = setInterval(() => { if (!document.hidden && work.hidden) refresh().catch(() => {}); }, 15_000);
	signal.addEventListener('abort', () => clearInterval(timer));
	await refresh();
}
