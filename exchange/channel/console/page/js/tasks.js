// The tasks that the page follows: their summaries, and the whole threads of those that need more.

import { Unreachable, terminalStatuses, exchange } from './api.js'
import { $, clean } from './dom.js'
import { notify, store, tell } from './home/store.js'
import { lastStatus } from './thread.js'

export const waitingStatuses = new Set(['needs_input', 'needs_confirmation'])
export const openStatuses = ['pending', 'claimed', 'in_progress', 'waiting', 'held', 'retrying']
const maxEnded = 30 // tasks of which the page reads the messages
const maxRead = 200 // tasks of each list that the page reads

const threads = new Map() // summary by ref
const outdated = new Set() // refs of threads in the store whose messages the page reads again
const unread = new Set() // refs of threads whose messages the page could not read
const pendingReads = new Set() // for each open read of the lists: the summaries that have arrived since, by ref

let listsRead = false // the page has read the lists since reset was called

/** reset reads everything again. */
export async function reset() {
  listsRead = store.tasksRead = false
  unread.clear()
  const of = (codes) => exchange.list([['limit', maxRead], ...codes.map((c) => ['status', c])])
  const newer = new Map()
  pendingReads.add(newer)
  const lists = await Promise.all([of([]), of([...waitingStatuses]), of(openStatuses)]).finally(() => pendingReads.delete(newer)) // waiting tasks of any age
  threads.clear()
  for (const t of [...clean(lists.flat()), ...newer.values()]) threads.set(t.ref, t)
  store.allTasks = lists[0].length < maxRead
  store.tooMany = lists.slice(1).some((l) => l.length >= maxRead)
  for (const ref of [...store.threads.keys()]) outdate(ref)
  listsRead = true
  draw()
  if (store.task) loadNext()
}

/** outdate reads the messages of a thread again. While the status is the same they stay until then: a form for them keeps its input and its error. */
function outdate(ref) {
  if (store.threads.has(ref) && store.threads.get(ref).status === threads.get(ref)?.status) outdated.add(ref)
  else drop(ref)
}

function drop(ref) {
  store.threads.delete(ref)
  outdated.delete(ref)
}

/** changed takes a summary from the stream. It is newer than the result of an open read. */
export function changed(t) {
  for (const newer of pendingReads) newer.set(t.ref, t)
  threads.set(t.ref, t)
  outdate(t.ref)
  draw()
  if (t.ref === store.task) loadNext()
}

/** invalidate reads the messages of an answered task again. The stream delivers its new status, perhaps earlier. */
export function invalidate(ref) {
  drop(ref)
  draw()
  if (ref === store.task) loadNext()
}

const byTime = (a, b) => String(b.updated_at).localeCompare(String(a.updated_at))

/** isEnded reports whether a task has ended. */
export const isEnded = (t) => terminalStatuses.has(t.status)

/** isComplete reports whether the page has read the lists, and the messages of the tasks that wait. Only those say who may answer. */
const isComplete = (waiting) => listsRead && waiting.slice(0, maxEnded).every((t) => store.threads.has(t.ref) || unread.has(t.ref))

let drawScheduled = false

/** draw shows the tasks, and reads the messages that the lists show. It draws several changes at once. */
export function draw() {
  if (drawScheduled) return
  drawScheduled = true
  requestAnimationFrame(() => {
    drawScheduled = false
    store.tasks = [...threads.values()].sort(byTime)
    const waiting = store.tasks.filter((t) => waitingStatuses.has(t.status))
    const untaken = store.tasks.filter((t) => t.status === 'pending') // their messages contain the reason
    for (const t of [...waiting.slice(0, maxEnded), ...untaken.slice(0, maxEnded)]) if (!store.threads.has(t.ref) || outdated.has(t.ref)) fetchWhole(t.ref)
    store.tasksRead ||= isComplete(waiting)
    store.waiting = waiting.filter(waitsForMe).map((t) => ({ ...store.threads.get(t.ref), ...t }))
    store.tasksDrawn++
    tell() // this is the frame
  })
}

/** mayAnswer reports whether this user may answer the questions of a task. */
export const mayAnswer = (t) => store.me.roles.includes('operator') || store.me.role === 'resident' || t.requestor_id === store.me.actor

/** waitsForMe reports whether a task waits for this user. A confirmation counts for a requester once the page knows that it needs no operator. */
export const waitsForMe = (t) => mayAnswer(t) && (t.status !== 'needs_confirmation' || store.me.roles.includes('operator') || store.threads.has(t.ref) && lastStatus(store.threads.get(t.ref), t.status)?.confirm_by !== 'operator')

async function fetchWhole(ref) {
  const then = threads.get(ref)
  try {
    const t = await exchange.thread(ref)
    if (threads.get(ref) === then) { // else it has changed since, and draw reads it again
      store.threads.set(ref, t)
      outdated.delete(ref)
    }
    draw()
  } catch {
    unread.add(ref) // the thread is gone, or the next change reads it again
    store.tasksRead ||= isComplete(store.tasks.filter((t) => waitingStatuses.has(t.status)))
    notify()
  }
}

/** open shows one task; '' closes it. */
export function open(ref) {
  if (store.task === ref) return
  store.task = ref
  $('tasks').classList.toggle('open', Boolean(ref))
  draw()
  if (ref) loadNext()
}

let loading = false
let reloadNeeded = false

/** loadNext reads the open task again. Concurrent calls share one or two reads. */
async function loadNext() {
  reloadNeeded = true
  if (loading) return
  loading = true
  while (reloadNeeded && store.task) {
    reloadNeeded = false
    await load(store.task)
  }
  loading = false
}

async function load(ref) {
  let next
  try {
    next = { ref, thread: await exchange.thread(ref) }
  } catch (err) {
    if (err instanceof Unreachable) setTimeout(() => { if (ref === store.task) loadNext() }, 3000)
    if (err instanceof Unreachable && store.shownTask?.thread && store.shownTask.ref === ref) return // the shown task is as old as the page
    next = { ref, error: err }
  }
  if (ref !== store.task) return
  store.shownTask = next
  draw()
}
