// What each viewer likes, remembered by their browser: it is no secret of the vault, and names nobody.

import {currentSession} from './api.js';
import {remember} from './ui.js';

// The name of a viewer stands in the browser as a number alone.
function whose() {
	let mix = 2166136261;
	for (const letter of currentSession()?.viewer || '') mix = Math.imul(mix ^ letter.codePointAt(0), 16777619) >>> 0;
	return mix.toString(36);
}

// Returns what is remembered; with a value, remembers it.
export const preference = (name, value) => remember(`${name}.${whose()}`, value);
