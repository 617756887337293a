// What needs somebody: questions, confirmations, what is unreachable or stopped, and unknown results.

import { Answer } from '../answer.js'
import { taskLink } from '../dom.js'
import { html } from '../html.js'
import { titleText } from '../phrases.js'
import { said } from '../said.js'
import { clock, named, t } from '../text/text.js'
import { Icon } from './icons.js'
import { isConfirmed, setLooked, store } from './store.js'
import { isUnknown } from './taps.js'

const maxShown = 5 // lines; the others are folded

/** needs returns what needs somebody, the most urgent first: {key, ...}. */
export function needs() {
  const list = store.waiting.map((thread) => ({ key: `task ${thread.ref}`, thread }))
  const executors = [...store.executors.values()].filter((e) => !e.person)
  list.push(...stopped(executors))
  for (const d of store.devices.values()) {
    if (isUnknown(d.last) && !store.looked.has(d.last.ref)) list.push({ key: `unknown ${d.last.ref}`, text: t('needs.unknown', { device: d.name, verb: named('verb', d.last.verb) }), why: said(d.last.reason), href: href(d), ref: d.last.ref })
  }
  for (const e of executors) if (!e.live) list.push({ key: `offline ${e.id}`, text: t('needs.offline', { executor: e.name || e.id }), why: t('since', { time: clock(e.last_seen) }), href: `#executors/${encodeURIComponent(e.id)}` })
  for (const d of store.devices.values()) {
    if (!d.reachable && store.executors.get(d.executor)?.live !== false) list.push({ key: `away ${d.id}`, text: t('needs.failing', { device: d.name }), why: [d.unreachable?.since && t('since', { time: clock(d.unreachable.since) }), said(d.unreachable?.reason)].filter(Boolean).join(': '), href: href(d) })
  }
  return list
}

/** stopped returns a line for the executors that a stop has reached, and one for those that have not confirmed it. The top of the page has the reason. */
function stopped(executors) {
  const all = executors.filter((e) => e.stopped)
  return [true, false].flatMap((confirmed) => {
    const some = all.filter((e) => isConfirmed(e.id) === confirmed)
    if (!some.length) return []
    const key = confirmed ? 'needs.stopped' : 'needs.unconfirmed'
    const one = some.length === 1 ? `/${encodeURIComponent(some[0].id)}` : ''
    return [{ key, text: t(key, { executor: some[0].name || some[0].id, count: some.length }), href: `#executors${one}` }]
  })
}

const href = (d) => `#device=${encodeURIComponent(d.id)}`

/** showTile moves the focus to the form in the tile of a device. */
function showTile(id) {
  const at = document.querySelector(`#home .tile[data-device="${CSS.escape(id)}"] .answers :is(button, input)`)
  at?.focus({ preventScroll: true })
  at?.scrollIntoView({ block: 'center' })
}

function Need({ one }) {
  if (one.thread) {
    const { thread } = one
    const about = html`<p class="meta">${thread.requestor_id} · ${clock(thread.created_at)}</p>`
    return html`<li class="need calls"><span class="round"><${Icon} name="alert" /></span><div><a href=${taskLink(thread.ref)}>${titleText(thread)}</a>${about}
      ${one.tile ? html`<button type="button" class="act" onClick=${() => showTile(one.tile)}>${t('task.answer')}</button>` : html`<${Answer} thread=${thread} me=${store.me} title=${titleText(thread)} />`}</div></li>`
  }
  return html`<li class="need"><span class="round"><${Icon} name="alert" /></span><div><a href=${one.href}>${one.text}</a>${one.why ? html`<p class="meta">${one.why}</p>` : null}
    ${one.ref ? html`<button type="button" class="act" onClick=${() => setLooked(one.ref)}>${t('needs.looked')}</button>` : null}</div></li>`
}

/** Needs lists what needs somebody, or nothing. */
export function Needs({ list }) {
  if (!list.length) return null
  const rest = list.slice(maxShown)
  const items = (some) => html`<ul class="needlist">${some.map((one) => html`<${Need} key=${one.key} one=${one} />`)}</ul>`
  return html`<section id="home-needs" tabindex="-1" aria-labelledby="home-needs-title"><h2 id="home-needs-title">${t('needs.title')}</h2>${items(list.slice(0, maxShown))}
    ${rest.length > 0 && html`<details><summary>${t('needs.more', { count: rest.length })}</summary>${items(rest)}</details>`}</section>`
}
