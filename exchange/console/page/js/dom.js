// Everything on the page is made here, of elements and text: nothing that has
// come from a request is ever read as HTML.

const props = new Set(['className', 'htmlFor', 'textContent', 'value', 'checked', 'disabled', 'hidden', 'type', 'name', 'src', 'href', 'onclick', 'onsubmit', 'onchange', 'oninput', 'open'])

/** plain is a text in which nothing turns the order of letters round: what is read is what is meant. */
export const plain = (text) => text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '\ufffd')

/** kept are the children that there are. */
const kept = (children) => children.flat().filter((c) => c !== null && c !== undefined && c !== false && c !== '').map((c) => (typeof c === 'string' ? plain(c) : c))

/** el makes an element: el('p', {className: 'meta'}, 'text', other). What is null or false is left out. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue
    if (props.has(name)) node[name] = value
    else node.setAttribute(name, value)
  }
  node.append(...kept(children))
  return node
}

/** fill replaces what is in an element. */
export function fill(node, ...children) {
  node.replaceChildren(...kept(children))
}

const drawn = new WeakMap() // what an element was last refilled with

/** refill is fill for what is drawn anew while somebody is at it: what says the same stays as it is; who has gone to a button with the keyboard stays there, and what was chosen stays chosen. */
export function refill(node, ...children) {
  const next = document.createElement('div')
  fill(next, ...children)
  if (drawn.get(node)?.isEqualNode(next)) return
  drawn.set(node, next.cloneNode(true))
  const at = node.contains(document.activeElement) ? named(document.activeElement) : ''
  const chosen = [...node.querySelectorAll('select[id]')].map((s) => [s.id, s.value])
  node.replaceChildren(...next.childNodes)
  for (const [id, value] of chosen) if ($(id)) $(id).value = value
  if (at) [...node.querySelectorAll('a, button, input, select, summary')].find((e) => named(e) === at)?.focus({ preventScroll: true })
}

const named = (e) => `${e.tagName} ${e.id || e.getAttribute('aria-label') || e.getAttribute('href') || e.textContent}`

export const $ = (id) => document.getElementById(id)

/** toTop shows what stands first, when what somebody was at has gone: the keyboard goes on there, too. */
export function toTop() {
  $('main').focus({ preventScroll: true })
  scrollTo({ top: 0, behavior: 'instant' })
}

/** randomId is an id that nobody else makes; crypto.randomUUID is missing over plain HTTP. */
export function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12))
  return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')
}

/** words makes needs_input and switch-on into words. */
export const words = (code) => String(code).replaceAll(/[_-]/g, ' ')

/** ago tells a time as people do. */
export function ago(when) {
  const at = new Date(when)
  const seconds = (Date.now() - at) / 1000
  if (Number.isNaN(seconds)) return ''
  if (Math.abs(seconds) < 45) return 'just now'
  if (seconds > 0 && seconds < 3600) return `${Math.round(seconds / 60)} min ago`
  if (Math.abs(seconds) < 20 * 3600) return at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
  return at.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })
}

/** since tells a time as one that lies back: 10:02, or with its day. */
export function since(when) {
  const at = new Date(when)
  return at.toDateString() === new Date().toDateString() ? at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' }) : at.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })
}

const readable = 180 // letters that are read at a glance

/** folded shows the beginning of a long text, and the rest for who wants it. */
export function folded(text) {
  const at = text.length > readable + 60 ? Math.max(text.lastIndexOf(', ', readable), text.lastIndexOf('; ', readable)) : -1
  if (at < 40) return el('p', {}, text)
  return el('div', {}, el('p', {}, `${text.slice(0, at)} …`), el('details', {}, el('summary', {}, 'more'), el('p', {}, text.slice(at + 2))))
}

/** size tells a number of bytes. */
export function size(n) {
  if (n < 10240) return `${n} bytes`
  if (n < 10 << 20) return `${n >> 10} KB`
  return `${Math.round(n / (1 << 20))} MB`
}

/** link returns an address if a person may follow it, and null otherwise: never javascript: or data:. */
export function link(text) {
  try {
    const url = new URL(text)
    return ['http:', 'https:'].includes(url.protocol) ? url.href : null
  } catch {
    return null
  }
}

/** chip shows a status with its colour. */
export function chip(code) {
  const kind = { completed: 'good', in_progress: 'good', failed: 'bad', declined: 'bad', expired: 'bad', needs_input: 'warn', needs_confirmation: 'warn', held: 'warn', partial: 'warn' }[code]
  return el('span', { className: `chip ${kind || ''}` }, words(code))
}
