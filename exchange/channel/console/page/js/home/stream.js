// The changes of the home, which the event stream of the page contains: see events.js.

import { home } from '../api.js'
import { clean, whenIdle } from '../dom.js'
import { keep } from './shell.js'
import { notify, removeDevice, setDevice, setHome, store } from './store.js'
import { serverIsBack } from './taps.js'

const rereadInterval = 60000 // ms; the stream does not send times of readings alone

const take = {
  home: setHome,
  device: setDevice,
  gone: (d) => (d.executor ? store.executors.delete(d.executor) : removeDevice(d.id)),
  executor: (e) => store.executors.set(e.id, e),
}

/** changed takes an event of the home. */
export function changed(name, data) {
  take[name](data)
  notify()
  whenIdle(keep)
}

/** opened notes that the page receives changes. */
export function opened() {
  setLive(true)
  serverIsBack()
}

/** closed notes that the page receives no changes. */
export function closed() {
  setLive(false)
}

/** contact notes that the server has just sent something. */
export function contact() {
  store.contact = Date.now()
}

function setLive(live) {
  if (store.live === live) return
  if (!live) {
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
