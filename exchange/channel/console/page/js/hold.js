// Drains: a drained executor takes no new tasks until a user resumes it.

import { exchange, mayRequest } from './api.js'
import { $, el, refill } from './dom.js'
import { timeText } from './times.js'

const maxOrders = 4 // drain orders that the page shows in full

/** ready sets up the form that drains executors. */
export function ready(who) {
  const form = $('hold')
  form.hidden = !mayRequest(who)
  const error = form.querySelector('.error')
  form.onsubmit = async (e) => {
    e.preventDefault()
    error.textContent = ''
    const button = form.querySelector('button')
    button.disabled = true
    try {
      const name = $('hold-who').value
      await exchange.hold({ why: $('hold-why').value.trim(), ...(name ? { executors: [name] } : {}) })
      $('hold-why').value = ''
    } catch (err) {
      error.textContent = err.message
    }
    button.disabled = false
  }
}

/** changed shows each drain order with its executors, time, author and reason. */
export function changed(executors, who) {
  const orders = new Map() // by id of the order
  for (const e of executors.filter((e) => e.on_hold)) {
    const id = e.hold?.id || `${e.id} ${e.on_hold}`
    orders.set(id, [...(orders.get(id) || []), e])
  }
  const list = [...orders.values()]
  const rest = list.slice(maxOrders).flat()
  refill($('onhold'), list.slice(0, maxOrders).map((all) => orderNode(all, who)), rest.length ? el('p', {}, `${rest.length} more drained: see Executors and People`) : null)
}

/** setExecutors sets the executors that the form can drain. */
export function setExecutors(executors) {
  const select = $('hold-who')
  const now = executors.map((e) => [e.id, e.name || e.id])
  const was = [...select.options].slice(1).map((o) => [o.value, o.textContent])
  if (JSON.stringify(now) === JSON.stringify(was)) return // the user may have the list open
  const chosen = select.value
  select.replaceChildren(select.options[0], ...now.map(([id, name]) => el('option', { value: id }, name)))
  select.value = now.some(([id]) => id === chosen) ? chosen : ''
}

function orderNode(all, who) {
  const { hold, on_hold: state } = all[0]
  const names = all.map((e) => e.name || e.id).join(', ')
  const ends = mayRequest(who) && (who.roles.includes('operator') || hold?.by === who.actor)
  const text = hold ? `drained by ${hold.by} since ${timeText(hold.at)}${hold.why ? `: ${hold.why}` : ''}` : state
  return el('div', {}, el('p', {}, el('strong', {}, `${names}: `), `${text}. ${all.length > 1 ? 'They take' : 'It takes'} no new tasks.`),
    ends ? el('button', { type: 'button', 'aria-label': `Resume ${names}`, onclick: (e) => resume(e.target, all.map((x) => x.id)) }, all.length > 1 ? 'Resume all' : 'Resume') : null)
}

async function resume(button, executors) {
  button.disabled = true
  try {
    await exchange.resume({ executors })
  } catch (err) {
    button.after(el('p', { role: 'alert' }, err.message))
    button.disabled = false
  }
}
