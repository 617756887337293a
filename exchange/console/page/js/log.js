// What was refused, and what is written to the disk.

import { page } from './api.js'
import { $, ago, el, fill, size } from './dom.js'
import { refusals } from './tasks.js'

const none = (text) => el('li', {}, el('p', { className: 'empty' }, text))

/** look shows it all. */
export async function look(who) {
  fill($('declined'), refusals().length ? refusals() : none('None.'))
  if (!who.roles.includes('operator')) return fill($('refused'), none('Only an operator sees these.'))
  const { refused } = await page.refused()
  fill($('refused'), refused.length ? refused.map((r) => el('li', {},
    el('p', { className: 'said' }, el('span', { className: 'chip bad' }, String(r.code)), ` ${r.error}`),
    el('p', { className: 'meta' }, `${r.method} ${r.path} · ${r.actor || r.from} · ${ago(r.at)}`))) : none('Nothing was refused since the start.'))
}

/** changed shows the storage. */
export function changed(state) {
  const s = state.status
  if (!s) return fill($('storage'), el('dt', {}, 'Only an operator sees this.'))
  const lines = [['Threads', s.log], ['Journal', s.executor?.journal]].filter(([, w]) => w)
    .flatMap(([name, w]) => [el('dt', {}, name), el('dd', {}, `${size(w.bytes)} · ${size(w.today)} written today${w.per_day ? ` · ${size(w.per_day)} a day at this pace` : ''}`)])
  fill($('storage'), lines, el('dt', {}, 'Version'), el('dd', {}, `${s.version}, up ${Math.round(s.uptime_s / 60)} min`))
}
