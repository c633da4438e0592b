// Subtitles in WebVTT, as values: text in, cues out. Whatever the text says is bounded here, and only its cues count:
// its styles and regions, which could name something to fetch, are passed over.

const MAX_LINES = 400_000;  // of one text
const MAX_TEXT = 1000;  // characters of a cue
const MAX_CUES = 20_000;  // of one rendition
const LONGEST = 600;  // seconds that a cue shows
const SPAN = 10, PER_SPAN = 100;  // at most so many cues touch so many seconds
const WRAP = 2 ** 33;  // MPEG-2 timestamps begin again there

const TIME = /^(?:(\d{1,4}):)?([0-5]\d):([0-5]\d)[.,](\d{3})$/;
const TIMING = /^[ \t]{0,9}([\d:.,]{9,14})[ \t]{1,9}-->[ \t]{1,9}([\d:.,]{9,14})((?:[ \t].*)?)$/;
const PERCENT = /^(\d{1,3}(?:\.\d{1,6})?)%(?:,\S*)?$/;

// Returns the seconds of a timestamp; null if it is none.
function seconds(text) {
	const parts = TIME.exec(text);
	return parts && (Number(parts[1] || 0) * 60 + Number(parts[2])) * 60 + Number(parts[3]) + parts[4] / 1000;
}

const share = text => {
	const parts = PERCENT.exec(text), value = parts ? Number(parts[1]) : NaN;
	return value >= 0 && value <= 100 ? value : undefined;
};
const one = (...words) => text => words.includes(text) ? text : undefined;
const line = text => /^-?\d{1,2}(?:,|$)/.test(text) ? parseInt(text, 10) : share(text);
const SETTINGS = {vertical: one('rl', 'lr'), align: one('start', 'center', 'end', 'left', 'right'), position: share, size: share, line};

// Returns the settings of a cue that may stand: a region, or anything unknown, may not.
function settings(text) {
	const kept = {};
	for (const part of text.slice(0, 200).split(/[ \t]+/)) {
		const [name, ...rest] = part.split(':'), read = Object.hasOwn(SETTINGS, name) && SETTINGS[name], value = read ? read(rest.join(':')) : undefined;
		if (value !== undefined) kept[name] = value;
		if (name === 'line' && value !== undefined) kept.snapToLines = !rest.join(':').includes('%');
	}
	return kept;
}

// Reads a WebVTT text: its cues, and the pair of times that X-TIMESTAMP-MAP says (RFC 8216 §3.5); null if it is none.
export function parse(text) {
	if (!/^\uFEFF?WEBVTT(?:[ \t\r\n]|$)/.test(text.slice(0, 8))) return null;
	const lines = text.split(/\r\n|\r|\n/, MAX_LINES), cues = [];
	let at = 0, map = null;
	for (; at < lines.length && lines[at] !== ''; at++) map ??= timestampMap(lines[at].slice(0, 200));
	for (; at < lines.length && cues.length < MAX_CUES; at++) {
		const timing = TIMING.exec(lines[at].slice(0, 300));
		if (!timing) continue;
		const start = seconds(timing[1]), end = seconds(timing[2]), told = [];
		let length = 0;
		for (; at + 1 < lines.length && lines[at + 1] !== '' && !lines[at + 1].includes('-->'); at++) {
			if (length < MAX_TEXT) told.push(lines[at + 1].slice(0, MAX_TEXT - length));
			length += lines[at + 1].length + 1;
		}
		if (start !== null && end !== null && end > start && told.length)
			cues.push({start, end: Math.min(end, start + LONGEST), text: told.join('\n').replaceAll('\0', ''), settings: settings(timing[3])});
	}
	return {cues, map};
}

function timestampMap(text) {
	if (!text.startsWith('X-TIMESTAMP-MAP=')) return null;
	const local = seconds(/LOCAL:([\d:.]{9,14})(?:,|$)/.exec(text)?.[1] || ''), ticks = /MPEGTS:(\d{1,15})(?:,|$)/.exec(text)?.[1];
	return local === null || ticks === undefined ? null : {local, ticks: Number(ticks) % WRAP};
}

// Returns how many seconds later than a text says its cues show, if the title begins at these ticks of 90 kHz. Without
// them, what the map names is taken for the beginning.
export function shift(map, begins) {
	if (!map) return 0;
	const apart = begins === null ? 0 : (map.ticks - begins + 1.5 * WRAP) % WRAP - WRAP / 2;
	return apart / 90_000 - map.local;
}

// Returns a judge of cues, which takes no cue twice (a cue stands in each segment that it shows in), and not more at a
// time than a screen can show.
export function room() {
	const seen = new Set(), spans = new Map();
	return ({start, end, text}) => {
		const key = `${start.toFixed(3)} ${end.toFixed(3)} ${text}`, touched = [];
		for (let span = Math.floor(start / SPAN); span * SPAN < end; span++) touched.push(span);
		if (seen.size >= MAX_CUES || seen.has(key) || touched.some(span => (spans.get(span) || 0) >= PER_SPAN)) return false;
		seen.add(key);
		for (const span of touched) spans.set(span, (spans.get(span) || 0) + 1);
		return true;
	};
}

// ---- Where the title begins

// Returns the ticks of 90 kHz that a first segment begins at, of MPEG-2 TS or of fragmented MP4; null if it does not say.
export function beginning(segment, initialization) {
	if (segment[0] === 0x47) return beginningOfStream(segment);
	const head = initialization && box(initialization, ['moov', 'trak', 'mdia', 'mdhd']), time = box(segment, ['moof', 'traf', 'tfdt']);
	if (!head || !time || head.byteLength < 24 || time.byteLength < 8) return null;
	const scale = head.getUint32(head.getUint8(0) ? 20 : 12);
	if (time.getUint8(0) && time.byteLength < 12 || !scale) return null;
	const at = time.getUint8(0) ? Number(time.getBigUint64(4)) : time.getUint32(4);
	return Math.round(at / scale * 90_000) % WRAP;
}

// The least timestamp of the packets that begin a picture or a sound (ISO/IEC 13818-1 §2.4.3).
function beginningOfStream(bytes) {
	let least = null;
	for (let at = 0; at + 188 <= bytes.length && bytes[at] === 0x47; at += 188) {
		const start = at + 4 + (bytes[at + 3] & 0x20 ? 1 + bytes[at + 4] : 0);
		const begins = bytes[at + 1] & 0x40 && start + 14 <= at + 188 && !bytes[start] && !bytes[start + 1] && bytes[start + 2] === 1;
		if (!begins || !(bytes[start + 7] & 0x80)) continue;
		const [high, b, c, d, e] = bytes.subarray(start + 9, start + 14);
		const ticks = (high >> 1 & 7) * 2 ** 30 + (b << 22 | c >> 1 << 15 | d << 7 | e >> 1);
		if (least === null || ticks < least) least = ticks;
	}
	return least;
}

// Returns what is in the first box of this path (ISO/IEC 14496-12 §4.2).
function box(bytes, path) {
	let view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	for (const name of path) {
		let at = 0, found = null;
		while (!found && at + 8 <= view.byteLength) {
			const length = view.getUint32(at), type = String.fromCharCode(...[4, 5, 6, 7].map(place => view.getUint8(at + place)));
			if (type === name) found = new DataView(view.buffer, view.byteOffset + at + 8, Math.max(0, Math.min(length, view.byteLength - at) - 8));
			if (length < 8) break;
			at += length;
		}
		if (!found) return null;
		view = found;
	}
	return view;
}
