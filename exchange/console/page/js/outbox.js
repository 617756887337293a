// What a person has said is kept on the phone until the exchange has taken it. It
// has an id of its own, so that it counts once, however often it is sent.

import { Away, exchange } from './api.js'
import { randomId } from './dom.js'

const name = 'messkit'
let changed = () => {}

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
      t.onerror = () => fail(t.error)
    })
  } finally {
    db.close()
  }
}

/** all is what waits, the first first: {at, id, ref, title, items, files, error}. */
export const all = () => store('readonly', (s) => s.getAll())

/** put keeps a message; files are put in for {file: n} in items when they are sent. */
export async function put(ref, title, items, files = []) {
  await store('readwrite', (s) => s.add({ id: randomId(), ref, title, items, files, error: '' }))
  changed()
  flush()
}

/** drop forgets a message that was refused. */
export async function drop(at) {
  await store('readwrite', (s) => s.delete(at))
  changed()
}

export function ready(onChange) {
  changed = onChange
  addEventListener('online', flush)
  flush()
}

let going = null
let again = false // something may have come since the one that is going has looked

/** flush sends what waits, in its order; what was refused stays, and waits for a person. */
export function flush() {
  again = true
  going ??= send().finally(() => {
    going = null
    if (again) flush()
  })
  return going
}

async function send() {
  again = false
  if (!exchange.known()) return // the page was opened without a network
  for (const m of await all()) {
    if (m.error) continue
    try {
      await exchange.post(m.id, m.ref, await attached(m))
    } catch (err) {
      if (err instanceof Away) {
        setTimeout(flush, 15000)
        return
      }
      await store('readwrite', (s) => s.put({ ...m, error: err.message }))
      changed()
      continue
    }
    await drop(m.at)
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
