// The sentences of the server in the language of the page. The server sends them in English, for every
// client. The file of a language has its texts by sentence. A sentence that is not there stays as it is:
// people and the executors of other makers have their own words.

import { notify, store, useStore } from './home/store.js'
import { html } from './html.js'
import { language, named, number, t } from './text/text.js'

const maxText = 800 // characters of a sentence that is compared
const maxKept = 500 // translations that are kept

let sentences = null // [{form, give}], the most literal first; null before the file has loaded
let parts = [] // the same for those that are only in other sentences
let words = {}
let loading = null
const kept = new Map() // translation or null, by sentence

const quoted = (text) => text.replaceAll('%%', '%').replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
const verb = /%(?:\.\d+|0\d)?([a-z])/g
const slot = /(the )?\{(\w+)\}/g
const groups = { q: '"((?:[^"\\\\]|\\\\.)*)"', d: '(-?[\\d.]+)' }

/** formOf returns the expression of an English sentence, with the length of its literal text. */
function formOf(key, values, group) {
  let [form, at, literal] = ['', 0, 0]
  for (const m of key.matchAll(values)) {
    form += quoted(key.slice(at, m.index)) + group(m)
    literal += m.index - at
    at = m.index + m[0].length
  }
  return { form: new RegExp(`^${form}${quoted(key.slice(at))}$`, 's'), literal: literal + key.length - at }
}

const quotes = /^"(?:[^"\\]|\\.)*"(?:, "(?:[^"\\]|\\.)*")*$/s

/** fill returns a text with the values of a sentence, or null if a value is none that it must be. exact tells which values are the words of a person. */
function fill(text, values, exact) {
  let known = true
  const filled = text.replaceAll(/%(\d)([!|&"]?)/g, (_, n, kind) => {
    const value = values[n - 1] ?? ''
    if (exact[n - 1]) return value
    if (kind === '|') return list(value)
    if (kind === '&') {
      const all = valueText(value) ?? list(value, true)
      if (all === null) known = false
      return all ?? ''
    }
    if (kind === '"') {
      known &&= quotes.test(value)
      return value.replaceAll(/"((?:[^"\\]|\\.)*)"/g, t('said.quoted', { text: '$1' }))
    }
    if (kind !== '!') return slotText(value)
    const said = valueText(value)
    if (said === null) known = false
    return said?.replace(/\.$/, '') ?? ''
  })
  return known ? filled : null
}

function entries(file) {
  return Object.entries(file).map(([key, text]) => {
    const exact = [...key.matchAll(verb)].map((m) => m[1] === 'q')
    return { ...formOf(key, verb, (m) => groups[m[1]] || '(.+?)'), give: (values) => fill(text, values, exact) }
  })
}

const isList = (name) => name === 'areas' || name === 'rooms'

/** phrases returns the sentences of plans: their English texts have named values. */
function phrases(english) {
  return Object.entries(english).filter(([key]) => /^(act|then)\./.test(key)).map(([key, text]) => {
    const names = [...text.matchAll(slot)].map((m) => m[2])
    return { ...formOf(text, slot, (m) => `${m[1] ? '(?:the )?' : ''}${isList(m[2]) ? '(.+?)' : '((?:(?! for \\d)[^,])+?)'}`), give: (values) => t(key, Object.fromEntries(names.map((name, i) => [name, isList(name) ? list(values[i].replaceAll(/\bthe /g, '')) : slotText(values[i])]))) }
  })
}

/** load reads the file of the language once. Until then, the sentences are in English. */
function load() {
  loading ||= Promise.all([import(`./text/said.${language}.js`), import('./text/en.js')]).then(([file, english]) => {
    const byLiteral = (all) => all.toSorted((a, b) => b.literal - a.literal)
    sentences = byLiteral([...entries(file.default), ...phrases(english.default)])
    parts = byLiteral(entries(file.parts))
    words = file.words
    kept.clear()
    store.texts++
    notify()
  }, () => { loading = null })
}

/** lengthText returns a length of time in the language of the page, or null. The server writes "2 hours 30 minutes" or "2h30m0s". */
function lengthText(text) {
  const m = /^(?=.)(?:(\d+)(?: hours?|h))? ?(?:(\d+)(?: minutes?|m))? ?(?:([\d.]+)(?: seconds?|s))?$/.exec(text)
  return m && [m[1] && `${m[1]} h`, m[2] && m[2] !== '0' && `${m[2]} min`, m[3] && m[3] !== '0' && `${number(Number(m[3]))} s`].filter(Boolean).join(' ') || null
}

const wordText = (text) => (Object.hasOwn(words, text) ? words[text] : null)

/** readingText returns a measurement of the server, such as "temperature 21.5 °C (estimated)", or null. */
function readingText(text) {
  const [, name, amount, estimated, age] = /^(\p{L}[\p{L} ]*?)(?: (-?[\d.]+(?: \S{1,8})?|yes|no))?( \(estimated\))?(?: \(measured (\w+) ago\))?$/u.exec(text) || []
  if (!name || !amount && !estimated && !age) return null
  const word = amount ? named('quantity', name, '') : wordText(name)
  const value = amount && (wordText(amount) ?? amount.replace(/^-?[\d.]+/, (n) => number(Number(n))))
  return word && [word, value, estimated && t('said.estimated'), age && t('said.ago', { time: lengthText(age) ?? age })].filter(Boolean).join(' ')
}

/** valueText returns a value of a sentence that has a text of its own, or null. */
const valueText = (text) => lengthText(text) ?? wordText(text) ?? readingText(text) ?? translated(text, true)

/** slotText returns a value of a sentence. */
const slotText = (text) => valueText(text) ?? text.replace(/^-?\d+\.\d+(?=$| )/, (n) => number(Number(n)))

/** list returns a list of the server, whose items can have commas of their own. With strict, it returns null if it has no text for an item. */
function list(text, strict = false) {
  const items = text.split(/(, | or | and )/)
  if (strict && items.length < 2) return null
  let out = ''
  for (let i = 0; i < items.length; i++) {
    if (i % 2) {
      out += items[i] === ' or ' ? t('said.or') : items[i] === ' and ' ? t('said.and') : items[i]
      continue
    }
    let end = items.length
    let found = null
    if (strict) end -= i ? 0 : 2
    for (; end > i; end -= 2) {
      const one = items.slice(i, end).join('')
      found = wordText(one) ?? readingText(one) ?? translated(one, true) ?? translated(one.replace(/\b(it)\b/, 'something'), true)
      if (found !== null) break
    }
    if (strict && found === null) return null
    out += found ?? items[i]
    if (found !== null) i = end - 1
  }
  return out
}

const maxParts = 12 // sentences of a text

const sentenceEnd = /((?<=[.!?]) (?=\p{Lu}))/u
const semicolon = /(; )/

/** partsText returns a text of several parts, such as sentences, or null if it has no text for one of them. */
function partsText(text, separator) {
  const items = text.split(separator)
  if (items.length < 3 || items.length > 2 * maxParts) return null
  const out = []
  for (let at = 0; at < items.length;) {
    let end = items.length - (at ? 0 : 2) // the whole text is none of its parts
    let found = null
    while (end > at && (found = translated(items.slice(at, end).join(''), false)) === null) end -= 2
    if (found === null) return null
    out.push(/[.!?]$/.test(found) ? found : `${found}.`)
    at = end + 1
  }
  return out.join(' ')
}

/** ruleText returns a rejection of the safety policy, "device: rule: sentence", or null. */
function ruleText(text) {
  for (const m of text.matchAll(/(?<=^|: )([a-z_]+): /g)) {
    const said = named('reason', m[1], '') && translated(text.slice(m.index + m[0].length), false)
    if (said) return text.slice(0, m.index) + said
  }
  return null
}

/** fromText returns a sentence with the name of the executor or the device that says it, or null. */
function fromText(text) {
  const [, name, rest] = /^([\p{L}\p{N} ._'-]{1,64}): (.+)$/su.exec(text) || []
  const said = rest ? translated(rest, false) : null
  return said && `${name}: ${said}`
}

/** firstOf returns the text of the first of some sentences that this one is, or null. */
function firstOf(some, text) {
  for (const one of some) {
    const values = one.form.exec(text)
    const found = values && one.give(values.slice(1))
    if (found) return found
  }
  return null
}

/** translated returns a sentence in the language of the page, or null. inside is for the value of another one. */
function translated(text, inside) {
  if (!text || text.length > maxText) return null
  const key = `${inside} ${text}`
  if (kept.has(key)) return kept.get(key)
  kept.set(key, null) // a sentence is not a value of itself
  const found = ruleText(text) ?? partsText(text, sentenceEnd) ?? firstOf(sentences, text) ?? (inside ? firstOf(parts, text) : null) ?? partsText(text, semicolon) ?? fromText(text) ?? list(text, true)
  if (kept.size > maxKept) kept.clear()
  kept.set(key, found)
  return found
}

/** sentenceText returns a sentence of the server in the language of the page, or null if it has no text for it. */
export function sentenceText(text) {
  if (language === 'en' || typeof text !== 'string' || !text) return null
  if (sentences) return translated(text, false)
  load()
  return null
}

/** said returns a sentence of the server in the language of the page, else as it is. */
export const said = (text) => sentenceText(text) ?? text

/** optionText returns an option of a question of the server. */
export function optionText(text) {
  if (language === 'en') return text
  if (!sentences) load()
  return sentences ? slotText(text) : text
}

/** Said shows a sentence of the server. */
export function Said({ text }) {
  useStore()
  const own = sentenceText(text)
  return html`<span lang=${own === null ? 'en' : null}>${own ?? text}</span>`
}
