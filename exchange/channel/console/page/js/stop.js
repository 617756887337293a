// The stop button. It is a plain form, which also works without this script. The script keeps the
// page open, and submits the form if the exchange does not answer. A browser has six connections
// to one host, so the script first aborts all open requests in this tab and in others.

import { exchange, resetHint, mayReset, abortPending, page, signedOut } from './api.js'
import { $, el, fill, releaseFocus, refill, toWords } from './dom.js'
import { connect, disconnect } from './events.js'
import { removeControl } from './deregister.js'
import { agoNode, timeText } from './times.js'

const stopTimeout = 4000 // ms
const maxNamed = 4 // devices or executors
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

export function ready() {
  addEventListener('hashchange', () => fill($('released'))) // the user has read it
  const form = $('stop')
  const label = form.querySelector('button').textContent
  form.onsubmit = async (e) => {
    e.preventDefault()
    const button = form.querySelector('button')
    const back = releaseFocus(button)
    button.disabled = true
    button.textContent = 'Stopping …'
    for (const id of ['failed', 'released']) $(id).textContent = ''
    freeConnections()
    otherTabs?.postMessage('stop')
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), stopTimeout)
    try {
      const { text, passed } = await page.stop(form.elements.why.value, late.signal)
      if (passed) $('line').textContent = text
      else showAlert(text)
    } catch (err) {
      if (late.signal.aborted) form.submit()
      else if (signedOut(err)) showAlert(`NOT STOPPED at ${timeText(Date.now())}: this browser is not signed in. Sign in and press the button again, or run on the host: messkit stop.`)
      else showAlert(`NOT STOPPED at ${timeText(Date.now())}: ${err.message}. Press the button again, or run on the host: messkit stop.`)
    }
    scrollTo({ top: 0, behavior: 'instant' }) // the top shows the effect of the stop, and how to reset it
    clearTimeout(timer)
    button.textContent = label
    button.disabled = false
    back()
    connect()
  }
}

/** showAlert shows that a stop or an answer had no effect. The alert stays until the user dismisses it or presses stop. */
export function showAlert(text) {
  fill($('failed'), el('p', {}, text), el('button', { type: 'button', onclick: () => fill($('failed')) }, 'Dismiss'))
}

/** stopText names the stopped executors with the reason, or returns ''. */
export const stopText = (executors) => executors.filter((e) => e.stopped && !e.person).map((e) => `${nameOf(e)} is stopped: ${e.stopped.why}.`).join(' ')

let wasStopped = false // the page shows a stop
let resetButton = null // the focused button with which the user has reset the stop

/** changed shows the stopped executors, how to reset the stop, and its reset. The first line stays visible; the rest scrolls with the page. */
export function changed(state, who) {
  const list = state.executors.filter((e) => e.stopped || e.stopping)
  const stopped = list.filter((e) => e.stopped && !e.person)
  if (wasStopped && !stopped.length) showReset(list)
  if (!wasStopped && stopped.length) fill($('released'))
  wasStopped = stopped.length > 0
  const me = list.find((e) => e.person && e.id === who.actor)
  const others = [...stopped, ...list.filter((e) => e !== me && !stopped.includes(e))]
  const over = !stopped.length && !others.some((e) => !e.person && e.live) && state.executors.some((e) => !e.person && e.live)
  refill($('standing'), list.length ? el('p', {}, headline(me, over, stopped, others)) : null)
  refill($('stopped'), me ? personOrder(me, over) : null, foldedLines(others.map((e) => el('div', {}, el('p', {}, el('strong', {}, `${nameOf(e)}: `), stopState(e)), removeControl(e, who))), summary(others, stopped)), resetControls(state, who, stopped))
}

const nameOf = (e) => e.name || e.id

/** headline returns one line: the order to this person, the stop with its reason, or the missing confirmations. */
function headline(me, over, stopped, others) {
  if (me) return [el('strong', {}, over ? 'You have an order to stop.' : 'STOP what you are doing.'), me.stop_order?.why ? ` ${me.stop_order.why}` : null]
  if (!stopped.length) return [el('strong', {}, 'Stop: '), `${nameList(others)} ${others.length === 1 ? 'has' : 'have'} not confirmed it.`]
  const not = stopped.flatMap((e) => e.stopped.devices || []).filter((d) => d.state === 'unsafe').length
  return [el('strong', {}, 'STOPPED. '), not ? el('strong', {}, `${not} ${not === 1 ? 'device is' : 'devices are'} UNSAFE. `) : null, stopped[0].stopped.why]
}

/** nameList names the executors of a list. */
function nameList(list) {
  const names = list.slice(0, maxNamed).map(nameOf).join(', ')
  return list.length > maxNamed ? `${names} and ${list.length - maxNamed} more` : names
}

/** summary counts safe devices and missing confirmations. */
function summary(list, stopped) {
  const devices = stopped.flatMap((e) => e.stopped.devices || [])
  const silent = list.length - stopped.length
  return [devices.length ? `${devices.filter((d) => d.state === 'safe').length} of ${devices.length} devices safe` : '', silent ? `${silent} ${silent === 1 ? 'has' : 'have'} not confirmed` : ''].filter(Boolean).join(' · ')
}

/** foldedLines returns a single line, or several folded under their summary. */
const foldedLines = (lines, sum) => (lines.length > 1 ? el('details', {}, el('summary', { id: 'stopped-each' }, sum), lines) : lines)

/** resetControls returns how to reset the stop: with a button for the local executor in an operator's browser on the host, else on the hosts of the executors. */
function resetControls(state, who, list) {
  const mine = state.here?.stopped && who.roles.includes('operator')
  const others = list.some((e) => !mine || e.id !== state.here.executor)
  return [
    mine ? mayReset(who) ? el('button', { type: 'button', onclick: (e) => resetStop(e.target) }, 'Reset the stop (check the devices first)')
      : el('p', {}, 'Only a person on the host can reset the stop. ', resetHint(who, 'messkit clear')) : null,
    mine ? codeButton(who, 'messkit clear') : null,
    others ? el('p', {}, `To reset ${mine ? 'the others' : 'the stop'}, check the devices, and then run on the host of the executor: messkit clear.`) : null,
  ]
}

/** codeButton returns a button that shows the code for a command on the host, or null if the exchange has no codes or no person signed this browser in. */
export function codeButton(who, command) {
  if (who.confirm !== 'code' || !who.person || !who.roles.includes('operator')) return null
  const shown = el('p', { className: 'meta', role: 'status' })
  const show = async () => {
    try {
      const { code, until } = await page.code('')
      shown.textContent = `Run ${command} --code ${code}. The code is valid once, until ${new Date(until).toLocaleTimeString()}.`
    } catch (err) {
      shown.textContent = err.message
    }
  }
  return el('div', {}, el('button', { type: 'button', className: 'plain', onclick: show }, `Show a code for ${command}`), shown)
}

/** showReset shows the reset of the stop, its meaning, and the missing confirmations. */
function showReset(list) {
  const waits = list.length ? ` These have not confirmed the stop: ${nameList(list)}.` : ''
  fill($('released'), el('p', {}, `Stop reset at ${timeText(Date.now())}. The reset starts nothing: the tasks of the robots have ended, and you must request them again. People continue their tasks.${waits}`),
    el('button', { type: 'button', onclick: () => fill($('released')) }, 'Dismiss'))
  if (resetButton && [document.body, resetButton].includes(document.activeElement)) $('released').querySelector('button').focus({ preventScroll: true })
  resetButton = null
}

/** personOrder shows a person the order to stop, with its author and reason, until she confirms that she has stopped. over means that no other stop is active. */
function personOrder(me, over) {
  const o = me.stop_order
  const order = o ? `${o.why || 'no reason given'} (by ${o.by}, ${timeText(o.at)})` : ''
  const stoppedButton = el('button', { type: 'button' }, 'I have stopped')
  stoppedButton.onclick = async () => {
    stoppedButton.disabled = true
    try {
      const now = (await exchange.executors()).find((e) => e.id === me.id)
      await exchange.profile(me.id, { stopped: { orders: (now?.stopping || []).map((s) => s.id) } })
    } catch (err) {
      stoppedButton.after(el('p', { role: 'alert' }, err.message))
      stoppedButton.disabled = false
    }
  }
  return el('div', {}, el('p', {}, over ? `The order was: ${order}. No other stop is active.` : `Everything must stop: ${order}.`), stoppedButton)
}

function stopState(e) {
  if (e.person && !e.stopped) return 'has not confirmed the stop yet'
  if (!e.stopped) return ['has not confirmed the stop', e.live ? null : [', last heartbeat ', agoNode(e.last_seen)], '; it stops when it receives the order']
  const devices = e.stopped.devices || []
  const safe = devices.filter((d) => d.state === 'safe').length
  const rest = devices.filter((d) => d.state !== 'safe').sort((a, b) => Number(a.state === 'pending') - Number(b.state === 'pending')) // unsafe before pending
  const not = rest.slice(0, maxNamed).map((d) => `${toWords(d.device)} ${d.state}`)
  if (rest.length > maxNamed) not.push(`and ${rest.length - maxNamed} more ${rest.slice(maxNamed).every((d) => d.state === 'pending') ? 'pending' : ''}`.trim())
  return `${e.stopped.why} · ${safe} of ${devices.length} devices safe${not.length ? ` · ${not.join(', ')}` : ''}`
}

/** resetStop resets the stop. If devices may be unsafe, it names them first and requires a second press. */
async function resetStop(button, anyway = false) {
  resetButton = document.activeElement === button ? button : null
  const back = releaseFocus(button)
  button.disabled = true
  try {
    await page.resetStop(anyway)
  } catch (err) {
    const knowingly = err.code === 409 && !anyway
      ? el('button', { type: 'button', onclick: (e) => resetStop(e.target, true) }, 'Reset anyway')
      : null
    button.parentElement.querySelector('.refused')?.remove()
    button.after(el('div', { class: 'refused', role: 'alert' }, el('p', {}, err.message), knowingly))
    button.disabled = false
    resetButton = null
    back()
  }
}
