// Forms that answer the questions and confirmations of a thread.

import { terminalStatuses, exchange, page } from './api.js'
import { lastStatus } from './content.js'
import { truncate, el, releaseFocus, randomId, toWords } from './dom.js'
import { questionText } from './plan.js'
import { showAlert } from './stop.js'

/** answerForm returns the form for the open question of a thread, or null. It calls done after the answer. */
export function answerForm(thread, me, done) {
  const box = buildForm(thread, me, done)
  if (box) box.dataset.asks = lastStatus(thread, thread.status).ref
  return box
}

function buildForm(thread, me, done) {
  if (thread.status === 'needs_confirmation') {
    const asked = lastStatus(thread, 'needs_confirmation')
    return asked && confirmation(thread, asked, me, done)
  }
  if (thread.status === 'needs_input') {
    const asked = lastStatus(thread, 'needs_input')
    return asked && questionForm(thread, asked, done)
  }
  return null
}

// createSender returns a function that sends one message of the form. Repeated presses send the
// same message id. make returns the item.
function createSender(thread, box, done) {
  const id = randomId()
  const error = el('p', { className: 'error', role: 'alert' })
  box.append(error)
  return async (make) => {
    let item = {}
    const buttons = [...box.querySelectorAll('button')]
    const restoreFocus = releaseFocus(box)
    for (const b of buttons) b.disabled = true
    error.textContent = ''
    try {
      item = await make()
      await exchange.post(id, thread.ref, [item])
      done()
    } catch (err) {
      if (err.code === 409 && err.why !== 'not_ready') showAlert(tooLateText(item.reply?.confirm, `“${truncate(thread.intent, 100)}”`, err)) // the form disappears
      error.textContent = err.message
      for (const b of buttons) b.disabled = false
      restoreFocus()
    }
  }
}

/** tooLateText explains an answer that arrived after another one, or after the end of the task. */
function tooLateText(yes, intent, err) {
  const why = terminalStatuses.has(err.status) ? `the task has ended (${toWords(err.status)})` : err.message
  if (yes === undefined || yes || err.status === 'cancelled') return `Your ${yes === undefined ? 'answer' : yes ? 'confirmation' : 'rejection'} of ${intent} came too late and has no effect: ${why}.`
  return `YOUR REJECTION OF ${intent} CAME TOO LATE and has no effect: ${why}.${terminalStatuses.has(err.status) ? '' : ' “Cancel task” ends the running task; “Stop everything” stops all devices at once.'}`
}

function confirmation(thread, asked, me, done) {
  const operator = me.roles.includes('operator')
  const box = el('div', { className: 'answers', role: 'group', 'aria-label': 'Confirmation' },
    el('p', {}, el('strong', {}, asked.action || 'Confirm this action')),
    asked.consequences ? el('p', {}, asked.consequences) : null,
    asked.reversible === false ? el('p', { className: 'meta' }, 'This action is irreversible.') : null,
    asked.confirm_by === 'operator' && !operator ? el('p', { className: 'meta' }, 'Only an operator can confirm this action.') : null)
  const replyItem = (confirm) => ({ reply: { re: asked.ref, confirm, ...(asked.action_hash ? { action_hash: asked.action_hash } : {}) } })
  if (asked.confirm_by === 'operator' && !operator) return box // the exchange would reject the answer
  const risky = asked.confirm_by === 'operator'
  const canConfirm = !risky || me.person || me.confirm === 'script'
  const needsCode = risky && me.confirm === 'code'
  if (!canConfirm) box.append(el('p', { className: 'meta' }, 'This browser signed in with a key, which a program may hold as well. To confirm here, run messkit console in a terminal on the exchange’s host and open its link.'))
  const codeText = el('p', { className: 'meta', role: 'status' })
  let send = null
  box.append(...[
    canConfirm ? el('button', { type: 'button', onclick: () => send(() => confirmReply(thread, replyItem, needsCode)) }, 'Confirm') : null,
    el('button', { type: 'button', className: 'plain', onclick: () => send(() => replyItem(false)) }, 'Reject'),
    canConfirm && needsCode ? el('button', { type: 'button', className: 'plain', onclick: () => showCode(thread, codeText) }, 'Show code') : null,
    codeText,
  ].filter(Boolean))
  send = createSender(thread, box, done)
  return box
}

// confirmReply returns the confirmation, with the code if the exchange requires one.
async function confirmReply(thread, replyItem, needsCode) {
  const item = replyItem(true)
  if (needsCode) item.reply.code = (await page.code(thread.ref)).code
  return item
}

// showCode shows the code for a confirmation on another device.
async function showCode(thread, codeText) {
  try {
    const { code, until } = await page.code(thread.ref)
    codeText.textContent = `The code is ${code}. It confirms this action once, until ${new Date(until).toLocaleTimeString()}. Give it only to a person who may confirm it.`
  } catch (err) {
    codeText.textContent = err.message
  }
}

function questionForm(thread, asked, done) {
  const list = asked.questions || []
  const box = el('form', { className: 'answers' })
  const fields = list.map((q, i) => questionField(q, `${asked.ref}-${i}`))
  box.append(...fields.map((f) => f.node), el('button', { type: 'submit' }, 'Answer'))
  const send = createSender(thread, box, done)
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

function questionField(q, id) {
  const key = q.field || q.id
  if (!q.options?.length) {
    const input = el('input', { id, required: '' })
    return { key, node: el('div', {}, el('label', { htmlFor: id }, q.question || toWords(key)), input), value: () => input.value.trim() }
  }
  const choices = q.options.map((o) => el('input', { type: 'radio', name: id, value: o, required: '' }))
  const node = el('fieldset', { className: 'answers' }, el('legend', {}, questionText(q) || toWords(key)),
    el('div', { className: q.options.every((o) => o.length < 25) ? 'options' : '' }, choices.map((c) => el('label', { className: 'check' }, c, c.value))))
  return { key, node, value: () => choices.find((c) => c.checked)?.value || '' }
}
