// The control that deregisters an offline executor or person, after a second press.

import { exchange } from './api.js'
import { el, fill } from './dom.js'

const confirming = new Set() // ids of executors that wait for the second press

/** removeControl returns the control for an offline executor, or null if the user may not deregister it. */
export function removeControl(e, who) {
  if (e.live || !who?.roles.includes('operator')) return null
  const box = el('div', { className: 'forget' })
  draw(box, e)
  return box
}

function draw(box, e) {
  const name = e.name || e.id
  const setConfirming = (on) => () => {
    if (on) confirming.add(e.id)
    else confirming.delete(e.id)
    draw(box, e)
    box.querySelector('button').focus()
  }
  if (!confirming.has(e.id)) return fill(box, el('button', { type: 'button', className: 'plain', 'aria-label': `Remove ${name}`, onclick: setConfirming(true) }, 'Remove'))
  fill(box,
    el('p', {}, `${e.stopping ? 'It has not confirmed a stop: its devices may still be on, so check them first. ' : ''}The exchange removes it from all lists. If it connects again, it returns${e.stopping ? ' and receives the stop' : ''}.`),
    el('button', { type: 'button', className: 'plain', 'aria-label': `Keep ${name}`, onclick: setConfirming(false) }, 'Keep'), ' ',
    el('button', { type: 'button', className: 'plain', 'aria-label': `Remove ${name} from all lists`, onclick: (click) => deregister(click.target, e) }, 'Remove from all lists'))
}

async function deregister(button, e) {
  button.disabled = true
  try {
    await exchange.deregister(e.id)
    confirming.delete(e.id)
  } catch (err) {
    button.parentElement.querySelector('.error')?.remove()
    button.after(el('p', { className: 'error', role: 'alert' }, err.message))
    button.disabled = false
  }
}
