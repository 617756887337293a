// The cards of a person: a task that is offered, a task that she has taken, and an unsent message.

import { Rejected, exchange } from '../api.js'
import { Content, Timeline } from '../content.js'
import { toTop, truncate } from '../dom.js'
import { store } from '../home/store.js'
import { html, useRef, useState } from '../html.js'
import * as outbox from '../outbox.js'
import { Age, Chip, Problem } from '../parts.js'
import { titleText } from '../phrases.js'
import { said, sentenceText } from '../said.js'
import * as stop from '../stop.js'
import { clock, t } from '../text/text.js'
import { duration, lastStatus, requestOf } from '../thread.js'
import { Compose } from './compose.js'
import { TextForm } from './forms.js'
import { executors, executorName, refresh, withdraw } from './tasks.js'

const maxTitle = 400 // characters of an intent

/** delegationNote names the executor that has delegated a task to this person, if any. */
function delegationNote(x) {
  const by = lastStatus(x, 'delegated')
  return by?.delegated_to === store.me.actor ? ` · ${t('me.delegatedby', { name: executorName(by.from) })}` : ''
}

function Head({ x }) {
  const r = requestOf(x)
  const title = titleText(x)
  return html`<h3>${truncate(title, maxTitle)}</h3>${title.length > maxTitle ? html`<details><summary>${t('me.whole')}</summary><p>${title}</p></details>` : null}
    <p class="meta">${x.status === 'pending' ? null : html`<${Chip} code=${x.status} /> `}${t('me.from', { name: x.requestor_id })} · <${Age} at=${x.created_at} />${delegationNote(x)}${r.needed_by ? ` · ${t('me.until', { time: clock(r.needed_by) })}` : ''}</p>
    ${(r.context || []).map((c) => html`<${Content} thread=${x.ref} one=${c} />`)}`
}

const lengths = ['PT15M', 'PT1H', 'PT4H', 'PT12H', 'P1D']

/** Offer is a task that the exchange offers to this person. */
export function Offer({ x }) {
  const [error, setError] = useState(null)
  const long = useRef(null)
  const stopped = stop.stopText(executors())
  const robots = lastStatus(x, 'pending')?.message
  const send = async (status) => {
    setError(null)
    try {
      await exchange.send(x.ref, { status })
      withdraw(x.ref)
      refresh()
      toTop()
      return true
    } catch (err) {
      setError(err)
      if (err instanceof Rejected && (err.code === 409 || err.code === 404)) {
        if (status.code === 'claimed') stop.showAlert(t('me.taken', { intent: truncate(titleText(x), 100), error: err.message })) // the offer disappears
        withdraw(x.ref)
      }
      return false
    }
  }
  return html`<li class="calls" data-ref=${x.ref}><${Head} x=${x} />
    ${stopped ? html`<p class="error">${stopped} ${t('me.beforestop')}</p>` : null}
    ${robots ? html`<p class="meta" lang=${sentenceText(robots) === null ? 'en' : null}>${truncate(said(robots), maxTitle)}</p>` : null}
    <label for=${`long-${x.ref}`}>${t('me.length')}</label>
    <select ref=${long} id=${`long-${x.ref}`}>${lengths.map((d) => html`<option value=${d} selected=${d === 'PT1H'}>${duration(d)}</option>`)}</select>
    <button type="button" onClick=${() => send({ code: 'claimed', estimate: long.current.value })}>${t(stopped ? 'me.anyway' : 'me.accept')}</button>
    <${TextForm} id=${`not-${x.ref}`} title=${t('me.decline')} label=${t('drain.reason')} send=${(why) => send({ code: 'declined', reason: why })} />
    <${Problem} error=${error} /></li>`
}

const waits = { needs_input: 'me.question', needs_confirmation: 'me.confirmation', held: 'me.held' }

/** Task is a task that this person has taken. ending is true while the phone holds its result. */
export function Task({ x, ending }) {
  const asks = x.status === 'needs_input' || x.status === 'needs_confirmation'
  const cancelled = x.messages.some((m) => m.mess.some((i) => i.cancel))
  return html`<li data-ref=${x.ref}><${Head} x=${x} />
    ${cancelled ? html`<p class="error">${t('me.cancelled')}<button type="button" onClick=${() => outbox.put(x.ref, { title: t('outbox.stopped'), items: [{ status: { code: 'cancelled' } }] })}>${t('stop.ihave')}</button></p>` : null}
    ${waits[x.status] ? html`<p>${t(waits[x.status])}</p>` : null}
    ${ending ? html`<p role="status">${t('me.stored')}</p>` : null}
    <div hidden=${ending || asks}><${Compose} thread=${x} request=${requestOf(x)} name=${() => store.me.name || store.me.actor} others=${executors().filter((e) => e.id !== store.me.actor)} /></div>
    ${lastStatus(x, 'needs_input') || lastStatus(x, 'needs_confirmation') ? html`<details open><summary>${t('tasks.messages')}</summary><${Timeline} thread=${x} me=${store.me.actor} /></details>` : null}</li>`
}

const textsOf = (m) => m.items.flatMap((i) => i.response?.content || [i.status?.questions?.[0]?.question, i.status?.action, i.status?.reason?.detail]).filter((c) => typeof c === 'string')

/** Unsent is an unsent or rejected message, with its texts and files. */
export function Unsent({ m }) {
  const task = store.mine.get(m.ref)
  const discard = html`<button type="button" class="plain" onClick=${() => outbox.drop(m)}>${t('outbox.discard')}</button>`
  if (outbox.isOthers(m)) return html`<li data-ref=${m.id}><p>${t('outbox.by', { title: m.title, name: m.by })}</p><p class="meta">${t('outbox.waits', { name: m.by })}</p>${discard}</li>`
  return html`<li data-ref=${m.id}><p>${`${m.title} · ${truncate(task && titleText(task) || m.intent || m.ref, 100)}`}</p>
    ${m.error ? html`<p class="error">${m.error}</p>${textsOf(m).map((text) => html`<p class="summary">${text}</p>`)}${m.files.map((f) => html`<button type="button" class="plain" onClick=${() => save(f)}>${t('outbox.save', { name: f.name })}</button>`)}
      ${m.over ? null : html`<button type="button" class="plain" onClick=${() => outbox.again(m)}>${t('outbox.again')}</button>`}${discard}`
      : html`<p class="meta">${t(m.unkept ? 'outbox.full' : 'outbox.kept')}</p>`}</li>`
}

/** save downloads a file of an unsent message. */
function save(f) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(f.data)
  link.download = f.name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60000)
}
