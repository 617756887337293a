// The ask box: what it would do is shown before anything is sent.

import { Away, exchange, mayAsk, page, Refused } from './api.js'
import { $, el, fill, randomId } from './dom.js'
import { kind, outcome } from './plan.js'

const pause = 250 // ms without a key until it is planned

const kept = 'messkit-ask' // what is typed, for a page that is loaded anew
let away = false // the last that was asked did not reach the exchange
let again = () => {} // plans what is typed once more
let people = '' // who does what no robot can

/** changed takes how everything stands. */
export function changed(state) {
  people = state.executors.filter((e) => e.person).map((e) => e.name || e.id).join(', ')
}

/** reached takes back that the exchange is away: what was entered can be sent now. */
export function reached() {
  if (away) $('ask').querySelector('.error').textContent = ''
  away = false
  again()
}

/** ready sets the box up; asked is called with the ref of what was asked. */
export function ready(who, asked) {
  if (!mayAsk(who)) return // what was typed here by somebody else is not planned
  const intent = $('intent')
  const error = $('ask').querySelector('.error')
  let timer = 0
  let under = null // the preview that is on its way
  let id = randomId() // of the next request: sent twice, it is one
  let sent = '' // with that id
  let planned = '' // what the preview is of

  const preview = async () => {
    under?.abort()
    const text = intent.value.trim()
    if (!text || !who.here) return fill($('preview'))
    under = new AbortController()
    try {
      const out = await page.plan(text, under.signal)
      if (intent.value.trim() !== text) return
      planned = text
      $('preview').className = `preview ${kind(out)}`
      fill($('preview'), out.plan && kind(out) !== 'no' ? el('p', { className: 'meta' }, 'Plan:') : null, outcome(out), out.refusal && people ? el('p', { className: 'meta' }, `The exchange may offer this request to people: ${people}.`) : null)
    } catch (err) {
      if (intent.value.trim() !== text) return
      planned = ''
      $('preview').className = 'preview'
      fill($('preview'), err instanceof Away ? el('p', { className: 'meta' }, 'No plan: the exchange does not answer.') : null)
    }
  }
  const later = () => {
    $('preview').classList.toggle('old', intent.value.trim() !== planned) // it is of other words
    clearTimeout(timer)
    timer = setTimeout(preview, pause)
  }
  again = () => { if (intent.value.trim() !== planned) later() }
  intent.oninput = () => {
    sessionStorage.setItem(kept, intent.value)
    later()
  }
  if (!intent.value && sessionStorage.getItem(kept)) {
    intent.value = sessionStorage.getItem(kept)
    later()
  }
  intent.onkeydown = (e) => {
    if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) {
      e.preventDefault()
      $('ask').requestSubmit()
    }
  }
  $('ask').onsubmit = async (e) => {
    e.preventDefault()
    const text = intent.value.trim()
    const button = $('ask').querySelector('button')
    if (!text || button.disabled) return
    button.disabled = true
    error.textContent = ''
    if (sent && text !== sent) id = randomId() // other words are another request
    sent = text
    try {
      const { ref } = await exchange.ask({ id: `web-${id.slice(0, 8)}`, intent: text })
      id = randomId()
      sent = ''
      planned = ''
      intent.value = ''
      sessionStorage.removeItem(kept)
      fill($('preview'))
      asked(ref)
    } catch (err) {
      error.textContent = err.message
      away = err instanceof Away
      if (err instanceof Refused) id = randomId() // the same words may be meant anew
    }
    button.disabled = false
  }
}
