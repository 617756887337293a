// The service worker stores the files of the pages for offline use. It never stores data of the
// exchange, and sends nothing later.

const cacheName = 'messkit-pages'
const listPath = '/console/files.json' // the paths of all files, and a tag of their content

self.addEventListener('install', (e) => e.waitUntil(refresh().then(() => self.skipWaiting())))
self.addEventListener('activate', (e) => e.waitUntil(self.clients.claim()))

const networkTimeout = 5000 // ms until the stored page replaces one that the network does not deliver

let isOffline = false // the stored page is shown: its parts come from the store as well, so that all have one version

const isPart = (path) => path.endsWith('.webmanifest') || /^\/console\/.*\.(js|css|svg|png)$/.test(path)

self.addEventListener('fetch', (e) => {
  const url = new URL(e.request.url)
  if (e.request.method !== 'GET' || url.origin !== location.origin) return
  if (e.request.mode === 'navigate' && ['/', '/me'].includes(url.pathname)) e.respondWith(servePage(e, url.pathname))
  else if (isPart(url.pathname)) e.respondWith(servePart(e.request, url.pathname))
})

/** refresh stores all files again after a change of one of them. */
async function refresh() {
  const list = await (await fetch(listPath)).json()
  const cache = await caches.open(cacheName)
  const stored = await cache.match(listPath)
  if (stored && (await stored.json()).tag === list.tag) return
  await cache.addAll(list.files)
  await cache.put(listPath, new Response(JSON.stringify(list)))
}

async function servePage(e, path) {
  isOffline = false
  const cached = await caches.match(path)
  if (!cached) return fetchAndStore(e.request, path)
  const timeout = new Promise((done) => { setTimeout(done, networkTimeout) })
  const response = await Promise.race([fetchAndStore(e.request, path).catch(() => null), timeout])
  if (response && response.status < 500) { // a proxy answers 5xx while the exchange is unreachable
    e.waitUntil(refresh().catch(() => {})) // the next page does it again
    return response
  }
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
