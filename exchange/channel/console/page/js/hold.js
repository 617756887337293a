// Who is on hold takes nothing new, until somebody lets him go on.

import { exchange, mayAsk } from './api.js'
import { $, el, refill } from './dom.js'
import { since } from './times.js'

const shown = 4 // orders that are told in full

/** ready sets up the form that puts on hold. */
export function ready(who) {
  const form = $('hold')
  form.hidden = !mayAsk(who)
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

/** changed tells of each order who is on hold by it, since when, by whom and why. */
export function changed(executors, who) {
  const orders = new Map() // the executors of each
  for (const e of executors.filter((e) => e.on_hold)) {
    const id = e.hold?.id || `${e.id} ${e.on_hold}`
    orders.set(id, [...(orders.get(id) || []), e])
  }
  const list = [...orders.values()]
  const rest = list.slice(shown).flat()
  refill($('onhold'), list.slice(0, shown).map((all) => order(all, who)), rest.length ? el('p', {}, `${rest.length} more on hold: see Devices and People`) : null)
}

/** choices are whom the form can put on hold. */
export function choices(executors) {
  const select = $('hold-who')
  const now = executors.map((e) => [e.id, e.name || e.id])
  const was = [...select.options].slice(1).map((o) => [o.value, o.textContent])
  if (JSON.stringify(now) === JSON.stringify(was)) return // somebody may be choosing
  const chosen = select.value
  select.replaceChildren(select.options[0], ...now.map(([id, name]) => el('option', { value: id }, name)))
  select.value = now.some(([id]) => id === chosen) ? chosen : ''
}

function order(all, who) {
  const { hold, on_hold: said } = all[0]
  const names = all.map((e) => e.name || e.id).join(', ')
  const ends = mayAsk(who) && (who.roles.includes('operator') || hold?.by === who.actor)
  const text = hold ? `on hold by ${hold.by} since ${since(hold.at)}${hold.why ? `: ${hold.why}` : ''}` : said
  return el('div', {}, el('p', {}, el('strong', {}, `${names}: `), `${text}. ${all.length > 1 ? 'They take' : 'It takes'} no new tasks.`),
    ends ? el('button', { type: 'button', 'aria-label': `Resume ${names}`, onclick: (e) => goOn(e.target, all.map((x) => x.id)) }, all.length > 1 ? 'Resume all' : 'Resume') : null)
}

async function goOn(button, executors) {
  button.disabled = true
  try {
    await exchange.resume({ executors })
  } catch (err) {
    button.after(el('p', { role: 'alert' }, err.message))
    button.disabled = false
  }
}
