// Keeps the pages for when there is no network. What the exchange says is never
// kept here.

const kept = 'messkit-pages'
const pages = ['/me', '/console/app.css', '/console/icon.svg', ...['me', 'api', 'dom', 'times', 'content', 'events', 'stop', 'forget', 'hold', 'outbox', 'compose', 'draft', 'photo', 'profile', 'notices', 'keep'].map((n) => `/console/js/${n}.js`)]

self.addEventListener('install', (e) => e.waitUntil(caches.open(kept).then((c) => c.addAll(pages)).then(() => self.skipWaiting())))
self.addEventListener('activate', (e) => e.waitUntil(self.clients.claim()))

const patience = 5000 // ms until a page that is kept is shown in place of one that does not come

let away = false // the page has not come: neither are its parts waited for, so that all are of one version

self.addEventListener('fetch', (e) => {
  const url = new URL(e.request.url)
  if (e.request.method !== 'GET' || url.origin !== location.origin || !pages.includes(url.pathname)) return
  e.respondWith(e.request.mode === 'navigate' ? page(e.request, url.pathname) : part(e.request, url.pathname))
})

async function page(request, path) {
  away = false
  const old = await caches.match(path)
  if (!old) return fetched(request, path)
  const late = new Promise((done) => { setTimeout(done, patience) })
  const answer = await Promise.race([fetched(request, path).catch(() => null), late])
  if (answer && answer.status < 500) return answer // a proxy says more while the exchange is away
  away = true
  return old
}

async function part(request, path) {
  const old = await caches.match(path)
  if (away && old) return old
  const answer = await fetched(request, path).catch((err) => {
    if (!old) throw err
  })
  return answer && (answer.status < 500 || !old) ? answer : old
}

async function fetched(request, path) {
  const answer = await fetch(request)
  if (answer.ok) await caches.open(kept).then((c) => c.put(path, answer.clone()))
  return answer
}
