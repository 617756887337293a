// The stream of the home: GET /api/v1/stream. It lives as long as the event stream of the page, which
// notices a silent server: see events.js.

import { home } from '../api.js'
import { clean } from '../dom.js'
import { keep } from './shell.js'
import { notify, parse, setDevice, setHome, store } from './store.js'
import { serverIsBack } from './taps.js'

const retryDelay = 3000 // ms
const rereadInterval = 60000 // ms; the stream does not send times of readings alone

let source = null
let isWanted = false

/** connect opens the stream. */
export function connect() {
  isWanted = true
  if (source) return
  const s = new EventSource('/api/v1/stream')
  source = s
  const on = (name, take) => s.addEventListener(name, (e) => {
    if (s !== source) return
    store.contact = Date.now()
    take(parse(e.data))
    keep()
    notify()
  })
  s.onopen = () => {
    if (s !== source) return
    setLive(true)
    serverIsBack()
  }
  on('home', setHome)
  on('device', setDevice)
  on('gone', (d) => (d.executor ? store.executors.delete(d.executor) : store.devices.delete(d.id)))
  on('executor', (e) => store.executors.set(e.id, e))
  s.onerror = () => {
    if (s !== source) return
    setLive(false)
    if (s.readyState !== EventSource.CLOSED) return // the browser connects again
    source = null
    setTimeout(() => { if (isWanted) connect() }, retryDelay)
  }
}

/** disconnect closes the stream. */
export function disconnect() {
  isWanted = false
  source?.close()
  source = null
  setLive(false)
}

/** contact notes that the server has just answered. */
export function contact() {
  store.contact = Date.now()
}

function setLive(live) {
  if (store.live && !live) {
    store.contact = Date.now()
    keep(true)
  }
  store.live = live
  notify()
}

setInterval(async () => {
  if (!store.live || document.hidden) return
  try {
    setHome(clean(await home.read()))
    notify()
  } catch {
    // the stream reports a lost server
  }
}, rereadInterval)
