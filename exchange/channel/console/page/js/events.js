// The event stream of the page: one connection for everything, which the visible windows of a browser
// share. A hidden page leaves it. The page then shows the time of its last event.

import { page, signedOut } from './api.js'
import { parse } from './dom.js'
import { join } from './share.js'
import { clock, t } from './text/text.js'

let leave = null // leaves the stream; null while the page takes no part in it
let state = null // the last state of the exchange; null before the first of this stream
let greeted = false // the stream has begun
let handlers = null
let lastEvent = 0 // time of the last event; 0 before the first
let connectedAt = 0 // start of the last connection
let displaced = false // other windows of this browser have streams of their own, and this one has none
const heartbeatTimeout = 40000 // ms; the exchange sends a heartbeat every 15 s

setInterval(checkStream, 5000)

/** checkStream replaces a silent stream, for example after the computer has slept. */
function checkStream() {
  if (!handlers || document.hidden || displaced) return
  if (leave && Math.abs(Date.now() - Math.max(lastEvent, connectedAt)) < heartbeatTimeout) return // a clock that jumps back also makes a stream look silent
  disconnect()
  handlers.line(false, staleText(t('line.silent')))
  connect(true)
}

/** staleText returns the time of the last event, with the reason why the page is not live. */
function staleText(why) {
  return lastEvent ? t('line.asof', { time: clock(lastEvent, true), why }) : why
}

const names = ['thread', 'offer', 'withdrawn']
const homeNames = ['home', 'device', 'gone', 'executor']

/** merge returns a state after a change of the server. */
function merge(state, { gone = [], changed = [], seen = [], ...parts }) {
  const executors = new Map(state.executors.map((e) => [e.id, e]))
  for (const { id } of gone) executors.delete(id)
  for (const e of changed) executors.set(e.id, e)
  for (const { last_seen, executors: list } of seen) for (const { id } of list) if (executors.has(id)) executors.set(id, { ...executors.get(id), last_seen })
  return { ...state, ...parts, executors: [...executors.values()].sort((a, b) => (a.id < b.id ? -1 : 1)) }
}

/** follow connects, and calls the handler with the name of each event. handlers.actor is the signed-in actor. handlers.home(name, data) gets the events of the home, and handlers.homeDocument returns the home that the page has, or null; without them the stream has none. It reports the connection with handlers.line(connected, text). It calls handlers.opened when the server sends events, and handlers.closed when it does not any more. */
export function follow(on) {
  handlers = on
  document.addEventListener('visibilitychange', () => (document.hidden ? pause() : connect()))
  addEventListener('pageshow', (e) => { if (e.persisted) checkStream() })
  addEventListener('focus', checkStream)
  for (const use of ['focus', 'pointerdown', 'keydown']) addEventListener(use, comeBack)
  addEventListener('online', checkStream)
  addEventListener('offline', networkLost)
  connect()
}

/** comeBack reads the events again in a window that others have displaced: somebody uses it. */
function comeBack() {
  if (!displaced) return
  displaced = false
  connect()
}

/** giveWay notes that the exchange has ended the stream of this window: the browser has too many. */
function giveWay() {
  displaced = true
  disconnect()
  handlers.line(false, staleText(t('line.elsewhere')))
}

/** pause closes the stream of a hidden page. */
function pause() {
  displaced = false
  disconnect()
  handlers.line(false, staleText(t('line.paused')))
}

/** networkLost replaces the stream at once. On the host of the exchange, the exchange may be reachable without a network. */
function networkLost() {
  if (displaced) return
  disconnect()
  handlers.line(false, staleText(t('line.nonetwork')))
  connect()
}

/** catchUp reads everything that a new stream does not contain. After that the page is live. */
async function catchUp() {
  const here = leave
  try {
    await handlers.reset()
    if (here === leave) handlers.line(true)
  } catch (err) {
    if (here !== leave) return
    disconnect()
    handlers.line(false, staleText(err.message))
    setTimeout(connect, 3000)
  }
}

export function disconnect() {
  leave?.()
  leave = null
  greeted = false
  handlers?.closed?.()
}

/** connect takes part in the stream. With force, this window reads it in place of a silent one. */
export function connect(force = false) {
  if (leave || !handlers || document.hidden || displaced) return
  connectedAt = Date.now()
  lastEvent = Math.min(lastEvent, connectedAt)
  state = null
  leave = join(`messkit-events ${handlers.home ? 'home' : 'me'} ${handlers.actor}`, { lead, take, snapshot, force: force === true })
}

/** snapshot returns the events that a new window needs: those with which a stream begins. */
const snapshot = () => [
  greeted && ['hello', { resumed: false }], state && ['state', state], handlers.homeDocument?.() && ['home', handlers.homeDocument()],
].filter((one) => greeted && one).map(([name, data]) => ({ name, data: JSON.stringify(data) }))

/** lead reads the stream in this window, and passes each event on. Without pass, this window shares it with no other one. The returned function ends that. */
function lead(pass) {
  const s = new EventSource(`/console/events?${new URLSearchParams({ ...(handlers.home ? { home: true } : {}), ...(pass ? {} : { own: true }) })}`)
  let isOver = false
  for (const name of ['hello', 'beat', 'reset', 'state', 'change', ...names, ...(handlers.home ? homeNames : [])]) {
    s.addEventListener(name, ({ data }) => {
      if (isOver) return
      pass?.({ name, data })
      take({ name, data })
    })
  }
  s.addEventListener('elsewhere', () => { if (!isOver) giveWay() })
  s.onerror = () => {
    if (isOver) return
    pass?.({ name: 'lost' })
    lost()
    if (s.readyState !== EventSource.CLOSED) return
    disconnect()
    page.who().then(() => setTimeout(connect, 3000), (err) => (signedOut(err) ? location.reload() : setTimeout(connect, 3000)))
  }
  return () => {
    isOver = true
    s.close()
  }
}

/** lost notes that the stream has no connection. */
function lost() {
  handlers.closed?.()
  handlers.line(false, staleText(t('line.again')))
}

/** take takes an event of the stream. A window that has just joined waits for the beginning. */
function take({ name, data }) {
  if (name === 'lost') return lost()
  if (!greeted && name !== 'hello') return undefined
  lastEvent = Date.now()
  handlers.contact?.()
  const value = parse(data)
  if (name === 'hello') {
    const continues = greeted && value.resumed // after the last event
    greeted = true
    handlers.opened?.()
    return continues ? handlers.line(true) : catchUp()
  }
  if (name === 'reset') return catchUp()
  if (name === 'state' || name === 'change') {
    if (name === 'change' && !state) return undefined
    state = name === 'state' ? value : merge(state, value)
    return handlers.state(state)
  }
  return homeNames.includes(name) ? handlers.home?.(name, value) : handlers[name]?.(value) // there is no handler of a beat
}
