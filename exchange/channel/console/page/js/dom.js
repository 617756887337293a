// Functions for texts and elements of the page. The page never parses the text of a request as HTML.

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

/** releaseFocus moves the focus from a button to its container before the button is disabled: the browser would move it to the top of the page. The returned function moves it back, unless the user has moved on. */
export function releaseFocus(node) {
  const at = node.contains(document.activeElement) ? document.activeElement : null
  const place = at?.closest('[tabindex]')
  place?.focus({ preventScroll: true })
  return () => { if ([document.body, place].includes(document.activeElement)) at?.focus({ preventScroll: true }) }
}

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

/** size formats a number of bytes. */
export function size(n) {
  if (n < 10240) return `${n} bytes`
  if (n < 10 << 20) return `${n >> 10} KB`
  return `${Math.round(n / (1 << 20))} MB`
}

/** taskLink is the address of a task in the page. */
export const taskLink = (ref) => `#task/${encodeURIComponent(ref)}`

/** link returns an address if a person may follow it, and null otherwise: never javascript: or data:. */
export function link(text) {
  try {
    const url = new URL(text)
    return ['http:', 'https:'].includes(url.protocol) ? url.href : null
  } catch {
    return null
  }
}

const idleTimeout = 500 // ms

/** whenIdle calls a function when the browser has nothing to do, or half a second later. */
export const whenIdle = (f) => (globalThis.requestIdleCallback ? requestIdleCallback(() => f(), { timeout: idleTimeout }) : setTimeout(f, 1))
