// Playlists of HLS (RFC 8216), as values: what they offer to hear and to read, and the same title with another sound.

const MOST = 64;  // renditions of a kind
const MAX_LINES = 100_000, MAX_SEGMENTS = 20_000;
const MAX_NAME = 100;  // characters

const lines = text => text.split(/\r\n|\r|\n/, MAX_LINES).map(line => line.trim());

function attributes(line) {
	const found = {};
	for (const [, name, value] of line.matchAll(/([A-Z0-9-]{1,40})=("[^"]*"|[^",]*)/g)) found[name] ??= value.replaceAll('"', '');
	return found;
}

// Returns the address that a playlist names, if it is media of this service, and nothing of another place.
export function addressOf(uri, base) {
	try {
		const found = new URL(uri, base);
		return found.origin === new URL(base).origin && found.pathname.startsWith('/media/') ? found.href : null;
	} catch {
		return null;
	}
}

const isMember = line => line.startsWith('#EXT-X-MEDIA:');
const member = line => {
	const said = attributes(line), language = /^[A-Za-z0-9-]{1,35}$/.test(said.LANGUAGE || '') ? said.LANGUAGE : null;
	const name = (said.NAME || language || '').slice(0, MAX_NAME);
	return {type: said.TYPE, group: said['GROUP-ID'], name, language, key: `${language || ''} ${name}`, isDefault: said.DEFAULT === 'YES', uri: said.URI};
};

// Returns the sounds and the subtitles of a title, each once even if several groups have it, and its first variant.
export function renditions(text, base) {
	const all = lines(text).filter(isMember).map(member);
	const once = type => {
		const kept = new Map();
		for (const one of all) if (one.type === type && !kept.has(one.key) && kept.size < MOST) kept.set(one.key, one);
		return [...kept.values()];
	};
	const subtitles = once('SUBTITLES').map(one => ({...one, address: addressOf(one.uri, base)})).filter(one => one.uri && one.address);
	return {audio: once('AUDIO'), subtitles, variant: firstVariant(text, base)};
}

function firstVariant(text, base) {
	const all = lines(text), tag = all.findIndex(line => line.startsWith('#EXT-X-STREAM-INF:'));
	const uri = tag < 0 ? null : all.slice(tag + 1).find(line => line && !line.startsWith('#'));
	return uri ? addressOf(uri, base) : null;
}

// Returns the playlist with one sound in each group that has it, and with addresses that hold wherever it lies.
export function withAudio(text, base, key) {
	const all = lines(text), has = new Set(all.filter(isMember).map(member).filter(one => one.type === 'AUDIO' && one.key === key).map(one => one.group));
	const kept = all.filter(line => {
		const one = isMember(line) ? member(line) : null;
		return one?.type !== 'AUDIO' || !has.has(one.group) || one.key === key;
	});
	const absolute = uri => addressOf(uri, base) || new URL('/refused', base).href;
	return kept.map(line => {
		if (line && !line.startsWith('#')) return absolute(line);
		const chosen = isMember(line) && member(line).type === 'AUDIO' && member(line).key === key;
		const as = chosen ? line.replace(/(DEFAULT|AUTOSELECT)=NO/g, '$1=YES') : line;
		return as.replace(/([:,]URI=)"([^"]*)"/g, (_, name, uri) => `${name}"${/^(data|skd):/i.test(uri) ? uri : absolute(uri)}"`);
	}).join('\n');
}

// Returns the segments of a media playlist, each with the seconds that it plays, and what its decoder needs first.
export function segments(text, base) {
	const found = [];
	let start = 0, length = 0, initialization = null;
	for (const line of lines(text)) {
		if (line.startsWith('#EXTINF:')) length = Math.min(Math.max(parseFloat(line.slice(8)) || 0, 0), 86_400);
		else if (line.startsWith('#EXT-X-MAP:')) initialization ??= addressOf(attributes(line).URI || '', base);
		else if (line && !line.startsWith('#')) {
			const address = addressOf(line, base);
			if (address && found.length < MAX_SEGMENTS) found.push({address, start, end: start + length});
			start += length;
			length = 0;
		}
	}
	return {segments: found, initialization};
}
