// Folded forms of a task: one with a text, and one that delegates the task.

import { html, useRef } from '../html.js'
import { t } from '../text/text.js'

/** TextForm is a folded form with one text field. The text stays if send resolves to false. */
export function TextForm({ id, title, label, send }) {
  const input = useRef(null)
  const submit = async (e) => {
    e.preventDefault()
    const text = input.current.value
    if (!text.trim()) return
    const ok = await send(text.trim())
    if (ok !== false && input.current?.value === text) input.current.value = ''
  }
  return html`<details><summary>${title}</summary><form onSubmit=${submit}><label for=${id}>${label}</label>
    <input ref=${input} id=${id} required maxlength="500" autocomplete="off" /><button type="submit" class="plain">${title}</button></form></details>`
}

/** Delegate is the folded form that delegates a task to another executor. */
export function Delegate({ id, others, send }) {
  const to = useRef(null)
  const submit = (e) => {
    e.preventDefault()
    send(to.current.value)
  }
  return html`<details><summary>${t('compose.delegate')}</summary><form onSubmit=${submit}><label for=${id}>${t('compose.to')}</label>
    <select ref=${to} id=${id} required>${others.map((e) => html`<option key=${e.id} value=${e.id}>${e.person ? e.name || e.id : t('compose.robot', { name: e.name || e.id })}</option>`)}</select>
    <button type="submit" class="plain">${t('compose.untouched')}</button></form></details>`
}
