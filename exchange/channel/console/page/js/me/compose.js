// The form for the result of a task: text, photos, a voice note, a position, yes or no, and
// the fields of the request.

import { toTop, toWords } from '../dom.js'
import * as draft from '../draft.js'
import { html, useEffect, useReducer, useRef, useState } from '../html.js'
import * as outbox from '../outbox.js'
import { Problem } from '../parts.js'
import { named, t } from '../text/text.js'
import { Delegate, TextForm } from './forms.js'
import { fit } from './photo.js'
import { canRecord, Voice } from './voice.js'

/** hints returns the response hints of a request as [type, spec]. */
const hints = (request) => (request.response_hint || request.response_hints || []).map((h) => (typeof h === 'string' ? [h, ''] : Object.entries(h)[0]))

/** contentName returns the name of a content type for people. */
const contentName = (type) => named('ask', type)

const fileLabel = (f) => `${contentName(f.entry)}, ${Math.ceil(f.data.size / 1024)} KB`

/** forget removes the typed text and the drafts of ended tasks. held are the tasks of the person, by ref. */
export function forget(held, over) {
  for (const ref of over) localStorage.removeItem(`draft-${ref}`)
  draft.remove(over, held).catch(() => {}) // the next call tries again
}

/** position asks the browser for its position: {lat, lng, accuracy}. */
const position = () => new Promise((resolve, fail) => {
  navigator.geolocation.getCurrentPosition(({ coords }) => resolve({ lat: coords.latitude, lng: coords.longitude, accuracy: coords.accuracy }),
    (e) => fail(new Error(e.code === e.PERMISSION_DENIED ? t('compose.noposition') : t('compose.position', { error: e.message }))), { timeout: 20000 })
})

/** fieldsOf returns the fields of the request as [name, kind]. */
const fieldsOf = (asked) => asked.filter(([type, spec]) => type === 'structured' && spec && typeof spec === 'object').flatMap(([, spec]) => (Array.isArray(spec) ? spec.map((k) => [k, '']) : Object.entries(spec)))

/** useDraft returns the input of the form, which the phone stores: {own, change, status, fail, ready}. */
function useDraft(ref, block) {
  const own = useRef({ files: [], at: null, taken: 0, chosen: {} }).current
  const [, draw] = useReducer((n) => n + 1, 0)
  const [status, setStatus] = useState('')
  const loaded = useRef(Promise.resolve()) // resolves when the form has the stored draft
  const fail = (why) => setStatus(why && t('compose.draft', { why }))
  const change = () => {
    draw()
    loaded.current.then(() => draft.save({ ref, files: own.files.map(({ src: _, ...f }) => f), at: own.at, taken: own.taken, chosen: own.chosen })).then(() => fail(''), (e) => fail(e.message))
  }
  const add = (f) => own.files.push({ ...f, src: f.entry === 'image' ? URL.createObjectURL(f.data) : '' })
  useEffect(() => {
    loaded.current = block(async () => {
      const old = await draft.load(ref).catch(() => null)
      if (!old) return
      own.taken = Math.max(own.taken, old.taken || 0)
      for (const f of old.files) add(f)
      own.at ||= old.at
      own.chosen = { ...old.chosen, ...own.chosen }
      draw()
    })
    return () => { for (const f of own.files) URL.revokeObjectURL(f.src) }
  }, [])
  return { own, add, change, status, fail }
}

/** Compose is the form of a claimed task. It keeps its input while the task is open. name() returns the name of the person. */
export function Compose({ thread, request, name, others }) {
  const id = (part) => `${part}-${thread.ref}`
  const asked = hints(request)
  const [error, setError] = useState(null)
  const [pending, count] = useReducer((n, by) => n + by, 0) // operations that must end before the result is complete
  const [sent, setSent] = useState(false)
  const text = useRef(null)
  const sure = useRef('') // the missing parts without which the person sends the result
  const recording = useRef(false)
  const block = async (act) => {
    count(1)
    setError(null)
    try {
      await act()
    } catch (err) {
      setError(err)
    }
    count(-1)
  }
  const { own, add, change, status, fail } = useDraft(thread.ref, block)
  useEffect(() => setSent(false), [thread])
  const hasStarted = thread.messages.some((m) => m.from === thread.executor_id && m.mess.some((i) => i.status?.code === 'in_progress')) // the exchange itself sets in_progress after an answer
  const fields = fieldsOf(asked)
  const type = (e) => {
    try {
      if (e.target.value) localStorage.setItem(id('draft'), e.target.value)
      else localStorage.removeItem(id('draft'))
      fail('')
    } catch {
      fail(t('compose.full'))
    }
  }
  const take = (e) => {
    const input = e.target
    return block(async () => {
      const faults = []
      for (const chosen of input.files) {
        try {
          add({ entry: 'image', name: `photo-${++own.taken}.jpg`, type: 'image/jpeg', data: await fit(chosen) })
        } catch (err) {
          faults.push(err.message)
        }
      }
      input.value = ''
      change()
      if (faults.length) throw new Error(faults.join(' '))
    })
  }
  const locate = () => block(async () => {
    own.at = await position()
    change()
  })
  const remove = (f) => {
    own.files.splice(own.files.indexOf(f), 1)
    URL.revokeObjectURL(f.src)
    change()
  }
  const choose = (key, value, others = []) => {
    for (const k of others) delete own.chosen[k]
    if (value === '') delete own.chosen[key]
    else own.chosen[key] = value
    change()
  }
  const yes = (o) => own.chosen[`${id('yes')}=${o}`] === o
  const values = () => Object.fromEntries(fields.map(([k, kind]) => [k, valueOf(kind, own.chosen[id(`field-${k}`)] ?? '')]).filter(([, v]) => v !== ''))
  const content = () => [
    ...(text.current.value.trim() ? [text.current.value.trim()] : []),
    ...own.files.map((f, i) => ({ [f.entry]: { upload: i } })),
    ...(own.at ? [{ location: own.at }] : []),
    ...(yes('yes') || yes('no') ? [{ confirmation: yes('yes') }] : []),
    ...(Object.keys(values()).length ? [{ structured: values() }] : []),
  ]
  const missing = () => {
    const empty = fields.filter(([k]) => !(k in values()))
    const has = { image: own.files.some((f) => f.entry === 'image'), audio: own.files.some((f) => f.entry === 'audio'), text: text.current.value.trim(), location: own.at, confirmation: yes('yes') || yes('no'), structured: !empty.length }
    return asked.filter(([kind]) => kind in has && !has[kind]).map(([kind]) => (kind === 'structured' ? empty.map(([k]) => toWords(k)).join(', ') : contentName(kind)))
  }
  const put = (title, ...items) => outbox.put(thread.ref, { title, items })
  const start = { title: t('outbox.start'), items: [{ status: { code: 'in_progress' } }] }
  const submit = async (e) => {
    e.preventDefault()
    const [list, parts] = [content(), missing()]
    if (recording.current) return setError(t('compose.recording'))
    if (!list.length) return setError(t('compose.empty'))
    if (parts.length && sure.current !== parts.join()) {
      sure.current = parts.join()
      return setError(t('compose.missing', { parts: parts.join(', ') }))
    }
    setSent(true)
    setError(null)
    try {
      const evidence = own.files.some((f) => f.entry === 'image') ? { evidence: 'photographed' } : { message: `by ${name()}’s word` }
      const answer = { title: t('outbox.result'), items: [{ status: { code: 'completed', ...evidence } }, { response: { content: list } }], files: own.files.map(({ name: file, type: mime, data }) => ({ name: file, type: mime, data })) }
      const { kept } = await outbox.put(thread.ref, ...(hasStarted ? [] : [start]), answer)
      toTop()
      if (!kept) return // the draft stays until the end of the task
      localStorage.removeItem(id('draft'))
      await draft.remove([thread.ref]).catch(() => {})
    } catch (err) {
      setError(err)
      setSent(false)
    }
  }
  const wanted = asked.map(([kind, spec]) => (kind === 'structured' && fields.length ? fields.map(([k]) => toWords(k)).join(', ') : contentName(kind) + (spec && typeof spec === 'string' ? ` (${spec})` : ''))).join(', ')
  return html`<div><form class="answers" onSubmit=${submit}>
      ${asked.length ? html`<p>${t('compose.requested', { parts: wanted })}</p>` : null}
      <label for=${id('text')}>${t('compose.text')}</label><textarea ref=${text} id=${id('text')} rows="3" defaultValue=${localStorage.getItem(id('draft')) || ''} onInput=${type}></textarea>
      <input type="file" id=${id('photo')} class="button" accept="image/*" capture="environment" multiple onChange=${take} /><label for=${id('photo')} class="button plain">${t('compose.photo')}</label>
      ${canRecord && html`<${Voice} recording=${recording} fail=${setError} take=${(f) => { add({ entry: 'audio', ...f }); change() }} />`}
      <button type="button" class="plain" onClick=${locate}>${t('compose.addposition')}</button>
      <p class="meta" role="status">${own.at ? `${own.at.lat.toFixed(5)}, ${own.at.lng.toFixed(5)}` : ''}</p>
      <ul class="meta added">${own.files.map((f) => html`<li>${f.src && html`<img src=${f.src} alt="" />`}<span>${fileLabel(f)}</span><button type="button" class="plain" aria-label=${t('remove.of', { name: fileLabel(f) })} onClick=${() => remove(f)}>${t('remove.button')}</button></li>`)}</ul>
      <p class="meta" role="status">${status}</p>
      ${asked.some(([kind]) => kind === 'confirmation') && html`<fieldset class="answers"><legend>${t('compose.yesno')}</legend>${['yes', 'no'].map((o) => html`<label class="check"><input type="radio" name=${id('yes')} value=${o} checked=${yes(o)} onChange=${() => choose(`${id('yes')}=${o}`, o, ['yes', 'no'].map((other) => `${id('yes')}=${other}`))} />${t(o)}</label>`)}</fieldset>`}
      ${fields.map(([k, kind]) => html`<${Field} key=${k} id=${id(`field-${k}`)} label=${toWords(k)} kind=${kind} value=${own.chosen[id(`field-${k}`)] ?? ''} choose=${(v) => choose(id(`field-${k}`), v)} />`)}
      <p><button type="submit" disabled=${pending > 0 || sent}>${t('compose.done')}</button>${hasStarted ? null : html`<button type="button" class="plain" onClick=${() => outbox.put(thread.ref, start)}>${t('compose.start')}</button>`}</p></form>
    <${Problem} error=${error} />
    <${TextForm} id=${id('ask')} title=${t('compose.ask')} label=${t('compose.question')} send=${(q) => put(t('outbox.question'), { status: { code: 'needs_input', questions: [{ field: 'answer', question: q }] } })} />
    ${request.confirm_before && !hasStarted ? html`<${TextForm} id=${id('confirm')} title=${t('compose.confirm')} label=${t('compose.action')} send=${(q) => put(t('outbox.question'), { status: { code: 'needs_confirmation', action: q } })} />` : null}
    ${others.length && !hasStarted ? html`<${Delegate} id=${id('hand')} others=${others} send=${(to) => put(t('outbox.delegation'), { status: { code: 'delegated', delegated_to: to, reason: { type: 'other', detail: 'delegated', effect: 'none' } } })} />` : null}
    <${TextForm} id=${id('fail')} title=${t('compose.fail')} label=${t('drain.reason')} send=${(why) => put(t('outbox.failure'), { status: { code: 'failed', reason: { type: 'other', detail: why, effect: hasStarted ? 'unknown' : 'none' } } })} /></div>`
}

const isYesNo = (kind) => /^(bool|boolean|yes\/no)$/.test(kind)
const isNumber = (kind) => /^(number|integer|float)$/.test(kind)

/** valueOf returns the value of a field, '' for none. */
const valueOf = (kind, v) => (v === '' ? '' : isYesNo(kind) ? v === 'yes' : isNumber(kind) ? Number(v) : v)

function Field({ id, label, kind, value, choose }) {
  const take = (e) => choose(e.target.value)
  return html`<div><label for=${id}>${label}${kind && typeof kind === 'string' ? ` (${kind})` : ''}</label>
    ${isYesNo(kind) ? html`<select id=${id} value=${value} onChange=${take}>${['', 'yes', 'no'].map((o) => html`<option value=${o}>${o && t(o)}</option>`)}</select>`
      : html`<input id=${id} autocomplete="off" type=${isNumber(kind) ? 'number' : 'text'} step="any" value=${value} onInput=${take} onChange=${take} />`}</div>`
}
