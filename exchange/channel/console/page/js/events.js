// The event stream of the page. A hidden page closes it: a browser has few connections to one
// host, and the stop button needs one. The page then shows the time of its last event.

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

/** follow connects, and calls the handler with the name of each event. It reports the connection with handlers.line(connected, text), and calls handlers.closed when it closes the stream. */
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
  const s = new EventSource('/console/events')
  source = s
  connectedAt = Date.now()
  lastEvent = Math.min(lastEvent, connectedAt)
  let greeted = false
  s.addEventListener('hello', () => {
    if (s !== source) return
    lastEvent = Date.now()
    if (greeted) return handlers.line(true) // the stream continues after the last event
    greeted = true
    catchUp(s)
  })
  s.onerror = () => {
    if (s !== source) return
    handlers.line(false, staleText(t('line.again')))
    if (s.readyState !== EventSource.CLOSED) return
    source = null
    page.who().then(() => setTimeout(connect, 3000), (err) => (signedOut(err) ? location.reload() : setTimeout(connect, 3000)))
  }
  for (const name of ['state', 'thread', 'offer', 'withdrawn', 'reset']) {
    s.addEventListener(name, (e) => {
      lastEvent = Date.now()
      if (name === 'reset') return catchUp(s)
      handlers[name]?.(parse(e.data))
    })
  }
}
