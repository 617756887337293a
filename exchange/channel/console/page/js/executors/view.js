// The view of the executors: the whole fleet, those that need help first, and the local executor.

import { exchange, page } from '../api.js'
import { $, plain } from '../dom.js'
import { Icon } from '../home/icons.js'
import { html, render, useMemo, useState } from '../html.js'
import { Remove } from '../remove.js'
import { Said } from '../said.js'
import { language, t } from '../text/text.js'
import { Detail } from './detail.js'
import { DrainForm, Resume } from './drain.js'
import { aboutText, capabilityText, found, grouped, rowsOf } from './fleet.js'
import { VirtualList } from './list.js'
import { Arming, LocalDevices } from './local.js'

let who = null
let state = null // the last state of the exchange; null before the first
let pictures = []
let catalog = []
let shown = '' // the id of the executor with the page, '' for the fleet

/** ready takes the signed-in actor. */
export function ready(me) {
  who = me
  $('devices').lang = language
}

/** changed takes a new state of the exchange. */
export function changed(s) {
  state = s
  if (!$('devices').hidden) draw()
}

/** show shows the fleet, or one executor, and reads what the stream does not contain. */
export async function show(id) {
  const moved = id !== shown
  shown = id
  draw()
  if (moved) $('devices-title')?.focus({ preventScroll: true })
  const [p, c] = await Promise.allSettled([page.lastImages(), exchange.capabilities()])
  if (p.status === 'fulfilled') pictures = p.value.pictures
  if (c.status === 'fulfilled') catalog = c.value
  draw()
}

function draw() {
  if (state) render(html`<${View} state=${state} id=${shown} />`, $('devices'))
}

function View({ state, id }) {
  if (id) return html`<${Detail} id=${id} state=${state} who=${who} />`
  return html`<h1 id="devices-title" tabindex="-1">${t('nav.executors')}</h1>
    <${Fleet} executors=${state.executors} />
    <div id="arming">${state.here && html`<${Arming} here=${state.here} who=${who} />`}</div>
    <h2>${t('here.title')}</h2><${LocalDevices} state=${state} pictures=${pictures} who=${who} />
    <${DrainForm} executors=${state.executors} who=${who} />
    <h2>${t('fleet.capabilities')}</h2><${Capabilities} executors=${state.executors} />`
}

function Fleet({ executors }) {
  const [words, setWords] = useState('')
  const [needHelp, setNeedHelp] = useState(false)
  const [byArea, setByArea] = useState(false)
  const rows = useMemo(() => rowsOf(executors), [executors])
  const list = found(rows, words, needHelp)
  const helpless = rows.filter((r) => r.help.length).length
  const filter = (on, label, set) => html`<button type="button" class="chipbutton" aria-pressed=${String(on)} onClick=${set}>${label}</button>`
  return html`<div class="fleettools"><label class="sr" for="fleet-search">${t('fleet.search')}</label>
      <input id="fleet-search" type="search" autocomplete="off" placeholder=${t('fleet.example')} onInput=${(e) => setWords(e.target.value)} />
      <div class="chips" role="group" aria-label=${t('fleet.filter')}>${filter(!needHelp, t('fleet.all', { number: rows.length }), () => setNeedHelp(false))}
        ${filter(needHelp, t('fleet.help', { number: helpless }), () => setNeedHelp(true))}${filter(byArea, t('fleet.areas'), () => setByArea(!byArea))}</div></div>
    <p class="meta" role="status">${words || needHelp ? t('fleet.found', { count: list.length }) : ''}</p>
    ${rows.length ? html`<${VirtualList} id="executors" label=${t('fleet.list')} items=${grouped(list, byArea)} keyOf=${(r) => r.e.id} draw=${(r) => html`<${Row} row=${r} />`} />` : html`<p id="executors" class="empty">${t('fleet.none')}</p>`}`
}

function Row({ row }) {
  const { e, name, help } = row
  const more = help.length > 1 ? ` ${t('fleet.more', { count: help.length - 1 })}` : ''
  return html`<span class="round ${help.length ? 'helps' : ''}"><${Icon} name=${!e.live ? 'away' : help.length ? 'alert' : 'check'} /></span>
    <div class="what"><a href=${`#executors/${encodeURIComponent(e.id)}`}>${name}</a>
      <p class=${help.length ? 'trouble' : 'meta'} title=${help.map((h) => h.text).join(' ')}>${help.length ? `${help[0].text}${more}` : aboutText(row)}</p></div>
    <div class="do">${e.on_hold ? html`<span class="chip warn">${t('fleet.drained')}</span><${Resume} list=${[e]} who=${who} />` : null}<${Remove} e=${e} who=${who} /></div>`
}

/** Capabilities is the table of capabilities with their executors and areas. */
function Capabilities({ executors }) {
  const can = new Map()
  for (const e of executors) for (const c of e.capabilities || []) {
    const [id, meta] = typeof c === 'string' ? [c, null] : Object.entries(c)[0]
    can.set(id, [...(can.get(id) || []), meta?.areas?.length ? `${e.name || e.id} (${meta.areas.join(', ')})` : e.name || e.id])
  }
  const most = 8 // executors of a row
  const names = (list) => (list.length > most ? t('stop.andmore', { names: list.slice(0, most).join('; '), count: list.length - most }) : list.join('; '))
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${t('fleet.capabilities')}><table id="capabilities">
    <thead><tr><th scope="col">${t('fleet.capability')}</th><th scope="col">${t('fleet.where')}</th></tr></thead>
    <tbody>${catalog.filter((c) => can.has(c.id)).map((c) => html`<tr key=${c.id}><th scope="row">${capabilityText(c.id)}${c.description ? html`<span class="about"><${Said} text=${plain(c.description)} /></span>` : null}</th><td>${names(can.get(c.id))}</td></tr>`)}</tbody></table></div>`
}
