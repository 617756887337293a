// The banner of drains: a drained executor takes no new tasks until a user resumes it.

import { $ } from './dom.js'
import { drainText, Resume } from './executors/drain.js'
import { html, render } from './html.js'
import { language, t } from './text/text.js'

const maxOrders = 4 // drain orders that the page shows in full

/** changed shows each drain order with its executors, time, author and reason. */
export function changed(executors, who) {
  const orders = new Map() // by id of the order
  for (const e of executors.filter((e) => e.on_hold)) {
    const id = e.hold?.id || `${e.id} ${e.on_hold}`
    orders.set(id, [...(orders.get(id) || []), e])
  }
  const list = [...orders]
  const rest = list.slice(maxOrders).flatMap(([, all]) => all)
  $('onhold').lang = language
  render(html`${list.slice(0, maxOrders).map(([id, all]) => html`<${Order} key=${id} all=${all} who=${who} />`)}${rest.length > 0 && html`<p>${t('drain.more', { count: rest.length })}</p>`}`, $('onhold'))
}

function Order({ all, who }) {
  const names = all.length > maxOrders ? t('stop.andmore', { names: all.slice(0, maxOrders).map((e) => e.name || e.id).join(', '), count: all.length - maxOrders }) : all.map((e) => e.name || e.id).join(', ')
  return html`<div><p><strong>${names}: </strong>${drainText(all[0])}. ${t('drain.takes', { count: all.length })}</p><${Resume} list=${all} who=${who} /></div>`
}
