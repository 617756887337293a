// The stop button. It is a plain form: without this script it works too. With it,
// the page stays, and where the exchange does not answer the form is sent after
// all. A browser has six connections for one host: whatever waits in them, in this
// window and in others, is given up first.

import { exchange, letGo, page, Refused } from './api.js'
import { $, ago, el, fill, refill, since, words } from './dom.js'
import { connect, hangUp } from './events.js'

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
      else if (err instanceof Refused && err.code === 401) failed(`NOT STOPPED at ${since(Date.now())}: this browser is not signed in. Sign in and press it again; at the place: messkit stop.`)
      else failed(`NOT STOPPED at ${since(Date.now())}: ${err.message}. Press it again; at the place: messkit stop.`)
    }
    clearTimeout(timer)
    button.textContent = label
    button.disabled = false
    connect()
  }
}

/** failed tells that a stop has come to nothing, until it is pressed again or somebody has read it. */
function failed(text) {
  fill($('failed'), el('p', {}, text), el('button', { type: 'button', onclick: () => fill($('failed')) }, 'I have read it'))
}

/** inForce tells what is stopped, by whom and why, beside what is offered all the same; '' where nothing is. */
export const inForce = (executors) => executors.filter((e) => e.stopped && !e.person).map((e) => `${e.name || e.id} is stopped: ${e.stopped.why}.`).join(' ')

let stood = false // that something is stopped has been told

/** changed tells what is stopped, and how to release it, and that it has been released. */
export function changed(state, who) {
  const box = $('stopped')
  const list = state.executors.filter((e) => e.stopped || e.stopping)
  if (stood && list.length === 0) released()
  if (!stood && list.length) fill($('released'))
  stood = list.length > 0
  if (list.length === 0) return refill(box)
  const robots = state.executors.filter((e) => !e.person && e.live)
  const alone = robots.length > 0 && !list.some((e) => !e.person)
  const lines = list.map((e) => (e.person && e.id === who.actor ? toldTo(e, alone) : el('p', {}, el('strong', {}, `${e.name || e.id}: `), stands(e))))
  refill(box, lines, release(state, who, list.filter((e) => e.stopped && !e.person)))
}

/** release is how those that are stopped are released: the executor here by an operator's browser at the place, others at theirs. */
function release(state, who, list) {
  const mine = state.here?.stopped && who.roles.includes('operator')
  const others = list.some((e) => !mine || e.id !== state.here.executor)
  return [
    mine ? who.at_place ? el('button', { type: 'button', onclick: (e) => free(e.target) }, 'Release the stop (look first)')
      : el('p', {}, 'It is released at the place, after somebody has looked: messkit clear there, or this page in a browser on that machine.') : null,
    others ? el('p', {}, `${mine ? 'The others are' : 'It is'} released at the place, after somebody has looked: messkit clear on the executor’s own machine.`) : null,
  ]
}

/** released tells that nothing is stopped any more, and what that means. */
function released() {
  fill($('released'), el('p', {}, `Released at ${since(Date.now())}. Nothing is begun by that: what was under way has ended, and has to be asked for anew.`),
    el('button', { type: 'button', onclick: () => fill($('released')) }, 'I have read it'))
}

/** toldTo tells a person that she is to stop, why and by whom, until she has said that she has; and that she is alone with that, when nothing else is stopped. */
function toldTo(me, alone) {
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
  return el('div', {}, el('p', {}, el('strong', {}, alone ? 'You were told to stop. ' : 'STOP what you are doing. '), alone ? `It was: ${order}. Nothing else here is stopped now.` : `Everything here is to stop: ${order}.`), said)
}

function stands(e) {
  if (e.person && !e.stopped) return 'is told to stop, and has not said yet that it is done'
  if (!e.stopped) return `has not confirmed the stop${e.live ? '' : `, and was last heard ${ago(e.last_seen)}`}; it stops when it hears of it`
  const devices = e.stopped.devices || []
  const safe = devices.filter((d) => d.state === 'safe').length
  const rest = devices.filter((d) => d.state !== 'safe').sort((a, b) => Number(a.state === 'pending') - Number(b.state === 'pending')) // what is not safe before what is not known yet
  const not = rest.slice(0, named).map((d) => `${words(d.device)} ${d.state}`)
  if (rest.length > named) not.push(`and ${rest.length - named} more ${rest.slice(named).every((d) => d.state === 'pending') ? 'pending' : ''}`.trim())
  return `STOPPED. ${e.stopped.why} · ${safe} of ${devices.length} devices safe${not.length ? ` · ${not.join(', ')}` : ''}`
}

/** free releases the stop; what is not known to be safe is named first, and has to be released knowingly. */
async function free(button, anyway = false) {
  button.disabled = true
  try {
    await page.release(anyway)
  } catch (err) {
    const knowingly = err.code === 409 && !anyway
      ? el('button', { type: 'button', onclick: (e) => free(e.target, true) }, 'Release it all the same')
      : null
    button.parentElement.querySelector('.refused')?.remove()
    button.after(el('div', { class: 'refused', role: 'alert' }, el('p', {}, err.message), knowingly))
    button.disabled = false
  }
}
