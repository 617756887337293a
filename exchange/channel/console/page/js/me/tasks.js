// The tasks and the offers of a person, which the phone also stores for use without a network.

import { Rejected, Unreachable, exchange } from '../api.js'
import { truncate } from '../dom.js'
import { notify, store } from '../home/store.js'
import { titleText } from '../phrases.js'
import { named, t } from '../text/text.js'
import { lastStatus } from '../thread.js'
import { forget } from './compose.js'

const working = ['claimed', 'in_progress', 'waiting', 'held', 'needs_input', 'needs_confirmation', 'retrying']
const storageKey = 'messkit-tasks'

Object.assign(store, { offers: new Map(), mine: new Map(), gone: '', problem: '' }) // threads by ref; what became of tasks that the person no longer holds; why the page could not read her tasks

/** executors lists the executors of the last state. */
export const executors = () => store.state?.executors || []

/** executorName returns the name of an executor. */
export const executorName = (id) => executors().find((e) => e.id === id)?.name || id

/** storeTasks stores the tasks, if the phone has free storage. */
function storeTasks() {
  try {
    localStorage.setItem(storageKey, JSON.stringify({ who: store.me, mine: [...store.mine.values()] }))
  } catch {
    forgetTasks() // the stored tasks are outdated
  }
}

/** forgetTasks removes the stored tasks. */
export const forgetTasks = () => localStorage.removeItem(storageKey)

/** loadStoredTasks shows the stored tasks. It returns false if there are none. */
export function loadStoredTasks() {
  try {
    const old = JSON.parse(localStorage.getItem(storageKey) || '{}')
    if (!old.who) return false
    store.me = old.who
    for (const x of old.mine) store.mine.set(x.ref, x)
    return true
  } catch {
    return false
  }
}

const offerReads = new Map() // the last read of each offer, by ref

/** withdraw removes an offer. */
export function withdraw(ref) {
  offerReads.delete(ref)
  store.offers.delete(ref)
  notify()
}

/** readOffer reads an offer. */
export async function readOffer(ref) {
  const thisRead = {}
  offerReads.set(ref, thisRead)
  try {
    const x = await exchange.thread(ref)
    if (offerReads.get(ref) !== thisRead) return // it was withdrawn, or a newer read has begun
    if (x.status === 'pending') store.offers.set(ref, x)
    else store.offers.delete(ref)
  } catch (err) {
    if (err instanceof Rejected) store.offers.delete(ref) // after other errors the offer may still exist
  }
  notify()
}

let loading = null
let readAgain = false

/** refresh reads the tasks of the person and shows errors, except an unreachable exchange. */
export const refresh = () => readTasks().catch((err) => {
  if (err instanceof Unreachable) return
  store.problem = err.message
  notify()
})

/** readTasks reads the tasks. Concurrent calls share one or two reads. */
export function readTasks() {
  if (loading) {
    readAgain = true
    return loading
  }
  loading = readOnce().finally(() => {
    loading = null
    if (readAgain) {
      readAgain = false
      refresh()
    }
  })
  return loading
}

async function readOnce() {
  const { actor } = store.me
  const [open, list] = await Promise.all([
    exchange.list([['executor', actor], ['limit', 200], ...working.map((s) => ['status', s])]), // of any age
    exchange.list({ executor: actor, limit: 50 }),
  ])
  const read = await Promise.all(open.map((x) => exchange.thread(x.ref)))
  const whole = read.filter((x) => working.includes(x.status) && x.executor_id === actor)
  const over = [...read, ...list].filter((x) => !working.includes(x.status) && x.executor_id === actor)
  const gone = [...store.mine.values()].filter((x) => !whole.some((w) => w.ref === x.ref))
  if (gone.length) store.gone = (await Promise.all(gone.map(async (x) => `${truncate(titleText(x), 100)}: ${await outcomeOf(x, over)}`))).join(' · ')
  store.problem = ''
  store.mine.clear()
  for (const x of whole) store.mine.set(x.ref, x)
  forget(store.mine, over.map((x) => x.ref))
  for (const ref of store.offers.keys()) if (store.mine.has(ref)) store.offers.delete(ref)
  storeTasks()
  notify()
}

/** outcomeOf returns the outcome of a task that the person no longer holds. */
async function outcomeOf(x, over) {
  const end = over.find((o) => o.ref === x.ref)
  if (end) return named('status', end.status)
  const now = await exchange.thread(x.ref).catch(() => null)
  const passed = now && lastStatus(now, 'delegated')
  return passed?.from === store.me.actor ? t('me.delegated', { name: executorName(passed.delegated_to) }) : t('me.notyours')
}
