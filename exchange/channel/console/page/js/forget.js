// An executor or a person who is gone for good is taken off the lists, by an operator
// who has pressed twice.

import { exchange } from './api.js'
import { el, fill } from './dom.js'

const sure = new Set() // whom somebody is asked about

/** offer is the way to forget one who is not heard of; null where there is none. */
export function offer(e, who) {
  if (e.live || !who?.roles.includes('operator')) return null
  const box = el('div', { className: 'forget' })
  paint(box, e)
  return box
}

function paint(box, e) {
  const name = e.name || e.id
  const turn = (on) => () => {
    if (on) sure.add(e.id)
    else sure.delete(e.id)
    paint(box, e)
    box.querySelector('button').focus()
  }
  if (!sure.has(e.id)) return fill(box, el('button', { type: 'button', className: 'plain', 'aria-label': `Remove ${name}`, onclick: turn(true) }, 'Remove'))
  fill(box,
    el('p', {}, `${e.stopping ? 'It has not confirmed a stop: its devices may still be on, so check them first. ' : ''}The exchange removes it from all lists. If it connects again, it returns${e.stopping ? ' and receives the stop' : ''}.`),
    el('button', { type: 'button', className: 'plain', 'aria-label': `Keep ${name}`, onclick: turn(false) }, 'Keep'), ' ',
    el('button', { type: 'button', className: 'plain', 'aria-label': `Remove ${name} from all lists`, onclick: (click) => forget(click.target, e) }, 'Remove from all lists'))
}

async function forget(button, e) {
  button.disabled = true
  try {
    await exchange.forget(e.id)
    sure.delete(e.id)
  } catch (err) {
    button.parentElement.querySelector('.error')?.remove()
    button.after(el('p', { className: 'error', role: 'alert' }, err.message))
    button.disabled = false
  }
}
