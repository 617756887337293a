// What changes comes over one stream. While nobody looks at the page it is
// closed: a browser has few connections to one host, and the stop button needs
// one. The page says so: what it shows is as old as the last that came.

import { page, signedOut } from './api.js'
import { exact } from './times.js'

let source = null
let handlers = null
let heard = 0 // when something has come; 0: nothing yet
let since = 0 // when a connection was begun
const silence = 40000 // ms; the exchange gives a sign of life every 15 s

setInterval(look, 5000)

/** look closes a stream that has fallen silent, and begins anew: a computer that has slept has one. */
function look() {
  if (!handlers || document.hidden) return
  if (source && Math.abs(Date.now() - Math.max(heard, since)) < silence) return // a clock that is set back tells nothing either
  hangUp()
  handlers.line(false, old('no events since then; reconnecting'))
  connect()
}

/** old tells how old the page is, and why. */
function old(why) {
  return heard ? `as of ${exact(heard)}: ${why}` : why
}

/** follow calls handlers by the name of the event, and handlers.line(connected, text). */
export function follow(on) {
  handlers = on
  document.addEventListener('visibilitychange', () => (document.hidden ? pause() : connect()))
  addEventListener('pageshow', (e) => { if (e.persisted) look() })
  addEventListener('focus', look)
  addEventListener('online', look)
  addEventListener('offline', cutOff)
  connect()
}

/** pause closes the stream while nobody looks. */
function pause() {
  hangUp()
  handlers.line(false, old('paused while the page is hidden'))
}

/** cutOff does not wait for a stream to find out that the network has gone. On the exchange's own machine there may be none, and it is there. */
function cutOff() {
  hangUp()
  handlers.line(false, old('no network'))
  connect()
}

/** caughtUp reads what a new stream does not tell; the page is live when that has come. */
async function caughtUp(s) {
  try {
    await handlers.reset()
    if (s === source) handlers.line(true)
  } catch (err) {
    if (s !== source) return
    hangUp()
    handlers.line(false, old(err.message))
    setTimeout(connect, 3000)
  }
}

export function hangUp() {
  source?.close()
  source = null
}

export function connect() {
  if (source || !handlers || document.hidden) return
  const s = new EventSource('/console/events')
  source = s
  since = Date.now()
  heard = Math.min(heard, since)
  let met = false
  s.addEventListener('hello', () => {
    if (s !== source) return
    heard = Date.now()
    if (met) return handlers.line(true) // what came meanwhile comes now
    met = true
    caughtUp(s)
  })
  s.onerror = () => {
    if (s !== source) return
    handlers.line(false, old('not connected; reconnecting'))
    if (s.readyState !== EventSource.CLOSED) return
    source = null
    page.who().then(() => setTimeout(connect, 3000), (err) => (signedOut(err) ? location.reload() : setTimeout(connect, 3000)))
  }
  for (const name of ['state', 'thread', 'offer', 'withdrawn', 'reset']) {
    s.addEventListener(name, (e) => {
      heard = Date.now()
      if (name === 'reset') return caughtUp(s)
      handlers[name]?.(JSON.parse(e.data))
    })
  }
}
