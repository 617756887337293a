// What a person has added to an answer that she has not sent: photos, a voice note,
// where she is, what she chose. It is kept on the phone, so that a page that is
// loaded anew has it still. (Text is kept beside, as it is typed.)

const name = 'messkit-drafts'
const most = 48 << 20 // bytes of all that is kept
const week = 7 * 24 * 3600 * 1000 // ms; so long what nobody asks for stays

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

const weight = (d) => d.files.reduce((n, f) => n + f.data.size, 0)

let going = Promise.resolve()

/** inTurn has one thing done after the other: what is kept last is what was there last. */
function inTurn(act) {
  const done = going.then(act)
  going = done.catch(() => {})
  return done
}

/** of is what is kept for a task: {ref, files, at, chosen}; undefined for nothing. */
export const of = (ref) => inTurn(() => store('readonly', (s) => s.get(ref)))

/** keep keeps it in place of what was; what is too much is refused, and what was stays. */
export const keep = (draft) => inTurn(async () => {
  const others = (await store('readonly', (s) => s.getAll())).filter((d) => d.ref !== draft.ref)
  if (others.reduce((n, d) => n + weight(d), weight(draft)) > most) throw new Error('the drafts exceed 48 MB')
  if (!draft.files.length && !draft.at && !Object.keys(draft.chosen).length) return store('readwrite', (s) => s.delete(draft.ref))
  return store('readwrite', (s) => s.put({ ...draft, kept: Date.now() }))
})

/** drop forgets what was kept for tasks that are over, and what is old and of none that one holds. */
export const drop = (over, held = new Map()) => inTurn(async () => {
  const old = (await store('readonly', (s) => s.getAll())).filter((d) => over.includes(d.ref) || !held.has(d.ref) && Date.now() - d.kept > week)
  if (old.length) await store('readwrite', (s) => { for (const d of old) s.delete(d.ref) })
})
