// Questions and confirmations, and how a person answers them.

import { ended, exchange } from './api.js'
import { last } from './content.js'
import { cut, el, leave, randomId, words } from './dom.js'
import { asking } from './plan.js'
import { failed } from './stop.js'

/** form asks a person, me, what a thread waits for; null if that is nothing. done is called afterwards. */
export function form(thread, me, done) {
  const box = boxOf(thread, me, done)
  if (box) box.dataset.asks = last(thread, thread.status).ref
  return box
}

function boxOf(thread, me, done) {
  if (thread.status === 'needs_confirmation') {
    const asked = last(thread, 'needs_confirmation')
    return asked && confirmation(thread, asked, me, done)
  }
  if (thread.status === 'needs_input') {
    const asked = last(thread, 'needs_input')
    return asked && questions(thread, asked, done)
  }
  return null
}

// send says something once, however often the button is pressed.
function sender(thread, box, done) {
  const id = randomId()
  const error = el('p', { className: 'error', role: 'alert' })
  box.append(error)
  return async (item) => {
    const buttons = [...box.querySelectorAll('button')]
    const back = leave(box)
    for (const b of buttons) b.disabled = true
    error.textContent = ''
    try {
      await exchange.post(id, thread.ref, [item])
      done()
    } catch (err) {
      if (err.code === 409 && err.why !== 'not_ready') failed(late(item.reply.confirm, `“${cut(thread.intent, 100)}”`, err)) // the form goes
      error.textContent = err.message
      for (const b of buttons) b.disabled = false
      back()
    }
  }
}

/** late says that somebody else was faster, or that it has ended. */
function late(yes, intent, err) {
  const why = ended.has(err.status) ? `. It has ended: ${words(err.status)}.` : `: ${err.message}`
  if (yes === undefined || yes || err.status === 'cancelled') return `Your ${yes === undefined ? 'answer' : yes ? 'yes' : 'no'} to ${intent} was too late and does not count${why}`
  return `YOUR NO TO ${intent} WAS TOO LATE and does not count${ended.has(err.status) ? '' : '. “Take it back” ends what is under way; “Stop everything” stops it at once'}${why}`
}

function confirmation(thread, asked, me, done) {
  const operator = me.roles.includes('operator')
  const box = el('div', { className: 'answers', role: 'group', 'aria-label': 'Confirm' },
    el('p', {}, el('strong', {}, asked.action || 'Confirm this')),
    asked.consequences ? el('p', {}, asked.consequences) : null,
    asked.reversible === false ? el('p', { className: 'meta' }, 'It cannot be undone.') : null,
    asked.confirm_by === 'operator' && !operator ? el('p', { className: 'meta' }, 'A person who runs the place must say yes: it waits for an operator.') : null)
  const say = (confirm) => ({ reply: { re: asked.ref, confirm, ...(asked.action_hash ? { action_hash: asked.action_hash } : {}) } })
  if (asked.confirm_by === 'operator' && !operator) return box // it is not hers to say
  let send = null
  box.append(
    el('button', { type: 'button', onclick: () => send(say(true)) }, 'Yes, do it'),
    el('button', { type: 'button', className: 'plain', onclick: () => send(say(false)) }, 'No'))
  send = sender(thread, box, done)
  return box
}

function questions(thread, asked, done) {
  const list = asked.questions || []
  const box = el('form', { className: 'answers' })
  const fields = list.map((q, i) => question(q, `${asked.ref}-${i}`))
  box.append(...fields.map((f) => f.node), el('button', { type: 'submit' }, 'Answer'))
  const send = sender(thread, box, done)
  box.onsubmit = (e) => {
    e.preventDefault()
    const answers = {}
    for (const f of fields) answers[f.key] = f.value()
    if (Object.values(answers).some((v) => v === '')) {
      box.querySelector('.error').textContent = 'Answer each question.'
      return
    }
    send({ reply: { answers } })
  }
  return box
}

function question(q, id) {
  const key = q.field || q.id
  if (!q.options?.length) {
    const input = el('input', { id, required: '' })
    return { key, node: el('div', {}, el('label', { htmlFor: id }, q.question || words(key)), input), value: () => input.value.trim() }
  }
  const choices = q.options.map((o) => el('input', { type: 'radio', name: id, value: o, required: '' }))
  const node = el('fieldset', { className: 'answers' }, el('legend', {}, asking(q) || words(key)),
    el('div', { className: q.options.every((o) => o.length < 25) ? 'options' : '' }, choices.map((c) => el('label', { className: 'check' }, c, c.value))))
  return { key, node, value: () => choices.find((c) => c.checked)?.value || '' }
}
