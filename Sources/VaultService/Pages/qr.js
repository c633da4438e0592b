// QR codes of short texts (ISO/IEC 18004): bytes, error correction of level L, versions 1 to 6.

import {svg} from './ui.js';

// Of each version: how many bytes of data it has, in how many blocks, and how many bytes correct each block.
const VERSIONS = [[19, 1, 7], [34, 1, 10], [55, 1, 15], [80, 1, 20], [108, 1, 26], [136, 2, 18]];
const FORMAT = 0x77c4;  // level L, mask 0, with their own correction
const QUIET = 4;  // modules around the code

// Multiplication in the field of 256 elements that the standard uses.
function times(a, b) {
	let product = 0;
	for (let bit = 7; bit >= 0; bit--) product = (product << 1) ^ (product >> 7) * 0x11d ^ (b >> bit & 1) * a;
	return product;
}

function correction(data, count) {
	let generator = [1];
	for (let i = 0, root = 1; i < count; i++, root = times(root, 2))
		generator = [...generator, 0].map((one, place) => one ^ times(place ? generator[place - 1] : 0, root));
	const rest = new Array(count).fill(0);
	for (const byte of data) {
		const factor = byte ^ rest.shift();
		rest.push(0);
		for (let i = 0; i < count; i++) rest[i] ^= times(generator[i + 1], factor);
	}
	return rest;
}

function codewords(bytes, [capacity, blocks, errors]) {
	// Four bits say that bytes follow, and eight how many, so that all else is moved by half a byte.
	const all = [4, bytes.length, ...bytes, 0], data = [];
	for (let i = 1; i < all.length; i++) data.push((all[i - 1] & (i === 1 ? 255 : 15)) << 4 & 255 | all[i] >> 4);
	while (data.length < capacity) data.push(0xec, 0x11);
	data.length = capacity;
	const size = capacity / blocks, parts = Array.from({length: blocks}, (_, i) => data.slice(i * size, (i + 1) * size));
	const woven = lists => lists[0].flatMap((_, place) => lists.map(list => list[place]));
	return [...woven(parts), ...woven(parts.map(part => correction(part, errors)))];
}

// Returns the rows of a code, true for a dark module; null if the text is too long.
export function modules(text) {
	const bytes = new TextEncoder().encode(text), version = VERSIONS.findIndex(([capacity]) => bytes.length + 2 <= capacity) + 1;
	if (!version) return null;
	const size = 17 + 4 * version, rows = Array.from({length: size}, () => new Array(size).fill(null));
	const set = (x, y, isDark) => { if (x >= 0 && y >= 0 && x < size && y < size) rows[y][x] = isDark; };
	const square = (x, y, radius, isDark) => {
		for (let dy = -radius; dy <= radius; dy++) for (let dx = -radius; dx <= radius; dx++) set(x + dx, y + dy, isDark(Math.max(Math.abs(dx), Math.abs(dy))));
	};
	for (let i = 0; i < size; i++) { set(6, i, i % 2 === 0); set(i, 6, i % 2 === 0); }
	for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) square(x, y, 4, far => far !== 2 && far !== 4);
	if (version > 1) square(size - 7, size - 7, 2, far => far !== 1);
	const bit = i => (FORMAT >> i & 1) === 1;
	for (let i = 0; i < 15; i++) {
		if (i < 8) { set(8, i < 6 ? i : i + 1, bit(i)); set(size - 1 - i, 8, bit(i)); }
		else { set(i === 8 ? 7 : 14 - i, 8, bit(i)); set(8, size - 15 + i, bit(i)); }
	}
	set(8, size - 8, true);
	const words = codewords(bytes, VERSIONS[version - 1]);
	let place = 0;
	for (let right = size - 1, isUp = true; right > 0; right -= 2, isUp = !isUp) {
		if (right === 6) right--;  // the column of the timing pattern
		for (let step = 0; step < size; step++) for (const x of [right, right - 1]) {
			const y = isUp ? size - 1 - step : step;
			if (rows[y][x] !== null) continue;
			const dark = (words[place >> 3] >> (7 - (place & 7)) & 1) === 1;
			rows[y][x] = dark !== ((x + y) % 2 === 0);
			place++;
		}
	}
	return rows;
}

export function code(text, label) {
	const rows = modules(text);
	if (!rows) return null;
	const size = rows.length + 2 * QUIET;
	const path = rows.flatMap((row, y) => row.map((isDark, x) => isDark ? `M${x + QUIET} ${y + QUIET}h1v1h-1z` : '')).join('');
	return svg('svg', {viewBox: `0 0 ${size} ${size}`, class: 'code', role: 'img', 'aria-label': label},
		svg('rect', {width: size, height: size, fill: '#fff'}), svg('path', {d: path, fill: '#000'}));
}
