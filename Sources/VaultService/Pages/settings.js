// The settings that a page may change. Those that run programs, and those with secrets, are for the command alone.

import {get, request} from './api.js';
import {hasText} from './texts.js';
import {busy, check, choice, field, h, note, t} from './ui.js';

const DAY = 86_400;  // seconds
const LANGUAGES = '[A-Za-z0-9\\-]{1,35}(\\s*,\\s*[A-Za-z0-9\\-]{1,35})*';
const SIZE = '0|[0-9]+([.][0-9]+)? ?[A-Za-z]{1,3}';
const UNITS = [['TB', 1e12], ['GB', 1e9], ['MB', 1e6], ['kB', 1e3], ['B', 1]];

const listed = value => value ? value.split(/\s*,\s*/) : [];

// A size that means exactly this number of bytes.
function exact(count) {
	if (!count) return '';
	const [unit, factor] = UNITS.find(([, factor]) => Number.isInteger(count / factor * 10) && count >= factor);
	return `${count / factor} ${unit}`;
}

export async function show(main, _, signal) {
	const evict = check(t('set.evictDownloads'));
	let settings = await get('settings', signal);
	const form = h('form'), send = h('button', {type: 'submit', class: 'main'}, t('save'));
	const text = options => h('input', {autocomplete: 'off', ...options}), count = options => text({type: 'number', ...options});
	const size = name => text({pattern: SIZE, title: t(`hint.${name}`)});
	// Each control: how it shows a setting, and what it sends if it was changed.
	const controls = {
		mode: [choice(['default', 'online', 'prefer-vault', 'offline', 'no-store'].map(key => [key, t(key === 'default' ? 'set.modeDefault' : `mode.${key}`)])), value => value || 'default', value => value],
		maxSize: [size('maxSize'), exact, value => value || 0],
		maxAge: [count({min: 0, step: 'any'}), value => value ? String(value / DAY) : '', value => Math.round(Number(value) * DAY)],
		minFree: [size('minFree'), value => value === null ? '' : value === 0 ? '0' : exact(value), value => value === '' ? 'default' : value === '0' ? 0 : value],
		evictDownloads: [evict.box, Boolean, Boolean],
		parallelDownloads: [count({min: 1, max: 16}), String, Number],
		downloadsPerHost: [count({min: 1, max: 16}), String, Number],
		downloadHours: [text({placeholder: '01:00-06:00', pattern: '([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]'}), value => value || '', value => value],
		downloadRate: [count({min: 0, step: 'any'}), value => value ? String(value / 1e6) : '', value => Math.round(Number(value) * 1e6)],
		leastRate: [count({min: 0, step: 'any'}), value => String(value / 1e3), value => Math.round(Number(value) * 1e3)],
		languages: [text({pattern: LANGUAGES, placeholder: 'de,en'}), value => value.join(','), listed],
	};
	const read = control => control.type === 'checkbox' ? control.checked : control.value.trim();
	const fill = () => {
		for (const [name, [control, shown]] of Object.entries(controls)) {
			if (control.type === 'checkbox') control.checked = shown(settings[name]); else control.value = shown(settings[name]);
			control.before = read(control);
		}
	};
	const line = name => name === 'evictDownloads' ? h('p', evict.label)
		: field(t(`set.${name}`), controls[name][0], hasText(`hint.${name}`) && t(`hint.${name}`));
	form.append(h('h2', t('set.vault')), ...['mode', 'maxSize', 'maxAge', 'minFree', 'evictDownloads'].map(line),
		h('h2', t('page.downloads')), ...['parallelDownloads', 'downloadsPerHost', 'downloadHours', 'downloadRate', 'leastRate', 'languages'].map(line),
		h('div.acts', send));
	form.addEventListener('submit', event => {
		event.preventDefault();
		busy(send, async () => {
			const changed = Object.entries(controls).filter(([, [control]]) => read(control) !== control.before);
			if (!changed.length) return note(t('nothingChanged'));
			settings = await request('PATCH', 'settings', Object.fromEntries(changed.map(([name, [control, , sent]]) => [name, sent(read(control))])));
			fill();
			note(t('saved'));
		});
	});
	fill();
	main.append(h('h1', t('page.settings')), h('p.soft', t('settingsWords')), form);
}
