// A person in the People view: role, end date, browsers, and what an operator can change.

import { toWords } from '../dom.js'
import { idsOf } from '../executors/fleet.js'
import { html, useState } from '../html.js'
import { age, clock, t } from '../text/text.js'
import { accessOf, AccessFields, toSend } from './access.js'
import { Browser } from './browser.js'
import { TwoStep } from './twostep.js'

/** about returns what a person may do, in words. */
function about(p) {
  const end = p.until ? t(p.ended ? 'people.ended' : 'people.ends', { time: clock(p.until) }) : ''
  const where = p.role !== 'guest' ? '' : [p.areas ? p.areas.join(', ') : t('people.all_areas'), p.entry ? t('people.with_entry') : ''].filter(Boolean).join(', ')
  return [end, where].filter(Boolean).join(' · ')
}

function Helper({ e }) {
  if (!e) return null
  const can = idsOf(e).map(toWords).join(', ')
  return html`<p class="meta">${[e.live ? t('people.online') : t('people.offline', { time: clock(e.last_seen) }), can || t('people.any_task'), e.schedule ? t('people.hours', { hours: e.schedule }) : ''].filter(Boolean).join(' · ')}</p>
    ${e.on_hold ? html`<p class="meta">${t('drained', { reason: e.on_hold })}</p>` : null}`
}

function Browsers({ p, act }) {
  if (!p.browsers.length) return html`<p class="meta">${t('people.nobrowser')}</p>`
  return html`<ul class="browsers">${p.browsers.map((b) => html`<${Browser} key=${b.id} b=${b} actor=${p.name} out=${() => act({ do: 'sign-out', actor: p.actor, browser: b.id })} />`)}</ul>
    ${p.browsers.length > 1 && html`<${TwoStep} label=${t('people.out_all')} name=${p.name} text=${t('people.out_ask')} act=${() => act({ do: 'sign-out', actor: p.actor })} />`}`
}

/** Person is the card of a person. */
export function Person({ p, me, executor, areas, act }) {
  const [form, setForm] = useState(null)
  const own = p.actor === me.actor
  const canChange = !own && !p.owner
  const save = async (e) => {
    e.preventDefault()
    await act({ do: 'change', actor: p.actor, ...toSend(form) })
    setForm(null)
  }
  return html`<li data-person=${p.actor}><h2>${p.name}${own ? ` (${t('people.you')})` : ''}</h2>
    <p><span class=${`chip ${p.ended ? 'warn' : ''}`}>${t(`role.${p.role}`)}</span> ${about(p)}</p>
    ${p.owner && html`<p class="meta">${t('people.owner')}</p>`}
    <${Helper} e=${p.role === 'helper' && executor} />
    ${p.used && html`<p class="meta">${t('people.used', { age: age(p.used, Date.now()) })}</p>`}
    <details><summary>${t('people.browsers', { count: p.browsers.length })}</summary><${Browsers} p=${p} act=${act} /></details>
    ${form && html`<form class="access" onSubmit=${save}><${AccessFields} id=${`access-${p.actor}`} value=${form} change=${setForm} roles=${['resident', 'guest', 'viewer', 'operator']} areas=${areas} />
      <button type="submit">${t('people.save')}</button> <button type="button" class="plain" onClick=${() => setForm(null)}>${t('people.keep')}</button></form>`}
    ${canChange && !form && html`<p>${p.role !== 'helper' && html`<button type="button" class="plain" aria-label=${t('people.change_of', { name: p.name })} onClick=${() => setForm(accessOf(p))}>${t('people.change')}</button>`}
      <${TwoStep} label=${t('people.remove')} name=${p.name} text=${t('people.remove_ask', { name: p.name })} act=${() => act({ do: 'remove', actor: p.actor })} /></p>`}</li>`
}
