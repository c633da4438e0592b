// The timer for those who fall asleep: playing ends after some minutes, or with the title.

import {choice, note, t} from './ui.js';

const MINUTES = [15, 30, 60];
const END = 'end';  // of the title

// `pause` is called when the time is over.
export function sleepTimer(pause) {
	let timer = null;
	const select = choice([['', t('sleepOff')], ...MINUTES.map(minutes => [String(minutes), t('sleepIn', {minutes})]), [END, t('sleepEnd')]], '',
		{on: {change: () => set()}});

	function set() {
		clearTimeout(timer);
		timer = Number(select.value) ? setTimeout(over, select.value * 60_000) : null;
	}

	function over() {
		select.value = '';
		set();
		pause();
		note(t('sleeps'));
	}

	// Whether playing ends with this title; if so, the timer is used up.
	select.endsHere = () => {
		const ends = select.value === END;
		if (ends) select.value = '';
		return ends;
	};
	return select;
}
