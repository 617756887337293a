// The service worker stores the pages for offline use. It never stores data of the
// exchange.

const cacheName = 'messkit-pages'
const pages = ['/me', '/console/app.css', '/console/icon.svg', ...['me', 'api', 'dom', 'times', 'content', 'events', 'stop', 'deregister', 'hold', 'outbox', 'compose', 'draft', 'photo', 'profile', 'notifications', 'offline', 'remove', 'executors/drain', 'stop/hold', 'stop/report', 'stop/reset', 'text/text', 'text/en', 'text/de'].map((n) => `/console/js/${n}.js`), '/console/vendor/htm-preact-standalone.module.js']

self.addEventListener('install', (e) => e.waitUntil(caches.open(cacheName).then((c) => c.addAll(pages)).then(() => self.skipWaiting())))
self.addEventListener('activate', (e) => e.waitUntil(self.clients.claim()))

const networkTimeout = 5000 // ms until the stored page replaces one that the network does not deliver

let isOffline = false // the stored page is shown: its parts come from the store as well, so that all have one version

self.addEventListener('fetch', (e) => {
  const url = new URL(e.request.url)
  if (e.request.method !== 'GET' || url.origin !== location.origin || !pages.includes(url.pathname)) return
  e.respondWith(e.request.mode === 'navigate' ? servePage(e.request, url.pathname) : servePart(e.request, url.pathname))
})

async function servePage(request, path) {
  isOffline = false
  const cached = await caches.match(path)
  if (!cached) return fetchAndStore(request, path)
  const timeout = new Promise((done) => { setTimeout(done, networkTimeout) })
  const response = await Promise.race([fetchAndStore(request, path).catch(() => null), timeout])
  if (response && response.status < 500) return response // a proxy answers 5xx while the exchange is unreachable
  isOffline = true
  return cached
}

async function servePart(request, path) {
  const cached = await caches.match(path)
  if (isOffline && cached) return cached
  const response = await fetchAndStore(request, path).catch((err) => {
    if (!cached) throw err
  })
  return response && (response.status < 500 || !cached) ? response : cached
}

async function fetchAndStore(request, path) {
  const response = await fetch(request)
  if (response.ok) await caches.open(cacheName).then((c) => c.put(path, response.clone()))
  return response
}
