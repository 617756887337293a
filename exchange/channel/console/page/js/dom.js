// Functions that build the page from elements and text. The page never parses the text of a
// request as HTML.

import { language, named } from './text/text.js'

const props = new Set(['className', 'htmlFor', 'textContent', 'value', 'checked', 'disabled', 'hidden', 'type', 'name', 'src', 'href', 'onclick', 'onsubmit', 'onchange', 'oninput', 'open'])

// The same sets as in package cleantext: control characters and characters that change the
// direction of writing, flags in tag characters, and invisible characters.
const controlCharacters = /(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u
const special = /\u{1f3f4}\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074})\u{e007f}|\u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}|(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]|\p{Default_Ignorable_Code_Point}|[\ufff9-\ufffb]/gu
const joining = /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}\u064b-\u065f\u0670]/u
const symbol = /(?![ -~])[\p{S}\p{P}]/u

const ordinary = /^[\t\n -~]*$/ // a text without special characters

/** isUsedJoiner reports whether a script or an emoji uses the invisible character c between two others. */
function isUsedJoiner(before, c, next) {
  if (/[\u200c\u200d]/.test(c)) return (joining.test(before) && (joining.test(next) || /\p{M}/u.test(before))) || (c === '\u200d' && /[\p{S}\ufe0f]/u.test(before) && symbol.test(next))
  if (/[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u.test(c)) return /\p{Script=Han}/u.test(before) || (c.length === 1 && (symbol.test(before) || (next === '\u20e3' && /[0-9#*]/.test(before))))
  return false
}

/** plain returns a text without hidden characters and without characters that change the order of letters. */
export const plain = (text) => (ordinary.test(text) ? text : text.replace(special, (c, at) => {
  if (c.startsWith('\u{1f3f4}')) return c
  if (controlCharacters.test(c)) return '\ufffd'
  const next = text.codePointAt(at + c.length)
  return isUsedJoiner([...text.slice(Math.max(0, at - 2), at)].pop() || '', c, next ? String.fromCodePoint(next) : '') ? c : ''
}))

const exact = new Set(['id', 'executor', 'executor_id', 'requestor_id', 'device', 'ref', 'at', 'as_of', 'since', 'now', 'last_seen', 'verb', 'quantity']) // the page sends them or compares them

/** parse reads JSON of the server. Texts lose hidden characters. */
export const parse = (text) => JSON.parse(text, (key, v) => (typeof v === 'string' && !exact.has(key) ? plain(v) : v))

/** clean returns a value of the server that was read in another way, as parse returns it. */
export const clean = (value) => parse(JSON.stringify(value))

const textAttributes = new Set(['textContent', 'aria-label', 'title', 'alt', 'placeholder'])

/** cleanChildren flattens children, removes empty ones, and cleans texts. */
const cleanChildren = (children) => children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false && c !== '').map((c) => (typeof c === 'string' ? plain(c) : c))

/** el makes an element: el('p', {className: 'meta'}, 'text', other). It skips null and false. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue
    const clean = textAttributes.has(name) && typeof value === 'string' ? plain(value) : value
    if (props.has(name)) node[name] = clean
    else node.setAttribute(name, clean)
  }
  node.append(...cleanChildren(children))
  return node
}

/** fill replaces the children of an element. */
export function fill(node, ...children) {
  lastDrawn.delete(node)
  node.replaceChildren(...cleanChildren(children))
}

const lastDrawn = new WeakMap() // the last content that refill gave an element

/** refill replaces the children of an element that the user may be working in. Equal content stays as it is; input, focus and playing media survive. */
export function refill(node, ...children) {
  const next = document.createElement('div')
  fill(next, ...children)
  if (lastDrawn.get(node)?.isEqualNode(next)) return
  lastDrawn.set(node, next.cloneNode(true))
  replaceKeepingState(node, () => node.replaceChildren(...next.childNodes))
}

/** replaceKeepingState calls draw, which replaces the children of an element. It keeps the focus (or moves it next to a removed element), input, open details and playing media. */
export function replaceKeepingState(node, draw) {
  const at = node.contains(document.activeElement) ? document.activeElement : null
  const place = at && elementKey(at)
  const all = (what) => [...node.querySelectorAll(what)]
  const entered = new Map(all(fields).filter((e) => e.id || e.name).map((e) => [elementKey(e), e]))
  const opened = new Set(all('details[open] > summary').map(elementKey))
  const players = new Map(all('audio, video').map((e) => [e.src, e]))
  draw()
  for (const e of all(fields)) {
    const was = entered.get(elementKey(e))
    if (!was || was === e) continue
    if (isCheckable(e)) e.checked = was.checked
    else if (e.tagName !== 'SELECT' || [...e.options].some((o) => o.value === was.value)) e.value = was.value
  }
  for (const e of all('details > summary')) if (opened.has(elementKey(e))) e.parentElement.open = true
  for (const e of all('audio, video')) if (players.has(e.src)) e.replaceWith(players.get(e.src))
  if (!at || document.activeElement === at) return
  const now = at.isConnected ? at : all('a, button, input, textarea, select, summary, [tabindex]').find((e) => elementKey(e) === place)
  ;(now || node.closest('[tabindex]'))?.focus({ preventScroll: true })
}

/** releaseFocus moves the focus from a button to its container before the button is disabled: the browser would move it to the top of the page. The returned function moves it back, unless the user has moved on. */
export function releaseFocus(node) {
  const at = node.contains(document.activeElement) ? document.activeElement : null
  const place = at?.closest('[tabindex]')
  place?.focus({ preventScroll: true })
  return () => { if ([document.body, place].includes(document.activeElement)) at?.focus({ preventScroll: true }) }
}

const fields = 'select, textarea, input:not([type=file])'
const isCheckable = (e) => e.type === 'radio' || e.type === 'checkbox'

/** elementKey returns a key that identifies an element over redraws. */
const elementKey = (e) => [e.tagName, e.closest('[data-ref]')?.dataset.ref, e.id || `${e.name || ''}=${isCheckable(e) ? e.value : ''}`, e.id ? '' : e.getAttribute('aria-label') || e.getAttribute('href') || e.textContent].join(' ')

/** truncate returns the beginning of a long text. */
export const truncate = (text, most) => (text.length > most ? `${text.slice(0, most)} …` : text)

export const $ = (id) => document.getElementById(id)

/** toTop scrolls to the top and moves the focus there, after the element that the user worked in has gone. */
export function toTop() {
  $('main').focus({ preventScroll: true })
  scrollTo({ top: 0, behavior: 'instant' })
}

/** randomId returns a unique id. crypto.randomUUID is missing over plain HTTP. */
export function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12))
  return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')
}

/** toWords turns needs_input and switch-on into words. */
export const toWords = (code) => String(code).replaceAll(/[_-]/g, ' ')

const foldLength = 180 // characters shown before the fold

/** foldedText returns a text; it folds the end of a long one. */
export function foldedText(text) {
  const at = text.length > foldLength + 60 ? Math.max(text.lastIndexOf(', ', foldLength), text.lastIndexOf('; ', foldLength)) : -1
  if (at < 40) return el('p', {}, text)
  return el('div', {}, el('p', {}, `${text.slice(0, at)} …`), el('details', {}, el('summary', {}, 'more'), el('p', {}, text.slice(at + 2))))
}

/** size formats a number of bytes. */
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

/** chip returns a status with its color. */
export function chip(code) {
  const kind = { completed: 'good', in_progress: 'good', failed: 'bad', declined: 'bad', expired: 'bad', needs_input: 'warn', needs_confirmation: 'warn', held: 'warn', partial: 'warn' }[code]
  return el('span', { className: `chip ${kind || ''}` }, language === 'en' ? toWords(code) : named('status', code))
}
