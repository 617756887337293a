// Drafts of results: photos, a voice note, the position and chosen values. The phone stores them
// in IndexedDB, so that they survive a reload. (compose.js stores typed text in localStorage.)

import { t } from './text/text.js'

const name = 'messkit-drafts'
const maxBytes = 48 << 20 // of all drafts together
const keepTime = 7 * 24 * 3600 * 1000 // ms; a draft without a task is removed after this time

async function store(mode, act) {
  const db = await new Promise((done, fail) => {
    const open = indexedDB.open(name, 1)
    open.onupgradeneeded = () => open.result.createObjectStore('drafts', { keyPath: 'ref' })
    open.onsuccess = () => done(open.result)
    open.onerror = () => fail(open.error)
  })
  try {
    return await new Promise((done, fail) => {
      const t = db.transaction('drafts', mode)
      const request = act(t.objectStore('drafts'))
      t.oncomplete = () => done(request?.result)
      t.onerror = t.onabort = () => fail(t.error)
    })
  } finally {
    db.close()
  }
}

const draftSize = (d) => d.files.reduce((n, f) => n + f.data.size, 0)

let lastOperation = Promise.resolve()

/** serialize runs operations one after the other, so that the last draft wins. */
function serialize(act) {
  const done = lastOperation.then(act)
  lastOperation = done.catch(() => {})
  return done
}

/** load returns the draft of a task, {ref, files, at, taken, chosen}, or undefined. */
export const load = (ref) => serialize(() => store('readonly', (s) => s.get(ref)))

/** save replaces the draft of a task. If the drafts exceed maxBytes, it fails and keeps the earlier draft. */
export const save = (draft) => serialize(async () => {
  const others = (await store('readonly', (s) => s.getAll())).filter((d) => d.ref !== draft.ref)
  if (others.reduce((n, d) => n + draftSize(d), draftSize(draft)) > maxBytes) throw new Error(t('compose.drafts'))
  if (!draft.files.length && !draft.at && !Object.keys(draft.chosen).length) return store('readwrite', (s) => s.delete(draft.ref))
  return store('readwrite', (s) => s.put({ ...draft, kept: Date.now() }))
})

/** remove deletes the drafts of ended tasks, and old drafts of tasks that the person does not hold. */
export const remove = (over, held = new Map()) => serialize(async () => {
  const old = (await store('readonly', (s) => s.getAll())).filter((d) => over.includes(d.ref) || !held.has(d.ref) && Date.now() - d.kept > keepTime)
  if (old.length) await store('readwrite', (s) => { for (const d of old) s.delete(d.ref) })
})
