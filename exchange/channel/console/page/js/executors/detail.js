// The page of one executor: what it needs, what it has, and how to drain and remove it.

import { taskLink } from '../dom.js'
import { stateText } from '../home/describe.js'
import { Icon } from '../home/icons.js'
import { store } from '../home/store.js'
import { html } from '../html.js'
import { titleText } from '../phrases.js'
import { Remove } from '../remove.js'
import { age, byName, clock, named, t } from '../text/text.js'
import { DrainForm, Resume } from './drain.js'
import { areasOf, batteryText, capabilityText, helpOf, idsOf, loadText, newestOf } from './fleet.js'

/** Detail is the page of the executor with an id. */
export function Detail({ id, state, who }) {
  const e = state.executors.find((x) => x.id === id)
  const back = html`<p class="backhome"><a href="#executors"><${Icon} name="left" />${t('nav.executors')}</a></p>`
  if (!e) return html`${back}<h1 id="devices-title" tabindex="-1">${id}</h1><p>${t('fleet.gone', { id })}</p>`
  const help = helpOf(e, newestOf(state.executors.filter((x) => !x.person)))
  const rows = [['fleet.id', e.id], ['fleet.contact', `${t(e.live ? 'fleet.online' : 'fleet.away')} · ${age(e.last_seen, Date.now())}`], ['fleet.version', e.software], ['fleet.load', loadText(e)], ['fleet.power', batteryText(e)],
    ['detail.area', areasOf(e).join(', ')], ['fleet.hours', e.schedule], ['fleet.can', [...new Set(idsOf(e).map(capabilityText))].join(', ')]]
  const devices = [...store.devices.values()].filter((d) => d.executor === id).sort((a, b) => byName(a.name, b.name))
  const its = store.tasks.filter((x) => x.executor_id === id).slice(0, 8)
  return html`${back}<h1 id="devices-title" tabindex="-1">${e.name || e.id}</h1>
    ${help.map((h) => html`<p key=${h.rank} class="trouble helps"><${Icon} name="alert" /><span>${h.text}</span></p>`)}
    ${e.on_hold ? html`<p><${Resume} list=${[e]} who=${who} /></p>` : null}
    <${Remove} e=${e} who=${who} />
    <div class="panels">
      <section class="card"><h2>${t('detail.about')}</h2><dl>${rows.filter(([, v]) => v).map(([key, v]) => html`<dt>${t(key)}</dt><dd>${v}</dd>`)}</dl></section>
      ${devices.length > 0 && html`<section class="card"><h2>${t('fleet.devices')}</h2><ul class="tasklist">${devices.map((d) => html`<li key=${d.id}><a href=${`#device=${encodeURIComponent(d.id)}`}>${d.name}</a><p class="meta">${stateText(d)}</p></li>`)}</ul></section>`}
      <section class="card"><h2>${t('detail.tasks')}</h2>${its.length ? html`<ul class="tasklist">${its.map((x) => html`<li key=${x.ref}><a href=${taskLink(x.ref)}>${titleText(x)}</a><p class="meta">${named('status', x.status)} · ${clock(x.updated_at)}</p></li>`)}</ul>` : html`<p class="empty">${t('side.none')}</p>`}</section>
      ${e.on_hold ? null : html`<${DrainForm} executors=${[e]} who=${who} fixed=${e} />`}
    </div>`
}
