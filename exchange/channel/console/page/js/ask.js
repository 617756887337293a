// The form for a new request. It shows the plan of the words before the user sends them.

import { Rejected, Unreachable, exchange, mayRequest, page } from './api.js'
import { randomId, taskLink } from './dom.js'
import { html, useEffect, useRef, useState } from './html.js'
import { store } from './home/store.js'
import { Problem } from './parts.js'
import { Plan, planClass } from './plan.js'
import { t } from './text/text.js'

const previewDelay = 250 // ms after the last key

const forms = new Set() // functions that each form calls when the exchange is reachable again

/** reconnected removes the errors of an unreachable exchange. */
export function reconnected() {
  for (const again of forms) again()
}

/** openTask opens the task that a request has made. */
const openTask = (ref) => { location.hash = taskLink(ref) }

/** Ask is the form with the id form. Its parts are the field {id, label, placeholder, lines}. storageKey keeps the words over a reload; '' keeps them nowhere. onWords gets the words at each change. */
export function Ask({ form, name, field, preview, storageKey = '', onWords }) {
  const input = useRef(null)
  const own = useRef({ timer: 0, request: null, id: randomId(), sent: '', planned: '' }) // planned is the text of the shown preview; id belongs to the next request: the exchange counts a repeated one once
  const [out, setOut] = useState(null) // the preview, or 'away'
  const [old, setOld] = useState(false) // it belongs to other words
  const [error, setError] = useState(null)
  const [busy, setBusy] = useState(false)
  const words = () => input.current.value.trim()
  const show = (text, answer) => {
    if (words() !== text) return
    own.current.planned = answer === 'away' ? '' : text
    setOut(answer)
    setOld(false)
  }
  const look = async () => {
    own.current.request?.abort()
    const text = words()
    if (!text || !store.me.here) return show(text, null)
    own.current.request = new AbortController()
    try {
      show(text, await page.plan(text, own.current.request.signal))
    } catch (err) {
      show(text, err instanceof Unreachable ? 'away' : null)
    }
  }
  const schedule = () => {
    setOld(words() !== own.current.planned)
    clearTimeout(own.current.timer)
    own.current.timer = setTimeout(look, previewDelay)
  }
  const changed = () => {
    if (storageKey) sessionStorage.setItem(storageKey, input.current.value)
    onWords?.(words())
    schedule()
  }
  const lost = useRef(false) // the last request did not reach the exchange
  useEffect(() => {
    const again = () => {
      if (lost.current) setError(null)
      lost.current = false
      if (words() !== own.current.planned) schedule()
    }
    forms.add(again)
    if (storageKey && sessionStorage.getItem(storageKey)) {
      input.current.value = sessionStorage.getItem(storageKey)
      schedule()
    }
    return () => forms.delete(again)
  }, [])
  const keyDown = (e) => {
    if (e.key !== 'Enter' || e.shiftKey || e.isComposing) return
    e.preventDefault()
    e.target.form.requestSubmit()
  }
  const submit = async (e) => {
    e.preventDefault()
    const text = words()
    if (!text || busy) return
    setBusy(true)
    setError(null)
    const now = own.current
    if (now.sent && text !== now.sent) now.id = randomId() // other words are another request
    now.sent = text
    try {
      const { ref } = await exchange.create({ id: `web-${now.id.slice(0, 8)}`, intent: text })
      Object.assign(now, { id: randomId(), sent: '', planned: '' })
      input.current.value = ''
      if (storageKey) sessionStorage.removeItem(storageKey)
      setOut(null)
      onWords?.('')
      openTask(ref)
    } catch (err) {
      setError(err)
      lost.current = err instanceof Unreachable
      if (err instanceof Rejected) now.id = randomId() // the same words are a new request now
    }
    setBusy(false)
  }
  const shared = { ref: input, id: field.id, name: 'intent', maxlength: 4000, placeholder: field.placeholder, required: true, autocomplete: 'off', onInput: changed, onKeyDown: keyDown }
  const box = html`<div id=${preview} class=${`preview ${out && out !== 'away' ? planClass(out) : ''} ${old ? 'old' : ''}`} role="status" aria-label=${t('tasks.plan')}><${Preview} out=${out} /></div>`
  const button = html`<button type="submit" class=${field.lines ? '' : 'plain'} disabled=${busy}>${t('search.ask')}</button>`
  return html`<form id=${form} class=${name} role=${field.lines ? null : 'search'} onSubmit=${submit}>
    <label class=${field.lines ? '' : 'sr'} for=${field.id}>${field.label}</label>
    ${field.lines ? html`<textarea rows=${field.lines} ...${shared}></textarea>${box}${button}` : html`<input type="search" ...${shared} />${button}${box}`}
    <${Problem} error=${error} /></form>`
}

function Preview({ out }) {
  if (out === 'away') return html`<p class="meta">${t('plan.away')}</p>`
  if (!out) return null
  const people = (store.state?.executors || []).filter((e) => e.person).map((e) => e.name || e.id).join(', ')
  return html`${out.plan && planClass(out) !== 'no' ? html`<p class="meta">${t('plan.title')}</p>` : null}<${Plan} out=${out} />${out.refusal && people ? html`<p class="meta">${t('plan.people', { names: people })}</p>` : null}`
}

/** mayAsk reports whether this user may make requests: the exchange would reject those of others. */
export const mayAsk = () => Boolean(store.me) && mayRequest(store.me)
