// Elements for the content of a thread. All of it is untrusted data.

import { exchange } from './api.js'
import { chip, el, foldedText, link, size, toWords } from './dom.js'
import { agoNode, clockText, timeText } from './times.js'

const drawable = /^data:image\/(jpeg|png|gif|webp|avif);base64,/

/** contentNode returns an element for one entry of content or context. */
export function contentNode(ref, one) {
  if (one === null || typeof one !== 'object') return el('p', {}, String(one))
  return el('div', {}, Object.entries(one).map(([type, value]) => typedNode(ref, type, value)))
}

function typedNode(ref, type, value) {
  switch (type) {
    case 'text':
      return el('p', {}, String(value))
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      return media(ref, type, value)
    case 'location':
      return locationNode(value)
    case 'confirmation':
      return el('p', {}, value === true ? 'confirmed' : value === false ? 'not confirmed' : String(value))
    case 'structured':
      return structured(value)
    case 'url':
      return linked(String(value))
  }
  return el('div', {}, `${toWords(type)}: `, valueNodes(value, maxDepth))
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
    const shows = { image: () => imageNode(src, m), audio: () => el('audio', { controls: '', src }), video: () => el('video', { controls: '', src }) }[type]
    return el('figure', { class: 'media' }, shows ? shows() : null,
      el('figcaption', { className: 'meta' }, el('a', { href: src, download: m.file }, m.file), m.size ? ` · ${size(m.size)}` : '', m.captured_at ? [' · captured ', agoNode(m.captured_at)] : ''))
  }
  if (type === 'image' && drawable.test(m.uri || m.data || '')) return imageNode(m.uri || m.data, m)
  return m.uri && link(m.uri) ? linked(m.uri) : el('p', {}, `${toWords(type)}: ${name} (not shown)`)
}

function imageNode(src, m) {
  const img = el('img', { className: 'picture', src, alt: m.alt || m.caption || toWords((m.file || 'image').replace(/^att-\d+-image-/, '').replace(/\.\w+$/, '')), loading: 'lazy' })
  return src.startsWith('data:') ? img : el('a', { href: src, target: '_blank', rel: 'noopener' }, img)
}

function locationNode(v) {
  if (typeof v !== 'object' || v === null) return el('p', {}, String(v))
  const at = Number.isFinite(v.lat) && Number.isFinite(v.lng) ? `${v.lat.toFixed(5)}, ${v.lng.toFixed(5)}` : ''
  return el('p', {}, [v.name, at, v.accuracy ? `± ${Math.round(v.accuracy)} m` : ''].filter(Boolean).join(' · '))
}

function structured(v) {
  return v !== null && typeof v === 'object' ? valueNodes(v, maxDepth) : el('p', {}, valueText(v))
}

const maxDepth = 4 // levels shown as lists and tables; deeper ones are JSON

/** valueNodes returns a value as text, a list of names and values, or a table of equal objects. */
function valueNodes(v, levels) {
  if (v === null || typeof v !== 'object') return valueText(v)
  if (levels === 0) return el('code', {}, JSON.stringify(v))
  const inner = (x) => valueNodes(x, levels - 1)
  if (!Array.isArray(v)) return el('dl', {}, Object.entries(v).map(([k, x]) => [el('dt', {}, toWords(k)), el('dd', {}, inner(x))]))
  if (!v.length) return 'none'
  if (v.every((x) => x === null || typeof x !== 'object')) return v.map(valueText).join(', ')
  if (v.some((x) => x === null || typeof x !== 'object' || Array.isArray(x))) return el('ul', {}, v.map((x) => el('li', {}, inner(x))))
  const names = [...new Set(v.flatMap(Object.keys))]
  return el('div', { className: 'scroll', tabindex: '0', role: 'region', 'aria-label': names.map(toWords).join(', ') },
    el('table', {}, el('thead', {}, el('tr', {}, names.map((n) => el('th', { scope: 'col' }, toWords(n))))),
      el('tbody', {}, v.map((x) => el('tr', {}, names.map((n) => el('td', {}, n in x ? inner(x[n]) : '')))))))
}

/** valueText returns one value as text: yes, 8 s, 2026-11-22 22:13. */
function valueText(v) {
  if (v === true || v === false) return v ? 'yes' : 'no'
  if (v === null) return 'unknown'
  if (typeof v !== 'string') return String(v)
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d(:[\d.]+)?(Z|[+-]\d\d:\d\d)$/.test(v)) return timeText(v) || v
  return duration(v)
}

/** timeline returns the messages of a thread without acks, and without the response that the page shows elsewhere. */
export function timeline(thread, me, shownElsewhere) {
  const list = []
  for (const [i, m] of thread.messages.entries()) {
    if (isContinued(m, thread.messages[i + 1])) continue
    const parts = m.mess.flatMap((item) => Object.entries(item)).filter(([kind, v]) => kind !== 'ack' && kind !== 'v' && !(shownElsewhere && v === shownElsewhere))
    if (parts.length === 0) continue
    list.push(el('li', { className: m.from === me ? 'mine' : '' },
      el('p', { className: 'meta' }, el('strong', {}, m.from), ' · ', agoNode(m.ts)),
      parts.flatMap(([kind, v]) => [kind === 'response' ? lateNote(v || {}, m.ts) : null, itemNode(thread.ref, kind, v || {})])))
  }
  return el('ol', { className: 'timeline' }, list)
}

/** lateNote returns the time of a state that arrived late, or null. An unset clock gives no time. */
export function lateNote(v, receivedAt) {
  const at = new Date(v.completed_at)
  return !v.clock && new Date(receivedAt) - at > 5000 ? el('p', { className: 'meta' }, `State at ${clockText(at)}, reported late:`) : null
}

/** isContinued reports whether the next message only updates the progress of this one. */
function isContinued(m, next) {
  const [now, then] = [m, next].map((x) => (x?.mess.length === 1 ? x.mess[0].status : null))
  const bar = (s) => s?.code === 'in_progress'
  return bar(now) && bar(then) && m.from === next.from && now.message === then.message
}

function itemNode(ref, kind, v) {
  switch (kind) {
    case 'request':
      return el('div', {}, el('p', {}, v.intent), (v.context || []).map((c) => contentNode(ref, c)))
    case 'status':
      return status(v)
    case 'response':
      return el('div', {}, (v.content || []).map((c) => contentNode(ref, c)), v.notes ? el('p', { className: 'meta' }, v.notes) : null)
    case 'reply':
      return reply(v)
    case 'answer':
      return el('div', {}, 'answers: ', valueNodes(v.value, maxDepth))
    case 'cancel':
      return el('p', {}, `cancels the request${v.reason ? `: ${v.reason}` : ''}`)
  }
  return el('p', {}, `${toWords(kind)}: `, el('code', {}, JSON.stringify(v)))
}

function reply(v) {
  const parts = []
  if (v.confirm !== undefined) parts.push(v.confirm ? 'confirms' : 'rejects')
  for (const [k, x] of Object.entries(v.answers || {})) parts.push([`${toWords(k)}: `, valueNodes(x, maxDepth)])
  if (v.reason) parts.push(v.reason)
  return el('div', { className: 'summary' }, parts.flatMap((p, i) => [i ? ' · ' : null, p]), (v.context || []).map((c) => contentNode('', c)))
}

/** reasonText returns the reason of a status. */
export function reasonText(v) {
  if (typeof v.reason === 'string') return v.reason
  return [v.reason?.detail, v.reason?.effect ? `effect: ${v.reason.effect}` : ''].filter(Boolean).join(' · ')
}

function status(v) {
  const more = []
  if (v.message) more.push(el('p', {}, v.message))
  if (reasonText(v)) more.push(foldedText(reasonText(v)))
  if (v.suggestion) more.push(el('p', {}, v.suggestion))
  for (const q of v.questions || []) more.push(el('p', {}, q.question))
  if (v.action) more.push(el('p', {}, v.action))
  if (v.consequences) more.push(el('p', { className: 'meta' }, v.consequences))
  if (v.delegated_to) more.push(el('p', {}, `to ${v.delegated_to}`))
  if (Number.isFinite(v.progress_pct)) more.push(el('progress', { max: 100, value: String(v.progress_pct), 'aria-label': 'progress' }))
  const known = [v.evidence ? `evidence: ${toWords(v.evidence)}` : '', v.code === 'claimed' && v.estimate ? `takes about ${duration(v.estimate)}` : ''].filter(Boolean)
  return el('div', {}, el('p', {}, chip(v.code), known.length ? el('span', { className: 'meta' }, ` ${known.join(' · ')}`) : null), more)
}

/** duration formats PT1H30M as 1 h 30 min. */
export function duration(text) {
  const m = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/.exec(text)
  if (!m?.slice(1).some(Boolean)) return text
  return [[m[1], 'days'], [m[2], 'h'], [m[3], 'min'], [m[4] && String(Math.round(m[4] * 10) / 10), 's']].filter(([n]) => n).map(([n, unit]) => `${n} ${n === '1' && unit === 'days' ? 'day' : unit}`).join(' ')
}

/** remainingText returns the remaining time of a task. */
export function remainingText(eta) {
  if (!eta) return ''
  if (eta.startsWith('P')) return `${duration(eta)} left`
  const at = timeText(eta)
  return at && `until ${at}`
}

/** lastStatus returns the last status of a thread with a code, or null. */
export function lastStatus(thread, code) {
  for (const m of thread.messages.toReversed()) {
    for (const item of m.mess) if (item.status?.code === code) return { ...item.status, ref: m.ref, from: m.from, received: m.received }
  }
  return null
}
