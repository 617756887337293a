// Components for the content and the messages of a thread. All of it is untrusted data.

import { exchange } from './api.js'
import { link, size, toWords } from './dom.js'
import { useStore } from './home/store.js'
import { html } from './html.js'
import { Age, Chip, Folded } from './parts.js'
import { Said, said } from './said.js'
import { clock, language, measure, named, number, switchText, t } from './text/text.js'
import { duration, lateTime, reasonOf } from './thread.js'

const drawable = /^data:image\/(jpeg|png|gif|webp|avif);base64,/

/** Content shows one entry of content or context. own says that it is of the executor of the task. */
export function Content({ thread, one, own }) {
  if (one === null || typeof one !== 'object') return html`<${Words} text=${String(one)} own=${own} />`
  return html`<div>${Object.entries(one).map(([type, value]) => html`<${Typed} thread=${thread} type=${type} value=${value} own=${own} />`)}</div>`
}

/** Words shows a text. own says that it is of the executor of the task: its sentences have a text in the language of the page. */
function Words({ text, own }) {
  useStore()
  return html`<p>${own ? said(text) : text}</p>`
}

function Typed({ thread, type, value, own }) {
  switch (type) {
    case 'text':
      return html`<${Words} text=${String(value)} own=${own} />`
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      return html`<${Media} thread=${thread} type=${type} value=${value} />`
    case 'location':
      return html`<${Position} v=${value} />`
    case 'confirmation':
      return html`<p>${value === true ? t('content.confirmed') : value === false ? t('content.unconfirmed') : String(value)}</p>`
    case 'structured':
      return value !== null && typeof value === 'object' ? html`<${Value} v=${value} />` : html`<p>${valueText(value)}</p>`
    case 'url':
      return html`<${Linked} text=${String(value)} />`
  }
  return html`<div>${`${toWords(type)}: `}<${Value} v=${value} /></div>`
}

function Linked({ text }) {
  const href = link(text)
  return html`<p>${href ? html`<a href=${href} rel="noreferrer noopener" target="_blank">${text}</a>` : text}</p>`
}

function Media({ thread, type, value }) {
  const m = typeof value === 'string' ? { uri: value } : value || {}
  if (m.file) {
    const src = exchange.attachment(thread, m.file)
    return html`<figure class="media">${type === 'image' ? html`<${Picture} src=${src} m=${m} />` : type === 'audio' ? html`<audio controls src=${src}></audio>` : type === 'video' ? html`<video controls src=${src}></video>` : null}
      <figcaption class="meta"><a href=${src} download=${m.file}>${m.file}</a>${m.size ? ` · ${size(m.size)}` : ''}${m.captured_at ? html` · ${t('content.captured')} <${Age} at=${m.captured_at} />` : null}</figcaption></figure>`
  }
  if (type === 'image' && drawable.test(m.uri || m.data || '')) return html`<${Picture} src=${m.uri || m.data} m=${m} />`
  return m.uri && link(m.uri) ? html`<${Linked} text=${m.uri} />` : html`<p>${t('content.hidden', { type: toWords(type), name: m.file || m.name || type })}</p>`
}

function Picture({ src, m }) {
  const img = html`<img class="picture" src=${src} alt=${m.alt || m.caption || toWords((m.file || t('content.image')).replace(/^att-\d+-image-/, '').replace(/\.\w+$/, ''))} loading="lazy" />`
  return src.startsWith('data:') ? img : html`<a href=${src} target="_blank" rel="noopener">${img}</a>`
}

function Position({ v }) {
  if (typeof v !== 'object' || v === null) return html`<p>${String(v)}</p>`
  const at = Number.isFinite(v.lat) && Number.isFinite(v.lng) ? `${v.lat.toFixed(5)}, ${v.lng.toFixed(5)}` : ''
  return html`<p>${[v.name, at, v.accuracy ? `± ${Math.round(v.accuracy)} m` : ''].filter(Boolean).join(' · ')}</p>`
}

const maxDepth = 4 // levels shown as lists and tables; deeper ones are JSON

const isPlain = (x) => x === null || typeof x !== 'object'

/** isMeasurement reports whether an object is one measured value: {value, unit, at, age, clock}. */
const isMeasurement = (v) => 'value' in v && isPlain(v.value) && Object.keys(v).every((k) => ['value', 'unit', 'at', 'age', 'clock', 'estimated'].includes(k))

/** measurementText returns a measured value with its unit and its time. */
function measurementText(v, name) {
  const value = typeof v.value === 'number' && v.unit ? measure(v.value, v.unit) : valueText(v.value, name)
  const text = v.estimated ? t('value.estimated', { value }) : value
  return v.at ? `${text} (${clock(v.at)})` : text
}

/** Value shows a value as text, a list of names and values, or a table of equal objects. */
export function Value({ v, name, levels = maxDepth }) {
  if (isPlain(v)) return valueText(v, name)
  if (levels === 0) return html`<code>${JSON.stringify(v)}</code>`
  if (!Array.isArray(v) && isMeasurement(v)) return measurementText(v, name)
  const inner = (x, name) => html`<${Value} v=${x} name=${name} levels=${levels - 1} />`
  if (!Array.isArray(v)) return html`<dl>${Object.entries(v).map(([k, x]) => html`<dt>${named('quantity', k)}</dt><dd>${inner(x, k)}</dd>`)}</dl>`
  if (!v.length) return t('content.none')
  if (v.every(isPlain)) return v.map((x) => valueText(x)).join(', ')
  if (v.some((x) => isPlain(x) || Array.isArray(x))) return html`<ul>${v.map((x) => html`<li>${inner(x)}</li>`)}</ul>`
  const names = [...new Set(v.flatMap(Object.keys))]
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${names.map((n) => named('quantity', n)).join(', ')}>
    <table><thead><tr>${names.map((n) => html`<th scope="col">${named('quantity', n)}</th>`)}</tr></thead>
      <tbody>${v.map((x) => html`<tr>${names.map((n) => html`<td>${n in x ? inner(x[n], n) : ''}</td>`)}</tr>`)}</tbody></table></div>`
}

/** valueText returns one value as text: yes, 8 s, 22:13. That of the quantity on is On or Off. */
export function valueText(v, quantity) {
  if (quantity === 'on' && typeof v === 'boolean') return switchText(v)
  if (v === true || v === false) return t(v ? 'yes' : 'no')
  if (v === null) return t('unknown')
  if (typeof v === 'number') return number(v)
  if (typeof v !== 'string') return String(v)
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d(:[\d.]+)?(Z|[+-]\d\d:\d\d)$/.test(v) && !Number.isNaN(Date.parse(v))) return clock(v)
  return duration(v)
}

/** Timeline shows the messages of a thread without acks, and without the response that the page shows elsewhere. */
export function Timeline({ thread, me, without }) {
  const list = thread.messages.map((m, i) => {
    const parts = m.mess.flatMap((item) => Object.entries(item)).filter(([kind, v]) => kind !== 'ack' && kind !== 'v' && !(without && v === without))
    if (!parts.length || isContinued(m, thread.messages[i + 1])) return null
    return html`<li key=${m.ref || i} class=${m.from === me ? 'mine' : ''}><p class="meta"><strong>${m.from}</strong> · <${Age} at=${m.ts} /></p>
      ${parts.map(([kind, v]) => html`${kind === 'response' ? html`<${Late} response=${v || {}} at=${m.ts} />` : null}<${Item} thread=${thread.ref} kind=${kind} v=${v || {}} />`)}</li>`
  })
  return html`<ol class="timeline">${list}</ol>`
}

/** Late shows the time of a state that arrived late. */
export function Late({ response, at }) {
  const time = lateTime(response, at)
  return time ? html`<p class="meta">${t('content.late', { time: clock(time, true) })}</p>` : null
}

/** isContinued reports whether the next message only updates the progress of this one. */
function isContinued(m, next) {
  const [now, then] = [m, next].map((x) => (x?.mess.length === 1 ? x.mess[0].status : null))
  const bar = (s) => s?.code === 'in_progress'
  return bar(now) && bar(then) && m.from === next.from && now.message === then.message
}

function Item({ thread, kind, v }) {
  switch (kind) {
    case 'request':
      return html`<div><p>${v.intent}</p>${(v.context || []).map((c) => html`<${Content} thread=${thread} one=${c} />`)}</div>`
    case 'status':
      return html`<${Status} v=${v} />`
    case 'response':
      return html`<div>${(v.content || []).map((c) => html`<${Content} thread=${thread} one=${c} own=${true} />`)}${v.notes ? html`<p class="meta"><${Said} text=${v.notes} /></p>` : null}</div>`
    case 'reply':
      return html`<${Reply} v=${v} />`
    case 'answer':
      return html`<div>${t('content.answers')} <${Value} v=${v.value} /></div>`
    case 'cancel':
      return html`<p>${t('content.cancels')}${v.reason ? `: ${v.reason}` : ''}</p>`
  }
  return html`<p>${`${toWords(kind)}: `}<code>${JSON.stringify(v)}</code></p>`
}

function Reply({ v }) {
  const parts = [v.confirm !== undefined && t(v.confirm ? 'content.confirms' : 'content.rejects'), ...Object.entries(v.answers || {}).map(([k, x]) => html`${`${toWords(k)}: `}<${Value} v=${x} />`), v.reason].filter(Boolean)
  return html`<div class="summary">${parts.map((p, i) => html`${i ? ' · ' : ''}${p}`)}${(v.context || []).map((c) => html`<${Content} thread="" one=${c} />`)}</div>`
}

/** Reason shows why a status is as it is: the kind in the language of the page, and the words of the server. */
export function Reason({ status }) {
  useStore()
  const { kind, detail, effect } = reasonOf(status)
  const known = kind && language !== 'en' ? named('reason', kind, '') : ''
  const text = [said(detail), effect].filter(Boolean).join(' · ')
  return html`${known ? html`<p>${known}</p>` : null}${text ? html`<${Folded} text=${text} />` : null}`
}

const words = (text, name) => (text ? html`<p class=${name || ''}><${Said} text=${text} /></p>` : null)

function Status({ v }) {
  const known = [v.evidence ? t('content.evidence', { evidence: named('evidence', v.evidence) }) : '', v.code === 'claimed' && v.estimate ? t('content.takes', { time: duration(v.estimate) }) : ''].filter(Boolean)
  return html`<div><p><${Chip} code=${v.code} />${known.length ? html`<span class="meta"> ${known.join(' · ')}</span>` : null}</p>
    ${words(v.message)}<${Reason} status=${v} />${words(v.suggestion)}${(v.questions || []).map((q) => words(q.question))}${words(v.action)}${words(v.consequences, 'meta')}
    ${v.delegated_to ? html`<p>${t('content.to', { name: v.delegated_to })}</p>` : null}
    ${Number.isFinite(v.progress_pct) ? html`<progress max="100" value=${v.progress_pct} aria-label=${t('content.progress')}></progress>` : null}</div>`
}
