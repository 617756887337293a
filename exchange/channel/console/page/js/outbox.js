// What a person has said is kept on the phone until the exchange has taken it. It
// has an id of its own, so that it counts once, however often it is sent.

import { Away, ended, exchange, signedOut } from './api.js'
import { randomId, words } from './dom.js'

const name = 'messkit'
let changed = () => {}
let about = () => ''

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
      t.onerror = t.onabort = () => fail(t.error) // what is too much ends in the second
    })
  } finally {
    db.close()
  }
}

const unkept = [] // what the phone has no room for: it goes with the page
let by = '' // whose page it is

/** all is what waits, the first first: {at, by, id, ref, intent, title, items, files, error, over, unkept}. */
export const all = async () => [...await store('readonly', (s) => s.getAll()).catch(() => []), ...unkept]

/** belongs says who is signed in: what somebody else has left on this phone waits for him. */
export function belongs(actor) {
  by = actor
}

/** others reports whether a message is of somebody who is not signed in now. */
export const others = (m) => Boolean(m.by && m.by !== by)

/** put keeps messages, {title, items, files}, all or none; files are put in for {upload: n} in items when they are sent. Where the phone cannot keep them, they are sent all the same, as {kept: false} tells. */
export async function put(ref, ...messages) {
  const list = messages.map((m) => ({ id: randomId(), by, ref, intent: about(ref), files: [], ...m, error: '' }))
  const kept = unkept.length === 0 && await store('readwrite', (s) => { for (const m of list) s.add(m) }).then(() => true, () => false) // in its order
  if (!kept) unkept.push(...list.map((m) => ({ ...m, at: m.id, unkept: true })))
  changed()
  flush()
  return { kept }
}

/** drop forgets a message that was sent, or refused. */
export async function drop(m) {
  const at = unkept.findIndex((u) => u.at === m.at)
  if (at >= 0) unkept.splice(at, 1)
  else if (!m.unkept) await store('readwrite', (s) => s.delete(m.at))
  changed()
}

/** again sends a message once more that was refused. */
export async function again(m) {
  await note(m, '')
  flush()
}

/** note keeps with a message why it was refused, and whether its task is over. What was forgotten while it was on its way stays so. */
async function note(m, error, over = false) {
  if (m.unkept) {
    const there = unkept.find((u) => u.at === m.at)
    if (there) Object.assign(there, { error, over })
  } else {
    await store('readwrite', (s) => {
      const there = s.getKey(m.at)
      there.onsuccess = () => { if (there.result !== undefined) s.put({ ...m, error, over }) }
      return there
    })
  }
  changed()
}

/** ready begins. intent tells what a task is about. */
export function ready(onChange, intent) {
  changed = onChange
  about = intent
  addEventListener('online', flush)
  addEventListener('beforeunload', (e) => { if (unkept.length) e.preventDefault() })
  flush()
}

let going = null
let more = false // something may have come since the one that is going has looked

/** flush sends what waits, in its order; what was refused stays, and waits for a person. */
export function flush() {
  more = true
  going ??= send().finally(() => {
    going = null
    if (more) flush()
  })
  return going
}

async function send() {
  more = false
  if (!exchange.known()) return // the page was opened without a network
  for (const m of await all()) {
    if (m.error || others(m)) continue
    try {
      await exchange.post(m.id, m.ref, await attached(m))
    } catch (err) {
      if (signedOut(err)) return // it waits until she is signed in again
      if (err instanceof Away) {
        setTimeout(flush, 15000)
        return
      }
      const over = ended.has(err.status)
      await note(m, over ? `Too late: the task has ended (${words(err.status)}).` : err.message, over)
      continue
    }
    await drop(m)
  }
}

/** attached uploads the files of a message, and puts in what the exchange calls them. */
async function attached(m) {
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
