// The view of the tasks: the form for a new one, what waits for an answer, what runs, and what has ended.

import { Ask, mayAsk } from '../ask.js'
import { Answer } from '../answer.js'
import { $, truncate } from '../dom.js'
import { Lazy } from '../home/lazy.js'
import { store, useStore } from '../home/store.js'
import { html, render, useRef } from '../html.js'
import { said, sentenceText } from '../said.js'
import { invalidate, isEnded, waitingStatuses, waitsForMe } from '../tasks.js'
import { Problem } from '../parts.js'
import { titleText } from '../phrases.js'
import { t } from '../text/text.js'
import { lastStatus } from '../thread.js'
import { Detail } from './detail.js'
import { DeviceFilter, useTasksOf } from './device.js'
import { History } from './history.js'
import { Head, maxTitle } from './row.js'

const maxListed = 20 // tasks of a list; the others are folded

/** ready shows the view. */
export function ready() {
  render(html`<${Shown} />`, $('tasks'))
}

/** Shown draws the view after a change of the tasks, while it is visible. */
function Shown() {
  useStore(() => [store.section, store.tasksDrawn])
  const last = useRef({ drawn: -1, view: null })
  if (last.current.drawn !== store.tasksDrawn && store.section === 'tasks') last.current = { drawn: store.tasksDrawn, view: html`<${Tasks} />` }
  return last.current.view
}

const sitesView = () => import('../sites/view.js').then((view) => view.Sites)

function Tasks() {
  const device = store.taskDevice
  const its = useTasksOf(device)
  const tasks = device ? its.list || [] : store.tasks
  const waiting = tasks.filter((x) => waitingStatuses.has(x.status))
  const going = tasks.filter((x) => !isEnded(x) && !waitingStatuses.has(x.status))
  const field = { id: 'intent', lines: 2, label: t('tasks.new'), placeholder: t('tasks.words') }
  return html`<div class="list"><h1 id="tasks-title">${t('nav.tasks')}</h1>
      ${mayAsk() && html`<${Ask} form="ask" name="card" field=${field} preview="preview" storageKey="messkit-ask" />`}
      <${DeviceFilter} />${its.error && html`<${Problem} error=${its.error} />`}
      <${List} id="needs" title=${t('tasks.needs')} list=${waiting.filter(waitsForMe)} />
      <${List} id="others" title=${t('tasks.others')} list=${waiting.filter((x) => !waitsForMe(x))} />
      <${List} id="open" title=${t('tasks.open')} list=${going} empty=${t(!device ? 'tasks.none' : its.list ? 'tasks.nothing' : 'home.loading')} />
      ${!device && store.tooMany && html`<p id="too-many" class="meta">${t('tasks.toomany')} <code>messkit ls</code></p>`}
      <h2 id="done-title">${t('tasks.title')}</h2><div id="done"><${History} key=${device} device=${device} list=${tasks.filter(isEnded)} all=${device ? its.all : store.allTasks} /></div>
      ${store.me.uplinks && html`<${Lazy} quiet=${true} load=${sitesView} />`}</div>
    <article id="detail" tabindex="0" hidden=${!store.task} data-ref=${store.shownTask?.ref === store.task ? store.task : null} aria-labelledby="detail-title"><${Detail} shown=${store.shownTask?.ref === store.task ? store.shownTask : null} /></article>`
}

function List({ id, title, list, empty }) {
  const rows = (some) => some.map((x) => html`<${Row} key=${x.ref} x=${x} />`)
  const rest = list.slice(maxListed)
  return html`<h2 id=${`${id}-title`} hidden=${!list.length && !empty}>${title}</h2>
    <ul id=${id} class="cards">${rows(list.slice(0, maxListed))}
      ${rest.length ? html`<li key="rest"><details class="rest"><summary id=${`${id}-more`}>${t('needs.more', { count: rest.length })}</summary><ul class="cards">${rows(rest)}</ul></details></li>` : null}
      ${!list.length && empty ? html`<li key="empty"><p class="empty">${empty}</p></li>` : null}</ul>`
}

function Row({ x }) {
  const full = store.threads.get(x.ref)
  const calling = waitingStatuses.has(x.status)
  const mine = calling && waitsForMe(x)
  const note = x.status === 'pending' && full && lastStatus(full, 'pending')?.message // why no executor has claimed it, and who has the offer
  return html`<li class=${mine ? 'calls' : ''}><${Head} x=${x} />
    ${note ? html`<p class="meta" lang=${sentenceText(note) === null ? 'en' : null}>${truncate(said(note), 2 * maxTitle)}</p>` : null}
    ${calling && !mine ? html`<p class="meta">${x.status === 'needs_confirmation' ? t('tasks.operator') : t('tasks.must', { name: x.requestor_id })}</p>` : null}
    ${mine && full && x.ref !== store.task ? html`<${Answer} thread=${full} me=${store.me} title=${titleText(x)} done=${() => invalidate(x.ref)} />` : null}</li>`
}
