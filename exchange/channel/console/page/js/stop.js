// The stop button. It is a plain form: without this script it works too. With it,
// the page stays, and where the exchange does not answer the form is sent after
// all. A browser has six connections for one host: whatever waits in them, in this
// window and in others, is given up first.

import { exchange, freeing, frees, letGo, page, signedOut } from './api.js'
import { $, el, fill, leave, refill, words } from './dom.js'
import { connect, hangUp } from './events.js'
import { offer } from './forget.js'
import { ago, since } from './times.js'

const patience = 4000 // ms
const named = 4 // devices that are not safe
const others = globalThis.BroadcastChannel ? new BroadcastChannel('messkit-stop') : null

function makeRoom() {
  hangUp()
  letGo()
}

if (others) {
  others.onmessage = () => {
    makeRoom()
    setTimeout(connect, patience)
  }
}

export function ready() {
  addEventListener('hashchange', () => fill($('released'))) // who goes on has read it
  const form = $('stop')
  const label = form.querySelector('button').textContent
  form.onsubmit = async (e) => {
    e.preventDefault()
    const button = form.querySelector('button')
    const back = leave(button)
    button.disabled = true
    button.textContent = 'Stopping …'
    for (const id of ['failed', 'released']) $(id).textContent = ''
    makeRoom()
    others?.postMessage('stop')
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), patience)
    try {
      const { text, passed } = await page.stop(form.elements.why.value, late.signal)
      if (passed) $('line').textContent = text
      else failed(text)
    } catch (err) {
      if (late.signal.aborted) form.submit()
      else if (signedOut(err)) failed(`NOT STOPPED at ${since(Date.now())}: this browser is not signed in. Sign in and press the button again, or run on the host: messkit stop.`)
      else failed(`NOT STOPPED at ${since(Date.now())}: ${err.message}. Press the button again, or run on the host: messkit stop.`)
    }
    scrollTo({ top: 0, behavior: 'instant' }) // what it has reached, and how it is released
    clearTimeout(timer)
    button.textContent = label
    button.disabled = false
    back()
    connect()
  }
}

/** failed tells that a stop, or what somebody has answered, has come to nothing, until a stop is pressed or somebody has read it. */
export function failed(text) {
  fill($('failed'), el('p', {}, text), el('button', { type: 'button', onclick: () => fill($('failed')) }, 'Dismiss'))
}

/** inForce tells what is stopped, by whom and why, beside what is offered all the same; '' where nothing is. */
export const inForce = (executors) => executors.filter((e) => e.stopped && !e.person).map((e) => `${called(e)} is stopped: ${e.stopped.why}.`).join(' ')

let stood = false // that something is stopped has been told
let freed = null // the button with which somebody here has released it, by the keyboard

/** changed tells what is stopped, and how to release it, and that it has been released. Its first line stays in sight; the rest does not cover what somebody is at. */
export function changed(state, who) {
  const list = state.executors.filter((e) => e.stopped || e.stopping)
  const stopped = list.filter((e) => e.stopped && !e.person)
  if (stood && !stopped.length) released(list)
  if (!stood && stopped.length) fill($('released'))
  stood = stopped.length > 0
  const me = list.find((e) => e.person && e.id === who.actor)
  const others = [...stopped, ...list.filter((e) => e !== me && !stopped.includes(e))]
  const over = !stopped.length && !others.some((e) => !e.person && e.live) && state.executors.some((e) => !e.person && e.live)
  refill($('standing'), list.length ? el('p', {}, headline(me, over, stopped, others)) : null)
  refill($('stopped'), me ? toldTo(me, over) : null, folded(others.map((e) => el('div', {}, el('p', {}, el('strong', {}, `${called(e)}: `), stands(e)), offer(e, who))), counts(others, stopped)), release(state, who, stopped))
}

const called = (e) => e.name || e.id

/** headline tells in a line what stands: a person's own order, what is stopped and why, or who has not confirmed. */
function headline(me, over, stopped, others) {
  if (me) return [el('strong', {}, over ? 'You have an order to stop.' : 'STOP what you are doing.'), me.stop_order?.why ? ` ${me.stop_order.why}` : null]
  if (!stopped.length) return [el('strong', {}, 'Stop: '), `${several(others)} ${others.length === 1 ? 'has' : 'have'} not confirmed it.`]
  const not = stopped.flatMap((e) => e.stopped.devices || []).filter((d) => d.state === 'unsafe').length
  return [el('strong', {}, 'STOPPED. '), not ? el('strong', {}, `${not} ${not === 1 ? 'device is' : 'devices are'} UNSAFE. `) : null, stopped[0].stopped.why]
}

/** several names who has to be waited for. */
function several(list) {
  const names = list.slice(0, named).map(called).join(', ')
  return list.length > named ? `${names} and ${list.length - named} more` : names
}

/** counts sums up how all of them stand. */
function counts(list, stopped) {
  const devices = stopped.flatMap((e) => e.stopped.devices || [])
  const silent = list.length - stopped.length
  return [devices.length ? `${devices.filter((d) => d.state === 'safe').length} of ${devices.length} devices safe` : '', silent ? `${silent} ${silent === 1 ? 'has' : 'have'} not confirmed` : ''].filter(Boolean).join(' · ')
}

/** folded shows one line, and of several the sum. */
const folded = (lines, sum) => (lines.length > 1 ? el('details', {}, el('summary', { id: 'stopped-each' }, sum), lines) : lines)

/** release is how those that are stopped are released: the executor here by an operator's browser at the place, others at theirs. */
function release(state, who, list) {
  const mine = state.here?.stopped && who.roles.includes('operator')
  const others = list.some((e) => !mine || e.id !== state.here.executor)
  return [
    mine ? frees(who) ? el('button', { type: 'button', onclick: (e) => free(e.target) }, 'Reset the stop (check the devices first)')
      : el('p', {}, 'Only a person on the host can reset the stop. ', freeing(who, 'messkit clear')) : null,
    mine ? coded(who, 'messkit clear') : null,
    others ? el('p', {}, `To reset ${mine ? 'the others' : 'the stop'}, check the devices, and then run on the host of the executor: messkit clear.`) : null,
  ]
}

/** coded is a button that shows the code for a command at the place, where the exchange has codes and a person signed this browser in. */
export function coded(who, command) {
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

/** released tells that nothing is stopped any more, what that means, and who has not confirmed the stop. */
function released(list) {
  const waits = list.length ? ` These have not confirmed the stop: ${several(list)}.` : ''
  fill($('released'), el('p', {}, `Stop reset at ${since(Date.now())}. The reset starts nothing: the tasks of the robots have ended, and you must request them again. People continue their tasks.${waits}`),
    el('button', { type: 'button', onclick: () => fill($('released')) }, 'Dismiss'))
  if (freed && [document.body, freed].includes(document.activeElement)) $('released').querySelector('button').focus({ preventScroll: true })
  freed = null
}

/** toldTo tells a person that she is to stop, why and by whom, until she has said that she has; and that it is over, when nothing else is stopped. */
function toldTo(me, over) {
  const o = me.stop_order
  const order = o ? `${o.why || 'no reason given'} (by ${o.by}, ${since(o.at)})` : ''
  const said = el('button', { type: 'button' }, 'I have stopped')
  said.onclick = async () => {
    said.disabled = true
    try {
      const now = (await exchange.executors()).find((e) => e.id === me.id)
      await exchange.profile(me.id, { stopped: { orders: (now?.stopping || []).map((s) => s.id) } })
    } catch (err) {
      said.after(el('p', { role: 'alert' }, err.message))
      said.disabled = false
    }
  }
  return el('div', {}, el('p', {}, over ? `The order was: ${order}. No other stop is active.` : `Everything must stop: ${order}.`), said)
}

function stands(e) {
  if (e.person && !e.stopped) return 'has not confirmed the stop yet'
  if (!e.stopped) return ['has not confirmed the stop', e.live ? null : [', last heartbeat ', ago(e.last_seen)], '; it stops when it receives the order']
  const devices = e.stopped.devices || []
  const safe = devices.filter((d) => d.state === 'safe').length
  const rest = devices.filter((d) => d.state !== 'safe').sort((a, b) => Number(a.state === 'pending') - Number(b.state === 'pending')) // what is not safe before what is not known yet
  const not = rest.slice(0, named).map((d) => `${words(d.device)} ${d.state}`)
  if (rest.length > named) not.push(`and ${rest.length - named} more ${rest.slice(named).every((d) => d.state === 'pending') ? 'pending' : ''}`.trim())
  return `${e.stopped.why} · ${safe} of ${devices.length} devices safe${not.length ? ` · ${not.join(', ')}` : ''}`
}

/** free releases the stop; what is not known to be safe is named first, and has to be released knowingly. */
async function free(button, anyway = false) {
  freed = document.activeElement === button ? button : null
  const back = leave(button)
  button.disabled = true
  try {
    await page.release(anyway)
  } catch (err) {
    const knowingly = err.code === 409 && !anyway
      ? el('button', { type: 'button', onclick: (e) => free(e.target, true) }, 'Reset anyway')
      : null
    button.parentElement.querySelector('.refused')?.remove()
    button.after(el('div', { class: 'refused', role: 'alert' }, el('p', {}, err.message), knowingly))
    button.disabled = false
    freed = null
    back()
  }
}
