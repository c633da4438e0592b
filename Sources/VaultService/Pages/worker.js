// Keeps the shell, so that the app opens while the service is away. It takes the newest files whenever the service
// answers, and never touches the API or media: no title, name or byte of the vault gets into the browser's cache.

const FOLDER = new URL('.', self.location).pathname;  // that of this version
const SHELL = `shell ${FOLDER}`;
const FILES = ['/', ...[
	'access.js', 'api.js', 'app.js', 'arrows.js', 'card.js', 'chapters.js', 'collections.js', 'covers.js', 'groups.js',
	'downloads.js', 'feeds.js', 'health.js', 'icon.svg', 'icons.js', 'keyboard.js', 'keys.js', 'manifest.webmanifest',
	'mediasession.js', 'menu.js', 'play.js', 'playback.js', 'player.css', 'player.js', 'positions.js', 'preferences.js',
	'qr.js', 'queue.js', 'queuelist.js', 'renditions.js', 'rows.js', 'seek.js', 'settings.js', 'shelf.css', 'shelf.js',
	'sleep.js', 'states.js', 'storage.js', 'style.css', 'subtitles.js', 'texts-owner.js', 'texts.js', 'title.js', 'titles.js',
	'tracks.js', 'tuning.js', 'ui.js', 'upnext.js', 'viewers.js', 'icon.png',
].map(name => FOLDER + name)];

self.addEventListener('install', event => event.waitUntil((async () => {
	const cache = await caches.open(SHELL);
	await cache.addAll(FILES);
	await self.skipWaiting();
})()));

self.addEventListener('activate', event => event.waitUntil((async () => {
	for (const name of await caches.keys()) if (name !== SHELL) await caches.delete(name);
	await self.clients.claim();
})()));

self.addEventListener('fetch', event => {
	const {pathname, origin} = new URL(event.request.url);
	if (event.request.method !== 'GET' || origin !== self.location.origin || !FILES.includes(pathname)) return;
	event.respondWith((async () => {
		const cache = await caches.open(SHELL);
		try {
			const answer = await fetch(event.request);
			if (answer.ok) await cache.put(pathname, answer.clone());
			return answer;
		} catch (error) {
			const kept = await cache.match(pathname);
			if (kept) return kept;
			throw error;
		}
	})());
});
