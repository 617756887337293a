// The last known home. This browser keeps it, and shows it while the server does not answer. Nothing
// in it acts, and the page sends nothing later.

import { homeDocument, notify, parse, setHome, store } from './store.js'

const key = 'messkit-home'
const keepInterval = 15000 // ms
const maxSize = 1 << 20 // characters

let kept = 0

/** keep stores the home, at most every 15 s, or at once. */
export function keep(atOnce) {
  if (!store.read || store.shell || !atOnce && Date.now() - kept < keepInterval) return
  kept = Date.now()
  const text = JSON.stringify({ at: store.contact || kept, home: homeDocument() })
  try {
    if (text.length <= maxSize) localStorage.setItem(key, text)
    else forget()
  } catch {
    // the browser has no room for it
  }
}

/** forget removes the stored home: nobody is signed in any more. */
export function forget() {
  localStorage.removeItem(key)
}

/** open shows the stored home without verbs. It returns false if there is none. */
export function open() {
  const text = localStorage.getItem(key)
  if (!text) return false
  try {
    const { at, home } = parse(text)
    setHome({ ...home, devices: home.devices.map((d) => ({ ...d, verbs: [], task: undefined, last: undefined })) })
    Object.assign(store, { shell: true, contact: new Date(at).getTime(), offset: 0, me: { actor: '', roles: [] } })
  } catch {
    forget()
    return false
  }
  notify()
  return true
}
