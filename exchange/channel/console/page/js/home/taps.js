// Taps: acts that this page has sent. Each has one key, made when the user taps. The page sends it
// again only with that key, which the server carries out once. Nothing here changes a shown state:
// the server reports it.

import { Rejected, Unreachable, exchange, home } from '../api.js'
import { randomId } from '../dom.js'
import { notify, now, store } from './store.js'

const repeatTime = 20000 // ms after the tap in which the page repeats it: a tap never acts late
const lookDelay = 2000 // ms
const shownTime = 60000 // ms for which a tile shows a result

const unclear = new Set() // taps whose arrival is unknown

/** tap sends an act of a device. */
export function tap(device, verb, args = {}) {
  const one = { key: randomId(), device, verb, args, phase: 'sending', at: Date.now() }
  store.taps.set(device, one)
  notify()
  return send(one)
}

async function send(one) {
  try {
    const { ref } = await home.act(one.device, one.verb, one.args, one.key)
    settle(one, 'sent', { ref })
  } catch (err) {
    if (err instanceof Rejected) return settle(one, 'refused', { reason: err.message })
    if (!(err instanceof Unreachable)) throw err
    unclear.add(one)
    setPhase(one, err.aborted ? 'lost' : 'doubt') // a stop aborts it: it must not act after the stop
    if (store.live) setTimeout(serverIsBack, lookDelay)
    else setTimeout(() => { if (one.phase === 'doubt') setPhase(one, 'lost') }, repeatTime)
  }
}

function setPhase(one, phase, more = {}) {
  Object.assign(one, { phase, ...more })
  notify()
}

function settle(one, phase, more) {
  unclear.delete(one)
  setPhase(one, phase, { ...more, until: Date.now() + shownTime })
}

/** serverIsBack settles all unclear taps: it repeats new ones with their key, and looks for old ones. */
export async function serverIsBack() {
  for (const one of [...unclear]) {
    unclear.delete(one)
    if (one.phase === 'doubt' && Date.now() - one.at < repeatTime) await send(one)
    else await look(one)
  }
}

/** look finds the thread of a tap without sending the tap again. */
async function look(one) {
  try {
    const ref = await findThread(one)
    settle(one, ref ? 'sent' : 'unsent', { ref })
  } catch (err) {
    unclear.add(one)
    setPhase(one, 'lost')
    if (!(err instanceof Unreachable)) throw err
    if (store.live) setTimeout(serverIsBack, lookDelay)
  }
}

const maxLooked = 50 // threads among which the page looks for a tap
const clockTolerance = 5000 // ms

/** findThread returns the thread that the server has made for a tap, or undefined. */
async function findThread(one) {
  const list = await exchange.list([['limit', maxLooked]])
  const since = one.at + store.offset - clockTolerance
  for (const s of list.filter((x) => x.requestor_id === store.me.actor && new Date(x.created_at) >= since)) {
    const requests = (await exchange.thread(s.ref)).messages.flatMap((m) => m.mess).map((item) => item.request).filter(Boolean)
    if (requests.some((r) => r.id === one.key)) return s.ref
  }
  return undefined
}

/** dropTaps makes the page forget to repeat anything: the user has pressed stop. */
export function dropTaps() {
  for (const one of unclear) one.phase = 'lost'
}

/** shownTap returns the tap that a tile shows, or null: the server has the newer word about a sent one. */
export function shownTap(d) {
  const one = store.taps.get(d.id)
  if (!one) return null
  if (one.phase === 'unsent' && d.task?.verb === one.verb && d.task.requestor_id === store.me.actor) return null // it arrived late after all
  if (one.over) return null
  if (one.phase !== 'sent') return one.until && Date.now() > one.until && one.phase !== 'unsent' ? null : one
  return d.task || d.last?.ref === one.ref || Date.now() > one.until ? null : one
}

/** isMine reports whether a thread belongs to a tap of this page. */
export const isMine = (ref) => [...store.taps.values()].some((one) => one.ref === ref)

/** isFresh reports whether a result is new enough for a tile. */
export const isFresh = (last) => now() - new Date(last.at) < shownTime

/** nextEnd returns the time until a tile loses a result because of its age, in ms; Infinity if none does. */
export function nextEnd() {
  const ends = [...store.taps.values()].map((one) => one.until - Date.now()) // NaN for a tap without an end
  for (const { last } of store.devices.values()) if (last) ends.push(new Date(last.at).getTime() + shownTime - now())
  return Math.min(...ends.filter((ms) => ms > 0))
}

/** isUnknown reports whether nobody knows what an ended task has done. */
export const isUnknown = (last) => Boolean(last) && last.evidence === 'unknown'
