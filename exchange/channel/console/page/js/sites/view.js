// The sites of this exchange: the state of each uplink, and the newest tasks of each site, for reading. At a
// site it shows the uplink to the centre.

import { exchange, siteRef, sites } from '../api.js'
import { Timeline } from '../content.js'
import { truncate } from '../dom.js'
import { html, useEffect, useState } from '../html.js'
import { Age, Chip, Problem } from '../parts.js'
import { titleText } from '../phrases.js'
import { maxTitle } from '../tasks/row.js'
import { clock, t } from '../text/text.js'

const shown = 20 // tasks of a site
const every = 5000 // ms between two looks at the uplinks

/** Sites shows all sites. */
export function Sites() {
  const [found, setFound] = useState(null)
  const [error, setError] = useState(null)
  useEffect(() => {
    let isOver = false
    const look = async () => {
      try {
        const next = await sites.uplinks()
        if (isOver) return
        setFound(next)
        setError(null)
      } catch (err) {
        if (!isOver) setError(err)
      }
    }
    look()
    const timer = setInterval(() => { if (!document.hidden) look() }, every)
    return () => {
      isOver = true
      clearInterval(timer)
    }
  }, [])
  return html`${error && html`<${Problem} error=${error} />`}
    ${found?.centre && html`<section class="card" id="centre"><h2>${t('sites.centre')}</h2><${Uplink} u=${found.centre} /></section>`}
    ${found?.sites.map((u) => html`<${Site} key=${u.site} u=${u} />`)}`
}

/** Uplink says whether an uplink works, what waits, and how old the copy is. */
function Uplink({ u }) {
  const state = u.connected ? t('sites.connected') : u.since ? t('sites.cut', { time: clock(u.since, true) }) : t('sites.never')
  const more = [
    u.side === 'centre' && !u.connected && u.as_of && t('sites.asof', { time: clock(u.as_of, true) }),
    u.behind > 0 && t('sites.behind', { count: u.behind }),
    u.waiting > 0 && t('sites.waiting', { count: u.waiting }),
  ].filter(Boolean)
  return html`<p role="status"><span class=${`chip ${u.connected ? 'good' : 'warn'}`}>${state}</span>${more.map((text) => ` · ${text}`)}</p>${u.failing && html`<p class="error" lang="en">${u.failing}</p>`}`
}

function Site({ u }) {
  const [list, setList] = useState(null)
  const [error, setError] = useState(null)
  useEffect(() => { sites.list(u.site, shown).then(setList, setError) }, [u.as_of, u.waiting])
  return html`<section class="card site" data-site=${u.site}><h2>${t('sites.title', { name: u.site })}</h2><${Uplink} u=${u} /><p class="hint">${t('sites.reading', { name: u.site })}</p>
    ${error && html`<${Problem} error=${error} />`}
    ${list && !list.length ? html`<p class="empty">${t('tasks.nothing')}</p>` : html`<ul class="cards">${(list || []).map((x) => html`<${Row} key=${x.ref} site=${u.site} x=${x} />`)}</ul>`}</section>`
}

/** isRef reports whether the site has a thread. A request that waits for the uplink has its id as name. */
const isRef = (ref) => /^\d{4}-\d\d-\d\d-/.test(ref)

/** Row shows one task of a site, with its messages and pictures when it is open. */
function Row({ site, x }) {
  const [open, setOpen] = useState(false)
  const [thread, setThread] = useState(null)
  const [error, setError] = useState(null)
  useEffect(() => {
    if (!open) return
    const ref = siteRef(site, x.ref)
    exchange.thread(ref).then((full) => setThread({ ...full, ref }), setError)
  }, [open, x.updated_at])
  return html`<li><details onToggle=${(e) => setOpen(e.target.open)}><summary>${truncate(titleText(x), maxTitle)}</summary>
      ${error && html`<${Problem} error=${error} />`}${open && thread && html`<${Timeline} thread=${thread} me="" />`}</details>
    <p class="meta"><${Chip} code=${x.status} label=${isRef(x.ref) ? null : t('sites.pending')} /> ${x.executor_id || t('tasks.notyet')} · ${t('tasks.by', { name: x.requestor_id })} <${Age} at=${x.created_at} /></p></li>`
}
