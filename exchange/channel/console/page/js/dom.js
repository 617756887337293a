// Everything on the page is made here, of elements and text: nothing that has
// come from a request is ever read as HTML.

const props = new Set(['className', 'htmlFor', 'textContent', 'value', 'checked', 'disabled', 'hidden', 'type', 'name', 'src', 'href', 'onclick', 'onsubmit', 'onchange', 'oninput', 'open'])

// As package cleantext has it: control characters and characters that change the
// direction of writing, flags that are written in tags, and invisible characters.
const marks = /(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u
const special = /\u{1f3f4}\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074})\u{e007f}|\u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}|(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]|\p{Default_Ignorable_Code_Point}|[\ufff9-\ufffb]/gu
const joining = /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}\u064b-\u065f\u0670]/u
const symbol = /(?![ -~])[\p{S}\p{P}]/u

/** used reports whether a script or an emoji uses the invisible character c between two others. */
function used(before, c, next) {
  if (/[\u200c\u200d]/.test(c)) return (joining.test(before) && (joining.test(next) || /\p{M}/u.test(before))) || (c === '\u200d' && /[\p{S}\ufe0f]/u.test(before) && symbol.test(next))
  if (/[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u.test(c)) return /\p{Script=Han}/u.test(before) || (c.length === 1 && (symbol.test(before) || (next === '\u20e3' && /[0-9#*]/.test(before))))
  return false
}

/** plain is a text in which nothing is hidden and nothing changes the order of letters: what is read is what is meant. */
export const plain = (text) => text.replace(special, (c, at) => {
  if (c.startsWith('\u{1f3f4}')) return c
  if (marks.test(c)) return '\ufffd'
  const next = text.codePointAt(at + c.length)
  return used([...text.slice(Math.max(0, at - 2), at)].pop() || '', c, next ? String.fromCodePoint(next) : '') ? c : ''
})

const shown = new Set(['textContent', 'aria-label', 'title', 'alt', 'placeholder'])

/** kept are the children that there are. */
const kept = (children) => children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false && c !== '').map((c) => (typeof c === 'string' ? plain(c) : c))

/** el makes an element: el('p', {className: 'meta'}, 'text', other). What is null or false is left out. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue
    const clean = shown.has(name) && typeof value === 'string' ? plain(value) : value
    if (props.has(name)) node[name] = clean
    else node.setAttribute(name, clean)
  }
  node.append(...kept(children))
  return node
}

/** fill replaces what is in an element. */
export function fill(node, ...children) {
  drawn.delete(node)
  node.replaceChildren(...kept(children))
}

const drawn = new WeakMap() // what an element was last refilled with

/** refill is fill for what is drawn anew while somebody is at it: what says the same stays as it is, and what she has begun there stays with the rest. */
export function refill(node, ...children) {
  const next = document.createElement('div')
  fill(next, ...children)
  if (drawn.get(node)?.isEqualNode(next)) return
  drawn.set(node, next.cloneNode(true))
  swap(node, () => node.replaceChildren(...next.childNodes))
}

/** swap has draw put other elements into one. Who has gone to something there with the keyboard stays there, or beside it where it has gone; what was entered, chosen and opened stays so, and what plays goes on. */
export function swap(node, draw) {
  const at = node.contains(document.activeElement) ? document.activeElement : null
  const place = at && named(at)
  const all = (what) => [...node.querySelectorAll(what)]
  const entered = new Map(all(fields).filter((e) => e.id || e.name).map((e) => [named(e), e]))
  const opened = new Set(all('details[open] > summary').map(named))
  const players = new Map(all('audio, video').map((e) => [e.src, e]))
  draw()
  for (const e of all(fields)) {
    const was = entered.get(named(e))
    if (!was || was === e) continue
    if (ticked(e)) e.checked = was.checked
    else if (e.tagName !== 'SELECT' || [...e.options].some((o) => o.value === was.value)) e.value = was.value
  }
  for (const e of all('details > summary')) if (opened.has(named(e))) e.parentElement.open = true
  for (const e of all('audio, video')) if (players.has(e.src)) e.replaceWith(players.get(e.src))
  if (!at || document.activeElement === at) return
  const now = at.isConnected ? at : all('a, button, input, textarea, select, summary, [tabindex]').find((e) => named(e) === place)
  ;(now || node.closest('[tabindex]'))?.focus({ preventScroll: true })
}

/** leave takes the keyboard from a button that is about to be off to what it stands in, or the browser takes it to the top of the page. What it returns brings it back, unless somebody has gone on. */
export function leave(node) {
  const at = node.contains(document.activeElement) ? document.activeElement : null
  const place = at?.closest('[tabindex]')
  place?.focus({ preventScroll: true })
  return () => { if ([document.body, place].includes(document.activeElement)) at?.focus({ preventScroll: true }) }
}

const fields = 'select, textarea, input:not([type=file])'
const ticked = (e) => e.type === 'radio' || e.type === 'checkbox'

/** named is by what an element is known again. */
const named = (e) => [e.tagName, e.closest('[data-ref]')?.dataset.ref, e.id || `${e.name || ''}=${ticked(e) ? e.value : ''}`, e.id ? '' : e.getAttribute('aria-label') || e.getAttribute('href') || e.textContent].join(' ')

/** cut is the beginning of a text that is too long for its place; all of it stands elsewhere. */
export const cut = (text, most) => (text.length > most ? `${text.slice(0, most)} …` : text)

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
