// Keeps the pages for when there is no network. What the exchange says is never
// kept here.

const kept = 'messkit-pages'
const pages = ['/me', '/console/app.css', '/console/icon.svg', ...['me', 'api', 'dom', 'content', 'events', 'stop', 'hold', 'outbox', 'compose', 'draft', 'photo', 'profile', 'notices', 'keep'].map((n) => `/console/js/${n}.js`)]

self.addEventListener('install', (e) => e.waitUntil(caches.open(kept).then((c) => c.addAll(pages)).then(() => self.skipWaiting())))
self.addEventListener('activate', (e) => e.waitUntil(self.clients.claim()))

self.addEventListener('fetch', (e) => {
  const url = new URL(e.request.url)
  if (e.request.method !== 'GET' || url.origin !== location.origin || !pages.includes(url.pathname)) return
  e.respondWith(fresh(e.request, url.pathname))
})

async function fresh(request, path) {
  const c = await caches.open(kept)
  try {
    const answer = await fetch(request)
    if (answer.ok) await c.put(path, answer.clone())
    return answer
  } catch (err) {
    const old = await c.match(path)
    if (old) return old
    throw err
  }
}
