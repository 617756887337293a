// The state of the Home view, in one place: what the server has said last, and the taps of this page.
// Components read it and never change it. Each one is drawn again when the values that it shows change:
// a tile when the server has said something about its device.

import { useLayoutEffect, useReducer, useRef } from '../html.js'

export { parse } from '../dom.js'

export const store = {
  me: null, // the signed-in actor
  read: false, // the page has read the home
  shell: false, // it is the stored one: the server did not answer when the page opened
  live: false, // the page receives changes
  contact: 0, // time of the last contact with the server, in ms; 0 before the first
  offset: 0, // clock of the server minus clock of the browser, in ms
  devices: new Map(), // by id
  layout: 0, // number of changes of the list of devices, or of what decides about the place and the controls of one
  executors: new Map(), // by id
  taps: new Map(), // the last tap of each device of this page, by device id
  section: '', // the shown section of the page
  device: '', // the id of the device with the page on Home; '' for the tiles
  minutes: 0, // number of times at which all ages have grown
  state: null, // the last state of the exchange; null before the first
  waiting: [], // threads that wait for this user
  tasksRead: false, // the page has read the tasks since it receives changes, and the messages of those that wait
  tasks: [], // summaries of threads, the newest first
  allTasks: true, // there are no others
  tooMany: false, // a list of open tasks is not complete
  threads: new Map(), // thread by ref, for tasks that need more than a summary
  taskDevice: '', // the device whose tasks the view of tasks shows; '' for all
  task: '', // the ref of the open task
  shownTask: null, // {ref, thread} or {ref, error} of the shown task
  tasksDrawn: 0, // number of changes of the tasks
  pictures: [], // the last pictures
  looked: new Set(JSON.parse(sessionStorage.getItem('messkit-looked') || '[]')), // refs of unknown results that the user has looked at
  filter: '', // words in the search field
  texts: 0, // number of loaded files of texts
  hidden: false, // Home shows the hidden devices, too
}

const listeners = new Set()
let scheduled = false

/** onChange calls a function after changes of the store. The returned function ends that. */
export function onChange(look) {
  listeners.add(look)
  return () => listeners.delete(look)
}

/** tell draws what has changed at once. */
export function tell() {
  scheduled = false
  for (const look of [...listeners]) look()
}

/** notify draws what has changed, at the next frame: several changes at once. A hidden page has no frames. */
export function notify() {
  if (scheduled) return
  scheduled = true
  if (document.hidden) queueMicrotask(tell)
  else requestAnimationFrame(tell)
}

/** useStore draws a component after each change. With select it draws it only if one of the values has changed that select returns. It returns these values. */
export function useStore(select) {
  const [, draw] = useReducer((n) => n + 1, 0)
  const shown = useRef({})
  shown.current = { select, values: select?.(), texts: store.texts }
  useLayoutEffect(() => onChange(() => {
    const { select: look, values, texts } = shown.current
    if (!look || texts !== store.texts || look().some((value, i) => value !== values[i])) draw()
  }), [])
  return shown.current.values
}

/** now is the time at the server. */
export const now = () => Date.now() + store.offset

/** homeDocument returns the home as the server has sent it, null before that. */
export const homeDocument = () => (store.read ? { now: new Date(now()).toISOString(), devices: [...store.devices.values()], executors: [...store.executors.values()] } : null)

/** setHome replaces everything by a document of the home. */
export function setHome(home) {
  store.offset = new Date(home.now) - Date.now()
  const ids = new Set(home.devices.map((d) => d.id))
  for (const id of [...store.devices.keys()]) if (!ids.has(id)) removeDevice(id)
  for (const d of home.devices) setDevice(d)
  store.executors = new Map(home.executors.map((e) => [e.id, e]))
  store.read = true
}

/** placeOf has what decides about the place of a tile and about its controls. */
const placeOf = (d) => JSON.stringify([d.name, d.area, d.class, d.hidden, d.verbs.map((v) => [v.verb, v.effect])])

/** removeDevice forgets a device. */
export function removeDevice(id) {
  if (store.devices.delete(id)) store.layout++
}

/** setDevice takes the state of a device. A tap whose result has come is over, also when a later task has another result. */
export function setDevice(d) {
  const one = store.taps.get(d.id)
  if (one?.ref && d.last?.ref === one.ref) one.over = true
  const was = store.devices.get(d.id)
  store.devices.set(d.id, d)
  if (!was || placeOf(was) !== placeOf(d)) store.layout++
}

let confirmed = { state: null, ids: new Set() } // the executors of a state that have confirmed a stop

/** isConfirmed reports whether an executor that somebody has stopped says that it has stopped. The first state of the exchange comes soon after the home. */
export function isConfirmed(id) {
  if (!store.state) return true
  if (confirmed.state !== store.state) confirmed = { state: store.state, ids: new Set(store.state.executors.filter((e) => e.stopped).map((e) => e.id)) }
  return confirmed.ids.has(id)
}

/** setLooked notes that the user has looked at the device of an unknown result. */
export function setLooked(ref) {
  store.looked.add(ref)
  sessionStorage.setItem('messkit-looked', JSON.stringify([...store.looked].slice(-200)))
  notify()
}

/** mayOperate reports whether this user may operate a device. */
export const mayOperate = () => store.me?.role === 'guest' || store.me?.roles.some((r) => r === 'requester' || r === 'operator')
