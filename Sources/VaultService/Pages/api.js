// The service: its session, its requests, and its events. Nothing else in these pages uses the network.

const BASE = '/api/v1/';
const LONGEST_WAIT = 30_000;  // milliseconds between two tries to connect

// What the service refused, in its own words.
export class Problem extends Error {
	constructor(status, document = {}) {
		super(document.detail || document.title || `HTTP ${status}`);
		this.status = status;
		this.document = document;
	}
}

// The service could not be reached at all.
export class Unreached extends Error {}

// The cookie of the session is out of reach here; it is sent to every port of the host, so that it does not suffice. The
// other half of the secret, the proof, is kept where only pages of this very address can read it.
const PROOF = 'mv.proof';
let session = null, proof = keptProof();
export const currentSession = () => session;
export const isOwner = () => session?.scope === 'admin';

// ---- Hearers: pages say what they want to hear, and until when.

const hearers = new Map();

export function on(name, hear, signal) {
	if (!hearers.has(name)) hearers.set(name, new Set());
	hearers.get(name).add(hear);
	signal?.addEventListener('abort', () => hearers.get(name).delete(hear));
}

function tell(name, value) {
	for (const hear of [...hearers.get(name) || []]) hear(value);
}

// ---- Requests

async function send(method, path, body, signal) {
	const headers = {Accept: 'application/json, application/x-ndjson'};
	if (body !== undefined) headers['Content-Type'] = 'application/json';
	if (proof) headers['X-Session-Proof'] = proof;
	let answer;
	try {
		answer = await fetch(BASE + path, {
			method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
			credentials: 'same-origin', cache: 'no-store', redirect: 'error', keepalive: method === 'PUT' && (body?.seconds !== undefined)});
	} catch (error) {
		broken(error);
	}
	if (answer.ok) return answer;
	const document = await answer.json().catch(() => ({}));
	if (answer.status === 401 && session) startOver();
	throw new Problem(answer.status, document);
}

function keptProof() {
	try { return localStorage.getItem(PROOF); } catch { return null; }  // a private window may have no store
}

function keepProof(value) {
	proof = value;
	try {
		if (value) localStorage.setItem(PROOF, value);
		else localStorage.removeItem(PROOF);
	} catch { /* it lasts as long as this page */ }
}

export async function request(method, path, body, signal) {
	const answer = await send(method, path, body, signal);
	return answer.status === 204 ? null : answer.json().catch(broken);
}

// The answer broke off, unless the caller has ended the request.
function broken(error) {
	if (error.name === 'AbortError') throw error;
	lose();
	throw new Unreached();
}

// The bytes of an answer that is no document.
export const blob = async (path, signal) => (await send('GET', path, undefined, signal)).blob().catch(broken);

export const get = (path, signal) => request('GET', path, undefined, signal);

// The path of a request with a query of what is set.
export function query(path, values) {
	const set = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== '');
	// The service takes a plus as a plus, so a space is %20.
	return set.length ? `${path}?${set.map(pair => pair.map(encodeURIComponent).join('=')).join('&')}` : path;
}

// A long operation: calls `progress` as it goes on, and returns what is done at its end.
export async function operation(path, body, progress, signal) {
	const answer = await send('POST', path, body ?? {}, signal);
	const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
	let text = '';
	for (;;) {
		const {value, done} = await reader.read().catch(broken);
		if (done) broken({});
		const lines = (text + value).split('\n');
		text = lines.pop();
		for (const line of lines.filter(Boolean)) {
			const told = JSON.parse(line);
			if (told.progress) progress(told.progress);
			if (told.problem) throw new Problem(told.problem.status, told.problem);
			if (told.done) return told.done;
		}
	}
}

// ---- The session

// Begins a session with a ticket, or with the name and the PIN of a viewer.
export async function signIn(order) {
	const begun = await request('POST', 'sessions', order), had = session;
	keepProof(begun.proof);
	// What this page knows belongs to the one who was signed in before.
	if (had) return startOver();
	session = begun.session;
	listen();
}

// Forgets all that this page knows, and begins again; never returns.
function startOver() {
	session = null;
	hush();
	location.replace('/');
	return new Promise(() => {});
}

// Another tab has signed in or out, which this one must not outlive.
addEventListener('storage', event => { if (event.key === PROOF && event.newValue !== proof) startOver(); });

// Signs in with a ticket, or goes on with the session that the browser has; returns whether there is one.
export async function start(ticket) {
	try {
		if (ticket) {
			await signIn({ticket});
			return true;
		}
		session = await get('session');
	} catch (error) {
		if (error.status !== 401 && error.status !== 400) throw error;
		if (!ticket) return false;
		return start();  // the ticket was used, but its session may stand
	}
	listen();
	return true;
}

export async function signOut() {
	await request('DELETE', 'session');
	keepProof(null);
	return startOver();
}

// ---- Events. One feed serves all pages; it is mended when it breaks, and rests while the page is hidden.

let feed = null, timer = null, tries = 0, listens = 0;

async function listen() {
	hush();
	if (!session) return;
	const mine = ++listens;
	let ticket;
	try {
		// A feed cannot send the proof, so a ticket opens it.
		({ticket} = await request('POST', 'tickets'));
	} catch (error) {
		return error instanceof Problem && lose();
	}
	if (mine !== listens || !session) return;
	const opened = feed = new EventSource(query(`${BASE}events`, {ticket}));
	opened.onopen = () => {
		const again = tries > 0;
		tries = 0;
		tell('connection', {open: true});
		if (again) tell('many', {});
	};
	opened.onerror = () => { if (feed === opened) lose(); };
	for (const name of ['resource', 'removed', 'download', 'store', 'many'])
		opened.addEventListener(name, event => tell(name, JSON.parse(event.data)));
}

function hush() {
	clearTimeout(timer);
	timer = null;
	feed?.close();
	feed = null;
}

// Waits longer after each try, up to half a minute, and by chance a little less, so that not all come at once.
function lose() {
	if (!session || timer) return;
	hush();
	const wait = Math.min(LONGEST_WAIT, 1000 * 2 ** tries++) * (0.7 + 0.3 * Math.random());
	tell('connection', {open: false, wait});
	timer = setTimeout(connect, wait);
}

export async function connect() {
	clearTimeout(timer);
	timer = null;
	tries = Math.max(tries, 1);
	try {
		session = await get('session');
		listen();
	} catch (error) {
		if (error.document?.code === 'locked') return startOver();
		if (error instanceof Problem && error.status !== 401) lose();
	}
}

// A browser has few connections to one service: a hidden page gives its own back.
let resting = null;
document.addEventListener('visibilitychange', () => {
	clearTimeout(resting);
	if (document.hidden) resting = setTimeout(() => { if (feed) { hush(); resting = 'rests'; } }, 20_000);
	else if (resting === 'rests') { resting = null; connect(); }
});
