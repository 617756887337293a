// The forms for a new request. They show the plan of the text before the user sends it.

import { Unreachable, exchange, mayRequest, page, Rejected } from './api.js'
import { el, fill, randomId } from './dom.js'
import { planClass, planNodes } from './plan.js'

const previewDelay = 250 // ms after the last key

const onReconnected = [] // of each form
let personNames = '' // the names of the people, separated by commas

/** changed takes a new state of the exchange. */
export function changed(state) {
  personNames = state.executors.filter((e) => e.person).map((e) => e.name || e.id).join(', ')
}

/** reconnected removes the errors of an unreachable exchange. */
export function reconnected() {
  for (const f of onReconnected) f()
}

/** ready sets up a form with the fields intent, preview and error. It calls onCreated with the ref of each new request. storageKey keeps the text over a reload; '' keeps it nowhere. */
export function ready(form, who, storageKey, onCreated) {
  if (!mayRequest(who)) return // the stored text may be of another actor
  const intent = form.elements.intent
  const error = form.querySelector('.error')
  const box = form.querySelector('.preview')
  let isUnreachable = false // the last request did not reach the exchange
  let timer = 0
  let previewRequest = null // aborts the open preview
  let id = randomId() // of the next request: the exchange counts a repeated one once
  let sent = '' // the text that was sent with that id
  let planned = '' // the text of the shown preview

  const preview = async () => {
    previewRequest?.abort()
    const text = intent.value.trim()
    if (!text || !who.here) return fill(box)
    previewRequest = new AbortController()
    try {
      const out = await page.plan(text, previewRequest.signal)
      if (intent.value.trim() !== text) return
      planned = text
      box.className = `preview ${planClass(out)}`
      fill(box, out.plan && planClass(out) !== 'no' ? el('p', { className: 'meta' }, 'Plan:') : null, planNodes(out), out.refusal && personNames ? el('p', { className: 'meta' }, `The exchange may offer this request to people: ${personNames}.`) : null)
    } catch (err) {
      if (intent.value.trim() !== text) return
      planned = ''
      box.className = 'preview'
      fill(box, err instanceof Unreachable ? el('p', { className: 'meta' }, 'No plan: the exchange does not answer.') : null)
    }
  }
  const schedulePreview = () => {
    box.classList.toggle('old', intent.value.trim() !== planned) // it belongs to another text
    clearTimeout(timer)
    timer = setTimeout(preview, previewDelay)
  }
  onReconnected.push(() => {
    if (isUnreachable) error.textContent = ''
    isUnreachable = false
    if (intent.value.trim() !== planned) schedulePreview()
  })
  intent.oninput = () => {
    if (storageKey) sessionStorage.setItem(storageKey, intent.value)
    schedulePreview()
  }
  if (storageKey && !intent.value && sessionStorage.getItem(storageKey)) {
    intent.value = sessionStorage.getItem(storageKey)
    schedulePreview()
  }
  intent.onkeydown = (e) => {
    if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) {
      e.preventDefault()
      form.requestSubmit()
    }
  }
  form.onsubmit = async (e) => {
    e.preventDefault()
    const text = intent.value.trim()
    const button = form.querySelector('button')
    if (!text || button.disabled) return
    button.disabled = true
    error.textContent = ''
    if (sent && text !== sent) id = randomId() // another text is another request
    sent = text
    try {
      const { ref } = await exchange.create({ id: `web-${id.slice(0, 8)}`, intent: text })
      id = randomId()
      sent = ''
      planned = ''
      intent.value = ''
      if (storageKey) sessionStorage.removeItem(storageKey)
      fill(box)
      onCreated(ref)
    } catch (err) {
      error.textContent = err.message
      isUnreachable = err instanceof Unreachable
      if (err instanceof Rejected) id = randomId() // the same text is a new request now
    }
    button.disabled = false
  }
}
