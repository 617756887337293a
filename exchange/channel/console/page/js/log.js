// The log: rejected calls, unsuccessful tasks and storage.

import { page } from './api.js'
import { $, clean, size } from './dom.js'
import { store, useStore } from './home/store.js'
import { html, render, useEffect, useState } from './html.js'
import { Age, Problem } from './parts.js'
import { Head } from './tasks/row.js'
import { clock, measure, t } from './text/text.js'

const maxLines = 12 // of each list; the others are folded

const isOperator = () => store.me.roles.includes('operator')

/** show reads and shows the log. */
export function show() {
  render(null, $('log')) // it reads everything again
  render(html`<${Log} />`, $('log'))
}

function Log() {
  useStore()
  const [refused, setRefused] = useState([])
  const [error, setError] = useState(null)
  useEffect(() => { if (isOperator()) page.deniedRequests().then((v) => setRefused(clean(v.refused)), setError) }, [])
  return html`<h1 id="log-title">${t('log.title')}</h1>
    <h2>${t('log.refused')}</h2>${error && html`<${Problem} error=${error} />`}
    <${Lines} id="refused" list=${refused.map((r) => html`<${Rejection} r=${r} />`)} empty=${t(isOperator() ? 'log.nonerefused' : 'log.operators')} />
    <h2>${t('log.failed')}</h2><${Lines} id="declined" list=${unsuccessful().map((all) => html`<li><${Head} x=${all[0]} times=${all.length} /></li>`)} empty=${t('log.nonefailed')} />
    <h2>${t('log.storage')}</h2><${Storage} status=${store.state?.status} />`
}

/** Lines shows the newest lines, and folds the others. */
function Lines({ id, list, empty }) {
  const rest = list.slice(maxLines)
  return html`<ul id=${id} class="cards">${list.length ? list.slice(0, maxLines) : html`<li><p class="empty">${empty}</p></li>`}
    ${rest.length ? html`<li><details><summary>${t('log.older', { count: rest.length })}</summary><ul class="cards">${rest}</ul></details></li>` : null}</ul>`
}

/** unsuccessful returns the declined, failed and expired tasks, the newest first. Equal tasks are one entry. */
function unsuccessful() {
  const alike = new Map()
  for (const x of store.tasks.filter((one) => ['declined', 'failed', 'expired'].includes(one.status))) {
    const key = JSON.stringify([x.status, x.intent, x.executor_id || '', x.requestor_id])
    alike.set(key, [...(alike.get(key) || []), x])
  }
  return [...alike.values()]
}

/** Rejection is one line for equal rejected calls. */
function Rejection({ r }) {
  return html`<li><p class="summary"><span class="chip bad">${String(r.code)}</span> ${r.count > 1 ? html`<strong>${t('log.times', { number: r.count })} </strong>` : null}<span lang="en">${r.error}</span></p>
    <p class="meta">${r.method} ${r.path}${r.various ? ` ${t('log.others')}` : ''} · ${r.actor || r.from} · ${r.count > 1 ? t('log.range', { from: clock(r.first), to: clock(r.at) }) : html`<${Age} at=${r.at} />`}</p></li>`
}

function Storage({ status }) {
  if (!status) return html`<p class="empty">${t('log.operators')}</p>`
  const lines = [['log.threads', status.log], ['log.files', status.files], ['log.journal', status.executor?.journal]].filter(([, w]) => w)
  const written = (w) => [size(w.bytes), t(w.today === w.written ? 'log.start' : 'log.today', { size: size(w.today) }), w.per_day ? t('log.pace', { size: size(w.per_day) }) : ''].filter(Boolean).join(' · ')
  return html`<dl id="storage">${lines.map(([key, w]) => html`<dt>${t(key)}</dt><dd>${written(w)}</dd>`)}<dt>${t('fleet.version')}</dt><dd>${t('log.version', { version: status.version, time: measure(Math.round(status.uptime_s / 60), 'min') })}</dd></dl>`
}
