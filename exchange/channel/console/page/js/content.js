// Shows what is in a thread. All of it is data that somebody else has written.

import { exchange } from './api.js'
import { chip, el, folded, link, size, words } from './dom.js'
import { ago, exact, since } from './times.js'

const drawable = /^data:image\/(jpeg|png|gif|webp|avif);base64,/

/** entry shows one piece of content or context. */
export function entry(ref, one) {
  if (one === null || typeof one !== 'object') return el('p', {}, String(one))
  return el('div', {}, Object.entries(one).map(([type, value]) => typed(ref, type, value)))
}

function typed(ref, type, value) {
  switch (type) {
    case 'text':
      return el('p', {}, String(value))
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      return media(ref, type, value)
    case 'location':
      return place(value)
    case 'confirmation':
      return el('p', {}, value === true ? 'confirmed' : value === false ? 'not confirmed' : String(value))
    case 'structured':
      return structured(value)
    case 'url':
      return linked(String(value))
  }
  return el('div', {}, `${words(type)}: `, told(value, deepest))
}

function linked(text) {
  const href = link(text)
  return el('p', {}, href ? el('a', { href, rel: 'noreferrer noopener', target: '_blank' }, text) : text)
}

function media(ref, type, value) {
  const m = typeof value === 'string' ? { uri: value } : value || {}
  const name = m.file || m.name || type
  if (m.file) {
    const src = exchange.attachment(ref, m.file)
    const shows = { image: () => picture(src, m), audio: () => el('audio', { controls: '', src }), video: () => el('video', { controls: '', src }) }[type]
    return el('figure', { class: 'media' }, shows ? shows() : null,
      el('figcaption', { className: 'meta' }, el('a', { href: src, download: m.file }, m.file), m.size ? ` · ${size(m.size)}` : '', m.captured_at ? [' · captured ', ago(m.captured_at)] : ''))
  }
  if (type === 'image' && drawable.test(m.uri || m.data || '')) return picture(m.uri || m.data, m)
  return m.uri && link(m.uri) ? linked(m.uri) : el('p', {}, `${words(type)}: ${name} (not shown)`)
}

function picture(src, m) {
  const img = el('img', { className: 'picture', src, alt: m.alt || m.caption || words((m.file || 'image').replace(/^att-\d+-image-/, '').replace(/\.\w+$/, '')), loading: 'lazy' })
  return src.startsWith('data:') ? img : el('a', { href: src, target: '_blank', rel: 'noopener' }, img)
}

function place(v) {
  if (typeof v !== 'object' || v === null) return el('p', {}, String(v))
  const at = Number.isFinite(v.lat) && Number.isFinite(v.lng) ? `${v.lat.toFixed(5)}, ${v.lng.toFixed(5)}` : ''
  return el('p', {}, [v.name, at, v.accuracy ? `± ${Math.round(v.accuracy)} m` : ''].filter(Boolean).join(' · '))
}

function structured(v) {
  return v !== null && typeof v === 'object' ? told(v, deepest) : el('p', {}, inWords(v))
}

const deepest = 4 // levels that are told in words

/** told shows a value as people read it: what it holds as a list of names, and what is alike in it as a table. */
function told(v, levels) {
  if (v === null || typeof v !== 'object') return inWords(v)
  if (levels === 0) return el('code', {}, JSON.stringify(v))
  const inner = (x) => told(x, levels - 1)
  if (!Array.isArray(v)) return el('dl', {}, Object.entries(v).map(([k, x]) => [el('dt', {}, words(k)), el('dd', {}, inner(x))]))
  if (!v.length) return 'none'
  if (v.every((x) => x === null || typeof x !== 'object')) return v.map(inWords).join(', ')
  if (v.some((x) => x === null || typeof x !== 'object' || Array.isArray(x))) return el('ul', {}, v.map((x) => el('li', {}, inner(x))))
  const names = [...new Set(v.flatMap(Object.keys))]
  return el('div', { className: 'scroll', tabindex: '0', role: 'region', 'aria-label': names.map(words).join(', ') },
    el('table', {}, el('thead', {}, el('tr', {}, names.map((n) => el('th', { scope: 'col' }, words(n))))),
      el('tbody', {}, v.map((x) => el('tr', {}, names.map((n) => el('td', {}, n in x ? inner(x[n]) : '')))))))
}

/** inWords tells one value: yes, 8 s, 2026-11-22 22:13. */
function inWords(v) {
  if (v === true || v === false) return v ? 'yes' : 'no'
  if (v === null) return 'unknown'
  if (typeof v !== 'string') return String(v)
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d(:[\d.]+)?(Z|[+-]\d\d:\d\d)$/.test(v)) return since(v) || v
  return duration(v)
}

/** timeline shows the messages of a thread, without acks, and without one response that is shown elsewhere. */
export function timeline(thread, me, above) {
  const list = []
  for (const [i, m] of thread.messages.entries()) {
    if (goesOn(m, thread.messages[i + 1])) continue
    const parts = m.mess.flatMap((item) => Object.entries(item)).filter(([kind, v]) => kind !== 'ack' && kind !== 'v' && !(above && v === above))
    if (parts.length === 0) continue
    list.push(el('li', { className: m.from === me ? 'mine' : '' },
      el('p', { className: 'meta' }, el('strong', {}, m.from), ' · ', ago(m.ts)),
      parts.flatMap(([kind, v]) => [kind === 'response' ? late(v || {}, m.ts) : null, said(thread.ref, kind, v || {})])))
  }
  return el('ol', { className: 'timeline' }, list)
}

/** late says when that was so which was told late. A clock that is not set says nothing. */
export function late(v, heard) {
  const at = new Date(v.completed_at)
  return !v.clock && new Date(heard) - at > 5000 ? el('p', { className: 'meta' }, `State at ${exact(at)}, reported late:`) : null
}

/** goesOn reports whether the next message says the same, further on. */
function goesOn(m, next) {
  const [now, then] = [m, next].map((x) => (x?.mess.length === 1 ? x.mess[0].status : null))
  const bar = (s) => s?.code === 'in_progress'
  return bar(now) && bar(then) && m.from === next.from && now.message === then.message
}

function said(ref, kind, v) {
  switch (kind) {
    case 'request':
      return el('div', {}, el('p', {}, v.intent), (v.context || []).map((c) => entry(ref, c)))
    case 'status':
      return status(v)
    case 'response':
      return el('div', {}, (v.content || []).map((c) => entry(ref, c)), v.notes ? el('p', { className: 'meta' }, v.notes) : null)
    case 'reply':
      return reply(v)
    case 'answer':
      return el('div', {}, 'answers: ', told(v.value, deepest))
    case 'cancel':
      return el('p', {}, `cancels the request${v.reason ? `: ${v.reason}` : ''}`)
  }
  return el('p', {}, `${words(kind)}: `, el('code', {}, JSON.stringify(v)))
}

function reply(v) {
  const parts = []
  if (v.confirm !== undefined) parts.push(v.confirm ? 'confirms' : 'rejects')
  for (const [k, x] of Object.entries(v.answers || {})) parts.push([`${words(k)}: `, told(x, deepest)])
  if (v.reason) parts.push(v.reason)
  return el('div', { className: 'said' }, parts.flatMap((p, i) => [i ? ' · ' : null, p]), (v.context || []).map((c) => entry('', c)))
}

/** why is the reason of a status in words. */
export function why(v) {
  if (typeof v.reason === 'string') return v.reason
  return [v.reason?.detail, v.reason?.effect ? `effect: ${v.reason.effect}` : ''].filter(Boolean).join(' · ')
}

function status(v) {
  const more = []
  if (v.message) more.push(el('p', {}, v.message))
  if (why(v)) more.push(folded(why(v)))
  if (v.suggestion) more.push(el('p', {}, v.suggestion))
  for (const q of v.questions || []) more.push(el('p', {}, q.question))
  if (v.action) more.push(el('p', {}, v.action))
  if (v.consequences) more.push(el('p', { className: 'meta' }, v.consequences))
  if (v.delegated_to) more.push(el('p', {}, `to ${v.delegated_to}`))
  if (Number.isFinite(v.progress_pct)) more.push(el('progress', { max: 100, value: String(v.progress_pct), 'aria-label': 'progress' }))
  const known = [v.evidence ? `evidence: ${words(v.evidence)}` : '', v.code === 'claimed' && v.estimate ? `takes about ${duration(v.estimate)}` : ''].filter(Boolean)
  return el('div', {}, el('p', {}, chip(v.code), known.length ? el('span', { className: 'meta' }, ` ${known.join(' · ')}`) : null), more)
}

/** duration tells PT1H30M as 1 h 30 min. */
export function duration(text) {
  const m = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/.exec(text)
  if (!m?.slice(1).some(Boolean)) return text
  return [[m[1], 'days'], [m[2], 'h'], [m[3], 'min'], [m[4] && String(Math.round(m[4] * 10) / 10), 's']].filter(([n]) => n).map(([n, unit]) => `${n} ${n === '1' && unit === 'days' ? 'day' : unit}`).join(' ')
}

/** left tells how long something still takes. */
export function left(eta) {
  if (!eta) return ''
  if (eta.startsWith('P')) return `${duration(eta)} left`
  const at = since(eta)
  return at && `until ${at}`
}

/** last finds the last status of a thread with a code. */
export function last(thread, code) {
  for (const m of thread.messages.toReversed()) {
    for (const item of m.mess) if (item.status?.code === code) return { ...item.status, ref: m.ref, from: m.from, received: m.received }
  }
  return null
}
