// What the system shows and does with its own keys: the lock screen, a headset, the keys of a keyboard.

import {coverOf} from './covers.js';
import {nameOf} from './ui.js';

// Each act is left out where the browser does not know it.
export function control(acts) {
	for (const [name, act] of Object.entries(acts)) try { navigator.mediaSession?.setActionHandler(name, act); } catch { /* an older browser */ }
}

export async function tell(item, isCurrent) {
	if (!navigator.mediaSession || typeof MediaMetadata === 'undefined') return;
	const {artist = '', album = '', series = ''} = item.tags || {};
	const show = artwork => {
		navigator.mediaSession.metadata = new MediaMetadata({title: nameOf(item), artist: artist || '', album: album || series || '', artwork});
	};
	show([]);
	const address = await coverOf(item);
	if (address && isCurrent()) show([{src: address}]);
}

export function tellPlace(position, duration, playbackRate, isPlaying) {
	if (!navigator.mediaSession) return;
	navigator.mediaSession.playbackState = isPlaying ? 'playing' : 'paused';
	if (duration > 0 && Number.isFinite(duration)) navigator.mediaSession.setPositionState?.({position: Math.min(position, duration), duration, playbackRate});
}

export function tellNothing() {
	if (navigator.mediaSession) Object.assign(navigator.mediaSession, {metadata: null, playbackState: 'none'});
}
