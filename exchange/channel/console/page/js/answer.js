// Questions and confirmations, and how a person answers them.

import { ended, exchange, page } from './api.js'
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

// sender says something once, however often the button is pressed. make makes what is said.
function sender(thread, box, done) {
  const id = randomId()
  const error = el('p', { className: 'error', role: 'alert' })
  box.append(error)
  return async (make) => {
    let item = {}
    const buttons = [...box.querySelectorAll('button')]
    const back = leave(box)
    for (const b of buttons) b.disabled = true
    error.textContent = ''
    try {
      item = await make()
      await exchange.post(id, thread.ref, [item])
      done()
    } catch (err) {
      if (err.code === 409 && err.why !== 'not_ready') failed(late(item.reply?.confirm, `“${cut(thread.intent, 100)}”`, err)) // the form goes
      error.textContent = err.message
      for (const b of buttons) b.disabled = false
      back()
    }
  }
}

/** late says that somebody else was faster, or that it has ended. */
function late(yes, intent, err) {
  const why = ended.has(err.status) ? `the task has ended (${words(err.status)})` : err.message
  if (yes === undefined || yes || err.status === 'cancelled') return `Your ${yes === undefined ? 'answer' : yes ? 'confirmation' : 'rejection'} of ${intent} came too late and has no effect: ${why}.`
  return `YOUR REJECTION OF ${intent} CAME TOO LATE and has no effect: ${why}.${ended.has(err.status) ? '' : ' “Cancel task” ends the running task; “Stop everything” stops all devices at once.'}`
}

function confirmation(thread, asked, me, done) {
  const operator = me.roles.includes('operator')
  const box = el('div', { className: 'answers', role: 'group', 'aria-label': 'Confirmation' },
    el('p', {}, el('strong', {}, asked.action || 'Confirm this action')),
    asked.consequences ? el('p', {}, asked.consequences) : null,
    asked.reversible === false ? el('p', { className: 'meta' }, 'This action is irreversible.') : null,
    asked.confirm_by === 'operator' && !operator ? el('p', { className: 'meta' }, 'Only an operator can confirm this action.') : null)
  const say = (confirm) => ({ reply: { re: asked.ref, confirm, ...(asked.action_hash ? { action_hash: asked.action_hash } : {}) } })
  if (asked.confirm_by === 'operator' && !operator) return box // it is not hers to say
  const risky = asked.confirm_by === 'operator'
  const may = !risky || me.person || me.confirm === 'script'
  const coded = risky && me.confirm === 'code'
  if (!may) box.append(el('p', { className: 'meta' }, 'This browser signed in with a key, which a program may hold as well. To confirm here, run messkit console in a terminal on the exchange’s host and open its link.'))
  const shown = el('p', { className: 'meta', role: 'status' })
  let send = null
  box.append(...[
    may ? el('button', { type: 'button', onclick: () => send(() => yes(thread, say, coded)) }, 'Confirm') : null,
    el('button', { type: 'button', className: 'plain', onclick: () => send(() => say(false)) }, 'Reject'),
    may && coded ? el('button', { type: 'button', className: 'plain', onclick: () => show(thread, shown) }, 'Show code') : null,
    shown,
  ].filter(Boolean))
  send = sender(thread, box, done)
  return box
}

// yes is the confirmation, with the code where the exchange asks for one.
async function yes(thread, say, coded) {
  const item = say(true)
  if (coded) item.reply.code = (await page.code(thread.ref)).code
  return item
}

// show tells the code, for whoever confirms elsewhere.
async function show(thread, shown) {
  try {
    const { code, until } = await page.code(thread.ref)
    shown.textContent = `The code is ${code}. It confirms this action once, until ${new Date(until).toLocaleTimeString()}. Give it only to a person who may confirm it.`
  } catch (err) {
    shown.textContent = err.message
  }
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
      box.querySelector('.error').textContent = 'Answer every question.'
      return
    }
    send(() => ({ reply: { answers } }))
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
