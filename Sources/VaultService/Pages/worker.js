// Keeps the shell, so that the app opens while the service is away. It takes the newest files whenever the service
// answers, and never touches the API or media: no title, name or byte of the vault gets into the browser's cache.

const FOLDER = new URL('.', self.location).pathname;  // that of this version
const SHELL = `shell ${FOLDER}`;
const FILES = ['/', ...[
	'style.css', 'icon.svg', 'manifest.webmanifest', 'app.js', 'api.js', 'ui.js', 'covers.js', 'positions.js', 'qr.js', 'viewers.js', 'texts.js', 'shelf.js', 'player.js', 'tracks.js', 'renditions.js', 'subtitles.js',
	'titles.js', 'title.js', 'downloads.js', 'feeds.js', 'storage.js', 'keys.js', 'access.js', 'health.js', 'settings.js',
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
