// The form that answers the question or the confirmation of a thread. The confirmation belongs to the
// request at the server.

import { Rejected, terminalStatuses, exchange, page } from './api.js'
import { opened } from './bell.js'
import { truncate, releaseFocus, randomId, toWords } from './dom.js'
import { useStore } from './home/store.js'
import { html, useLayoutEffect, useRef, useState } from './html.js'
import { Problem } from './parts.js'
import { Action, actionWords, Effect, titleText } from './phrases.js'
import { questionLang, questionText } from './plan.js'
import { optionText } from './said.js'
import { showAlert } from './stop.js'
import { clock, named, t } from './text/text.js'
import { lastStatus } from './thread.js'

const forms = { needs_confirmation: Confirmation, needs_input: Questions }

/** Answer shows the form for the open question of a thread, if it has one. It calls done after the answer. The same question keeps its form. title is the title of the task that stands above the form, if any: the form does not repeat it. */
export function Answer({ thread, me, done, title }) {
  const asked = thread.messages && forms[thread.status] && lastStatus(thread, thread.status)
  return asked ? html`<${forms[thread.status]} key=${asked.ref} thread=${thread} asked=${asked} me=${me} done=${done} title=${title} />` : null
}

/** useSender returns {box, send, busy, problem} of a form. Repeated presses send the same message id. make returns the item. */
function useSender(thread, done) {
  const box = useRef(null)
  const id = useRef(randomId())
  const restoreFocus = useRef(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState(null)
  useLayoutEffect(() => {
    if (!busy) restoreFocus.current?.()
    restoreFocus.current = null
  }, [busy])
  const send = async (make) => {
    let item = {}
    const restore = releaseFocus(box.current)
    setBusy(true)
    setError(null)
    try {
      item = await make()
      await exchange.post(id.current, thread.ref, [item])
      opened(thread.ref)
      done?.()
    } catch (err) {
      if (err.code === 409 && err.why !== 'not_ready') showAlert(tooLateText(item.reply?.confirm, truncate(titleText(thread), 100), err)) // the form disappears
      restoreFocus.current = restore
      setError(err)
      setBusy(false)
    }
  }
  return { box, send, busy, setError, problem: html`<${Problem} error=${error} />` }
}

/** tooLateText explains an answer that arrived after another one, or after the end of the task. */
function tooLateText(yes, intent, err) {
  const isOver = terminalStatuses.has(err.status)
  const why = isOver ? t('late.ended', { status: named('status', err.status) }) : err.message
  const kind = yes === undefined ? 'late.answer' : yes ? 'late.confirmation' : err.status === 'cancelled' ? 'late.rejection' : 'late.alarm'
  return `${t(kind, { intent, why })}${kind === 'late.alarm' && !isOver ? ` ${t('late.help')}` : ''}`
}

function Confirmation({ thread, asked, me, done, title }) {
  useStore(() => []) // the texts of sentences load later
  const { box, send, busy, problem } = useSender(thread, done)
  const [code, setCode] = useState(null) // {code, until} or an error
  const risky = asked.confirm_by === 'operator'
  const denied = risky && !me.roles.includes('operator') // the exchange would reject the answer
  const mayConfirm = !risky || me.person || me.confirm === 'script'
  const needsCode = risky && me.confirm === 'code'
  const reply = async (confirm) => ({ reply: { re: asked.ref, confirm, ...(asked.action_hash ? { action_hash: asked.action_hash } : {}), ...(confirm && needsCode ? { code: (await page.code(thread.ref)).code } : {}) } })
  const codeText = code instanceof Error ? html`<span lang=${code instanceof Rejected ? 'en' : null}>${code.message}</span>` : code && t('answer.code', { code: code.code, time: clock(code.until, true) })
  return html`<div ref=${box} class="answers" role="group" aria-label=${t('answer.confirmation')}>
    ${asked.action && title && actionWords(asked).toLowerCase() === title.toLowerCase() ? null : html`<p><strong>${asked.action ? html`<${Action} phrases=${asked.phrases} text=${asked.action} />` : t('answer.this')}</strong></p>`}
    ${asked.consequences ? html`<p><${Effect} phrases=${asked.phrases} offs=${asked.switch_offs} text=${asked.consequences} /></p>` : null}
    ${asked.reversible === false ? html`<p class="meta">${t('answer.irreversible')}</p>` : null}
    ${denied ? html`<p class="meta">${t('answer.operator')}</p>` : html`
      ${mayConfirm ? null : html`<p class="meta">${t(me.link ? 'answer.link' : 'answer.key')}</p>`}
      ${mayConfirm && html`<button type="button" disabled=${busy} onClick=${() => send(() => reply(true))}>${t('answer.confirm')}</button>`}
      <button type="button" class="plain" disabled=${busy} onClick=${() => send(() => reply(false))}>${t('answer.reject')}</button>
      ${mayConfirm && needsCode && html`<button type="button" class="plain" disabled=${busy} onClick=${() => page.code(thread.ref).then(setCode, setCode)}>${t('answer.show')}</button>`}
      <p class="meta" role="status">${codeText}</p>${problem}`}</div>`
}

function Questions({ thread, asked, done }) {
  const { box, send, busy, setError, problem } = useSender(thread, done)
  const answers = useRef({})
  const list = asked.questions || []
  const submit = (e) => {
    e.preventDefault()
    if (list.some((q) => !answers.current[keyOf(q)])) return setError(t('answer.every'))
    send(() => ({ reply: { answers: { ...answers.current } } }))
  }
  return html`<form ref=${box} class="answers" onSubmit=${submit}>
    ${list.map((q, i) => html`<${Question} q=${q} id=${`${asked.ref}-${i}`} choose=${(value) => { answers.current[keyOf(q)] = value }} />`)}
    <button type="submit" disabled=${busy}>${t('answer.answer')}</button>${problem}</form>`
}

const keyOf = (q) => q.field || q.id

function Question({ q, id, choose }) {
  useStore()
  if (!q.options?.length) return html`<div><label for=${id} lang=${questionLang(q)}>${questionText(q) || toWords(keyOf(q))}</label><input id=${id} required onInput=${(e) => choose(e.target.value.trim())} /></div>`
  return html`<fieldset class="answers"><legend lang=${questionLang(q)}>${questionText(q) || toWords(keyOf(q))}</legend>
    <div class=${q.options.every((o) => o.length < 25) ? 'options' : ''}>${q.options.map((o) => html`<label class="check"><input type="radio" name=${id} value=${o} required onChange=${() => choose(o)} />${optionText(o)}</label>`)}</div></fieldset>`
}
