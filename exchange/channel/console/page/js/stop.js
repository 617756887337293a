// The stop button and the report of a stop. The button is a plain form, which also works without this
// script. With the script it needs a press of one second, and the page stays open. The script submits
// the form if the exchange does not answer. A browser has six connections to one host, so the script
// first aborts all open requests in this tab and in others.

import { abortPending, page, signedOut } from './api.js'
import { $, releaseFocus } from './dom.js'
import { connect, disconnect } from './events.js'
import { html, render } from './html.js'
import { holdToAct } from './stop/hold.js'
import { Headline, nameList, nameOf, Report, reportOf } from './stop/report.js'
import { whyText } from './stop/why.js'
import { clock, language, t } from './text/text.js'

const stopTimeout = 4000 // ms
const hintTime = 8000 // ms
const redrawInterval = 10000 // ms; ages grow
const otherTabs = globalThis.BroadcastChannel ? new BroadcastChannel('messkit-stop') : null

function freeConnections() {
  disconnect()
  abortPending()
}

if (otherTabs) {
  otherTabs.onmessage = () => {
    freeConnections()
    setTimeout(connect, stopTimeout)
  }
}

const onStop = [] // functions that the page calls at each stop of this page

/** follow calls a function at each stop of this page, before it is sent. */
export const follow = (f) => onStop.push(f)

let hintTimer = 0

/** showHint shows how the button works, for some seconds. */
function showHint(text) {
  const hint = $('stop-hint')
  hint.textContent = text
  clearTimeout(hintTimer)
  if (text) hintTimer = setTimeout(() => { hint.textContent = '' }, hintTime)
}

export function ready() {
  addEventListener('hashchange', () => showNotice('')) // the user has read it
  const form = $('stop')
  const button = form.querySelector('button')
  for (const id of ['stop', 'failed', 'standing', 'released', 'stopped']) $(id).lang = language
  button.textContent = t('stop.label')
  const hint = document.createElement('p')
  Object.assign(hint, { id: 'stop-hint', role: 'status' })
  const how = document.createElement('span')
  Object.assign(how, { id: 'stop-how', className: 'sr', textContent: t('stop.how') })
  form.append(hint, how)
  button.setAttribute('aria-describedby', 'stop-how')
  form.onsubmit = (e) => e.preventDefault()
  holdToAct(button, () => stopAll(form, button), (kind) => showHint(t(kind === 'short' ? 'stop.short' : 'stop.repeat')))
  setInterval(() => { if ($('standing').firstChild && !document.hidden) draw() }, redrawInterval)
}

/** stopAll stops everything, and says if that failed. */
async function stopAll(form, button) {
  for (const f of onStop) f()
  const back = releaseFocus(button)
  button.disabled = true
  button.textContent = t('stop.stopping')
  showHint('')
  showAlert('')
  showNotice('')
  freeConnections()
  otherTabs?.postMessage('stop')
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), stopTimeout)
  try {
    const { stop, text, passed } = await page.stop(form.elements.why.value, late.signal)
    if (passed) $('line').textContent = [t('stop.done'), stop?.ending ? t('stop.ending', { count: stop.ending }) : ''].filter(Boolean).join(' ')
    else showAlert(text)
  } catch (err) {
    if (late.signal.aborted) form.submit()
    else showAlert(t(signedOut(err) ? 'stop.signedout' : 'stop.failed', { time: clock(Date.now()), error: err.message }))
  }
  scrollTo({ top: 0, behavior: 'instant' }) // the top shows the effect of the stop, and how to reset it
  clearTimeout(timer)
  button.textContent = t('stop.label')
  button.disabled = false
  back()
  connect()
}

/** showAlert shows that a stop or an answer had no effect. The alert stays until the user dismisses it or presses stop. '' removes it. */
export function showAlert(text) {
  render(text ? html`<p>${text}</p><button type="button" onClick=${() => showAlert('')}>${t('stop.dismiss')}</button>` : null, $('failed'))
}

/** showNotice shows that a stop has been reset. '' removes it. */
function showNotice(text) {
  render(text ? html`<p>${text}</p><button type="button" onClick=${() => showNotice('')}>${t('stop.dismiss')}</button>` : null, $('released'))
}

/** stopText names the stopped executors with the reason, or returns ''. */
export const stopText = (executors) => executors.filter((e) => e.stopped && !e.person).map((e) => t('stop.isstopped', { name: nameOf(e), why: whyText(e.stopped.why) })).join(' ')

let wasStopped = false // the page shows a stop
let resetButton = null // the focused button with which the user has reset the stop
let last = null // the last state with its reader: {state, who}

/** changed shows the stopped executors, how to reset the stop, and its reset. The first line stays visible; the rest scrolls with the page. */
export function changed(state, who) {
  last = { state, who }
  const { stopped, me, others } = reportOf(state, who)
  if (wasStopped && !stopped.length) showReset(me ? [me, ...others] : others)
  if (!wasStopped && stopped.length) showNotice('')
  wasStopped = stopped.length > 0
  draw()
}

function draw() {
  const { state, who } = last
  const report = reportOf(state, who)
  const any = report.me || report.others.length
  render(any ? html`<${Headline} report=${report} />` : null, $('standing'))
  render(any ? html`<${Report} report=${report} state=${state} who=${who} resetDone=${(button) => { resetButton = button }} />` : null, $('stopped'))
}

/** showReset shows the reset of the stop, its meaning, and the missing confirmations. */
function showReset(list) {
  showNotice([t('reset.done', { time: clock(Date.now()) }), list.length ? t('reset.waits', { names: nameList(list) }) : ''].filter(Boolean).join(' '))
  if (resetButton && [document.body, resetButton].includes(document.activeElement)) $('released').querySelector('button').focus({ preventScroll: true })
  resetButton = null
}
