// The outbox of a human executor. The phone stores each message until the exchange has accepted
// it. Each message has an id, so that the exchange counts a repeated one once.

import { Unreachable, terminalStatuses, exchange, signedOut } from './api.js'
import { randomId } from './dom.js'
import { named, t } from './text/text.js'

const name = 'messkit'
let onChanged = () => {}
let intentOf = () => ''

function database() {
  return new Promise((done, fail) => {
    const open = indexedDB.open(name, 1)
    open.onupgradeneeded = () => open.result.createObjectStore('outbox', { keyPath: 'at', autoIncrement: true })
    open.onsuccess = () => done(open.result)
    open.onerror = () => fail(open.error)
  })
}

async function store(mode, act) {
  const db = await database()
  try {
    return await new Promise((done, fail) => {
      const t = db.transaction('outbox', mode)
      const request = act(t.objectStore('outbox'))
      t.oncomplete = () => done(request?.result)
      t.onerror = t.onabort = () => fail(t.error) // a full disk aborts the transaction
    })
  } finally {
    db.close()
  }
}

const unstored = [] // messages that the phone could not store: they end with the page
let owner = '' // the signed-in person

/** all returns the waiting messages, the oldest first: {at, by, id, ref, intent, title, items, files, error, over, unkept}. */
export const all = async () => [...await store('readonly', (s) => s.getAll()).catch(() => []), ...unstored]

/** setActor sets the signed-in person. Messages of another person wait until that person signs in. */
export function setActor(actor) {
  owner = actor
}

/** isOthers reports whether a message belongs to another person than the signed-in one. */
export const isOthers = (m) => Boolean(m.by && m.by !== owner)

/** put stores messages, {title, items, files}, all or none, and sends them. On sending, the files replace {upload: n} in the items. It returns {kept: false} if the phone could not store them; they are sent from memory. */
export async function put(ref, ...messages) {
  const list = messages.map((m) => ({ id: randomId(), by: owner, ref, intent: intentOf(ref), files: [], ...m, error: '' }))
  const kept = unstored.length === 0 && await store('readwrite', (s) => { for (const m of list) s.add(m) }).then(() => true, () => false) // stored messages keep their order
  if (!kept) unstored.push(...list.map((m) => ({ ...m, at: m.id, unkept: true })))
  onChanged()
  flush()
  return { kept }
}

/** drop removes a message. */
export async function drop(m) {
  const at = unstored.findIndex((u) => u.at === m.at)
  if (at >= 0) unstored.splice(at, 1)
  else if (!m.unkept) await store('readwrite', (s) => s.delete(m.at))
  onChanged()
}

/** again sends a rejected message once more. */
export async function again(m) {
  await setError(m, '')
  flush()
}

/** setError stores the error of a rejected message, and whether its task has ended. A message that was removed during its sending stays removed. */
async function setError(m, error, over = false) {
  if (m.unkept) {
    const there = unstored.find((u) => u.at === m.at)
    if (there) Object.assign(there, { error, over })
  } else {
    await store('readwrite', (s) => {
      const there = s.getKey(m.at)
      there.onsuccess = () => { if (there.result !== undefined) s.put({ ...m, error, over }) }
      return there
    })
  }
  onChanged()
}

/** ready starts the outbox. intent returns the intent of a task. */
export function ready(onChange, intent) {
  onChanged = onChange
  intentOf = intent
  addEventListener('online', flush)
  addEventListener('beforeunload', (e) => { if (unstored.length) e.preventDefault() })
  flush()
}

let sending = null
let hasMore = false // a message may have arrived since the running send has read the outbox

/** flush sends the waiting messages in their order. Rejected ones stay until the person decides. */
export function flush() {
  hasMore = true
  sending ??= send().finally(() => {
    sending = null
    if (hasMore) flush()
  })
  return sending
}

async function send() {
  hasMore = false
  if (!exchange.isKnown()) return // the page was opened offline
  for (const m of await all()) {
    if (m.error || isOthers(m)) continue
    try {
      await exchange.post(m.id, m.ref, await withUploads(m))
    } catch (err) {
      if (signedOut(err)) return // it waits until the person signs in again
      if (err instanceof Unreachable) {
        setTimeout(flush, 15000)
        return
      }
      const over = terminalStatuses.has(err.status)
      await setError(m, over ? t('outbox.late', { status: named('status', err.status) }) : err.message, over)
      continue
    }
    await drop(m)
  }
}

/** withUploads uploads the files of a message, and returns its items with the names that the exchange gave them. */
async function withUploads(m) {
  const media = []
  for (const f of m.files) media.push(await exchange.upload(m.ref, f.name, f.type, f.data))
  const fill = (v) => {
    if (Array.isArray(v)) return v.map(fill)
    if (v === null || typeof v !== 'object') return v
    if (Number.isInteger(v.upload)) return media[v.upload]
    return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, fill(x)]))
  }
  return fill(m.items)
}
