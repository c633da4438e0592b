// The queue as the bar shows it: what plays, what was put behind it, and what follows.

import {iconButton} from './icons.js';
import {panel} from './menu.js';
import {dequeue, onQueue, queued} from './queue.js';
import {button, fail, h, many, nameOf, t} from './ui.js';

const SHOWN = 50;  // titles

// `current` returns what plays, `next` what follows, and `start` plays a title at once.
export function queueButton({current, next, start}) {
	const opener = iconButton('queue', t('queueOf'), () => {}), count = h('span.count', {'aria-hidden': 'true'});
	const body = h('div'), opened = panel(opener, [body], {fill: draw});
	const element = h('span.queue', opener, count, opened);

	function draw() {
		const waits = queued(), now = current();
		body.replaceChildren(h('h2', t('queueOf')),
			now ? h('p', h('small', t('playsNow')), h('br'), h('strong', {dir: 'auto'}, nameOf(now.item))) : '',
			waits.length ? h('ol.lines', {role: 'list'}, waits.slice(0, SHOWN).map((item, place) => h('li.line',
				button(nameOf(item), () => { dequeue(place); opened.hidePopover(); return start(item.id).catch(fail); }, {class: 'plain name', dir: 'auto'}),
				drop(item, place))))
				: h('p.soft', next() ? `${t('nextIs')} ${nameOf(next())}` : t('nothingFollows')));
	}

	const drop = (item, place) => button('×', () => { dequeue(place); (body.querySelector('button') || opener).focus(); },
		{class: 'plain', 'aria-label': `${t('fromQueue')}: ${nameOf(item)}`});

	function tell() {
		const {length} = queued();
		count.textContent = length || '';
		opener.setAttribute('aria-label', opener.title = length ? `${t('queueOf')}: ${many('titles', length)}` : t('queueOf'));
		if (opened.matches(':popover-open')) draw();
	}
	onQueue(tell);
	return Object.assign(element, {relabel: tell});
}
