// The event stream of the page: one connection for everything. A hidden page closes it: a browser has
// few connections to one host, and the stop button needs one. The page then shows the time of its last
// event.

import { page, signedOut } from './api.js'
import { parse } from './dom.js'
import { clock, t } from './text/text.js'

let source = null
let handlers = null
let lastEvent = 0 // time of the last event; 0 before the first
let connectedAt = 0 // start of the last connection
const heartbeatTimeout = 40000 // ms; the exchange sends a heartbeat every 15 s

setInterval(checkStream, 5000)

/** checkStream replaces a silent stream, for example after the computer has slept. */
function checkStream() {
  if (!handlers || document.hidden) return
  if (source && Math.abs(Date.now() - Math.max(lastEvent, connectedAt)) < heartbeatTimeout) return // a clock that jumps back also makes a stream look silent
  disconnect()
  handlers.line(false, staleText(t('line.silent')))
  connect()
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

/** follow connects, and calls the handler with the name of each event. handlers.home(name, data) gets the events of the home; without it the stream has none. It reports the connection with handlers.line(connected, text). It calls handlers.opened when the server sends events, and handlers.closed when it does not any more. */
export function follow(on) {
  handlers = on
  document.addEventListener('visibilitychange', () => (document.hidden ? pause() : connect()))
  addEventListener('pageshow', (e) => { if (e.persisted) checkStream() })
  addEventListener('focus', checkStream)
  addEventListener('online', checkStream)
  addEventListener('offline', networkLost)
  connect()
}

/** pause closes the stream of a hidden page. */
function pause() {
  disconnect()
  handlers.line(false, staleText(t('line.paused')))
}

/** networkLost replaces the stream at once. On the host of the exchange, the exchange may be reachable without a network. */
function networkLost() {
  disconnect()
  handlers.line(false, staleText(t('line.nonetwork')))
  connect()
}

/** catchUp reads everything that a new stream does not contain. After that the page is live. */
async function catchUp(s) {
  try {
    await handlers.reset()
    if (s === source) handlers.line(true)
  } catch (err) {
    if (s !== source) return
    disconnect()
    handlers.line(false, staleText(err.message))
    setTimeout(connect, 3000)
  }
}

export function disconnect() {
  source?.close()
  source = null
  handlers?.closed?.()
}

export function connect() {
  if (source || !handlers || document.hidden) return
  const s = new EventSource(handlers.home ? '/console/events?home=true' : '/console/events')
  source = s
  connectedAt = Date.now()
  lastEvent = Math.min(lastEvent, connectedAt)
  let state = null
  let greeted = false
  const on = (name, take) => s.addEventListener(name, (e) => {
    if (s !== source) return
    lastEvent = Date.now()
    handlers.contact?.()
    take(parse(e.data))
  })
  on('hello', ({ resumed }) => {
    handlers.opened?.()
    if (greeted && resumed) return handlers.line(true) // the stream continues after the last event
    greeted = true
    catchUp(s)
  })
  on('beat', () => {})
  on('reset', () => catchUp(s))
  on('state', (whole) => {
    state = whole
    handlers.state(state)
  })
  on('change', (change) => {
    state = merge(state, change)
    handlers.state(state)
  })
  for (const name of names) on(name, (data) => handlers[name]?.(data))
  if (handlers.home) for (const name of homeNames) on(name, (data) => handlers.home(name, data))
  s.onerror = () => {
    if (s !== source) return
    handlers.closed?.()
    handlers.line(false, staleText(t('line.again')))
    if (s.readyState !== EventSource.CLOSED) return
    source = null
    page.who().then(() => setTimeout(connect, 3000), (err) => (signedOut(err) ? location.reload() : setTimeout(connect, 3000)))
  }
}
