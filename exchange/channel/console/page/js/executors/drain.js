// The controls that drain and resume executors. A drained executor takes no new tasks.

import { Unreachable, exchange, mayRequest } from '../api.js'
import { html, useEffect, useRef, useState } from '../html.js'
import { Said, said } from '../said.js'
import { clock, t } from '../text/text.js'

/** drainText says who has drained an executor, when and why. */
export const drainText = ({ hold, on_hold: state }) => (hold ? `${t('drain.by', { by: hold.by, time: clock(hold.at) })}${hold.why ? `: ${hold.why}` : ''}` : said(state))

/** mayResume reports whether a user may end the drain of an executor. */
const mayResume = (e, who) => mayRequest(who) && Boolean(e.on_hold) && (who.roles.includes('operator') || e.hold?.by === who.actor)

/** Resume is the button that ends the drain of executors. */
export function Resume({ list, who }) {
  const [error, setError] = useState('')
  if (!list.every((e) => mayResume(e, who))) return null
  const names = list.map((e) => e.name || e.id).join(', ')
  const resume = async (click) => {
    const button = click.currentTarget
    button.disabled = true
    setError('')
    try {
      await exchange.resume({ executors: list.map((e) => e.id) })
    } catch (err) {
      setError(err.message)
      button.disabled = false
    }
  }
  return html`<button type="button" class="plain" aria-label=${t('drain.resumeof', { names })} onClick=${resume}>${t(list.length > 1 ? 'drain.resumeall' : 'drain.resume')}</button>${error ? html`<p role="alert"><${Said} text=${error} /></p>` : null}`
}

/** isDrain reports whether a drain of the exchange is the one that this page has sent. */
const isDrain = (hold, sent, who) => Boolean(hold?.id) && hold.by === who.actor && (hold.why || '') === sent.why && !sent.earlier.has(hold.id)

/** DrainForm drains one of the executors, or all of them. fixed is the only one, or undefined. */
export function DrainForm({ executors, who, fixed }) {
  const [error, setError] = useState('')
  const box = useRef(null)
  const unanswered = useRef(null) // {why, earlier} of a drain without an answer; earlier has the ids of the drains before it
  useEffect(() => {
    if (!unanswered.current || !executors.some((e) => isDrain(e.hold, unanswered.current, who))) return
    unanswered.current = null // it has reached the exchange
    setError('')
    box.current.elements['hold-why'].value = ''
  }, [executors])
  if (!mayRequest(who)) return null
  const submit = async (e) => {
    e.preventDefault()
    const form = e.currentTarget
    const button = form.querySelector('button')
    const name = fixed ? fixed.id : form.elements['hold-who'].value
    const why = form.elements['hold-why'].value.trim()
    const earlier = new Set(executors.map((x) => x.hold?.id))
    setError('')
    unanswered.current = null
    button.disabled = true
    try {
      await exchange.hold({ why, ...(name ? { executors: [name] } : {}) })
      form.elements['hold-why'].value = ''
    } catch (err) {
      setError(err.message)
      if (err instanceof Unreachable) unanswered.current = { why, earlier }
    }
    button.disabled = false
  }
  return html`<form id="hold" ref=${box} class="card" onSubmit=${submit}>
    <h2>${t('drain.title')}</h2><p class="hint">${t('drain.hint')}</p>
    ${!fixed && html`<label for="hold-who">${t('detail.executor')}</label>
      <select id="hold-who" name="hold-who"><option value="">${t('drain.all')}</option>${executors.map((e) => html`<option key=${e.id} value=${e.id}>${e.name || e.id}</option>`)}</select>`}
    <label for="hold-why">${t('drain.reason')}</label>
    <input id="hold-why" name="hold-why" autocomplete="off" maxlength="200" placeholder=${t('drain.example')} />
    <button type="submit" class="plain">${t('drain.button')}</button>
    <p class="error" role="alert" lang="en">${error}</p></form>`
}
