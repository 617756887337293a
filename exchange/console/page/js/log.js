// What was refused, and what is written to the disk.

import { page } from './api.js'
import { $, ago, el, fill, size } from './dom.js'
import { refusals } from './tasks.js'

/** look shows it all. */
export async function look(who) {
  fill($('declined'), refusals().length ? refusals() : el('li', {}, el('p', { className: 'empty' }, 'None.')))
  if (!who.roles.includes('operator')) return fill($('refused'), el('caption', {}, 'Only an operator sees these.'))
  const { refused } = await page.refused()
  const rows = refused.map((r) => el('tr', {}, el('td', {}, ago(r.at)), el('td', {}, String(r.code)), el('td', {}, `${r.method} ${r.path}`), el('td', {}, r.actor || r.from), el('td', {}, r.error)))
  fill($('refused'), el('thead', {}, el('tr', {}, ['When', 'Code', 'What', 'Who', 'Why'].map((h) => el('th', { scope: 'col' }, h)))),
    el('tbody', {}, rows.length ? rows : el('tr', {}, el('td', { colspan: 5 }, 'Nothing was refused since the start.'))))
}

/** changed shows the storage. */
export function changed(state) {
  const s = state.status
  if (!s) return fill($('storage'), el('dt', {}, 'Only an operator sees this.'))
  const lines = [['Threads', s.log], ['Journal', s.executor?.journal]].filter(([, w]) => w)
    .flatMap(([name, w]) => [el('dt', {}, name), el('dd', {}, `${size(w.bytes)} · ${size(w.today)} written today${w.per_day ? ` · ${size(w.per_day)} a day at this pace` : ''}`)])
  fill($('storage'), lines, el('dt', {}, 'Version'), el('dd', {}, `${s.version}, up ${Math.round(s.uptime_s / 60)} min`))
}
