// The service worker stores the files of the pages for offline use, and shows push messages as
// notices. It never stores data of the exchange, and sends nothing later. A notice never acts: a tap
// opens the page.

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

const textsPath = '/console/notice-texts.json' // the page stores it, see js/settings/push.js

self.addEventListener('push', (e) => e.waitUntil(showNotice(e.data)))

/** showNotice shows a push message. A browser ends the subscription of a page that shows none. */
async function showNotice(data) {
  let n = {}
  try {
    n = data.json()
  } catch {
    // it is not from this exchange
  }
  const stored = await caches.match(textsPath)
  const texts = stored ? await stored.json() : {}
  await self.registration.showNotification(texts[n.kind] || 'messkit', {
    body: bodyOf(n, texts), tag: n.tag, renotify: Boolean(n.tag), lang: texts.lang, icon: '/console/icon-192.png', data: { url: ownPath(n.url) }, actions: buttonsOf(n, texts),
  })
}

/** bodyOf returns the text of a notice. */
function bodyOf(n, texts) {
  if (n.kind === 'test') return texts.testBody || ''
  if (n.kind === 'offline') return (texts.offlineBody || '{name}').replace('{name}', n.name)
  if (n.kind === 'unsafe') return `${n.name}: ${(n.devices || []).join(', ')}`
  return [n.intent, n.text !== n.intent && n.text].filter(Boolean).join('\n')
}

/** buttonsOf returns the button of a notice. It says what a tap opens, and opens the same: only the page can act, with its confirmation. */
function buttonsOf(n, texts) {
  const title = ['question', 'confirmation'].includes(n.kind) ? texts.openQuestion : String(n.url).includes('#task/') ? texts.openTask : ''
  return title ? [{ action: 'open', title }] : []
}

/** ownPath returns a path of this exchange, / for another address. */
const ownPath = (url) => (typeof url === 'string' && new URL(url, location.origin).origin === location.origin ? url : '/')

self.addEventListener('notificationclick', (e) => {
  e.notification.close()
  e.waitUntil(openPage(ownPath(e.notification.data?.url)))
})

/** openPage shows a path in an open page, or in a new one. */
async function openPage(path) {
  const url = new URL(path, location.origin)
  const pages = await self.clients.matchAll({ type: 'window', includeUncontrolled: true })
  const page = pages.find((c) => new URL(c.url).pathname === url.pathname)
  if (!page) return self.clients.openWindow(url.href)
  await page.focus().catch(() => {}) // the browser may have taken the tap for used
  page.postMessage({ open: url.hash })
}
