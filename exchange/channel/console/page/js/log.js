// What was refused, and what is written to the disk.

import { page } from './api.js'
import { $, el, fill, size } from './dom.js'
import { refusals } from './tasks.js'
import { ago, since } from './times.js'

const none = (text) => el('li', {}, el('p', { className: 'empty' }, text))
const shown = 12 // lines of refusals at a glance

/** look shows it all. */
export async function look(who) {
  bounded($('declined'), refusals(), 'No declined or failed tasks.')
  if (!who.roles.includes('operator')) return fill($('refused'), none('Only operators can see these.'))
  const { refused } = await page.refused()
  bounded($('refused'), refused.map(refusal), 'No rejected requests since the start.')
}

/** bounded shows the newest lines, and the others on demand. */
function bounded(node, lines, empty) {
  const rest = lines.slice(shown)
  fill(node, lines.length ? lines.slice(0, shown) : none(empty),
    rest.length ? el('li', {}, el('details', {}, el('summary', {}, `${rest.length} older`), el('ul', { className: 'cards' }, rest))) : null)
}

/** refusal is one line for all that are alike. */
function refusal(r) {
  return el('li', {},
    el('p', { className: 'said' }, el('span', { className: 'chip bad' }, String(r.code)), ' ', r.count > 1 ? el('strong', {}, `${r.count} times `) : '', r.error),
    el('p', { className: 'meta' }, `${r.method} ${r.path}${r.various ? ' and others' : ''} · ${r.actor || r.from} · `, r.count > 1 ? `${since(r.first)} to ${since(r.at)}` : ago(r.at)))
}

/** changed shows the storage. */
export function changed(state) {
  const s = state.status
  if (!s) return fill($('storage'), el('dt', {}, 'Figures'), el('dd', {}, 'Only operators can see these.'))
  const lines = [['Threads', s.log], ['Images and files', s.files], ['Journal', s.executor?.journal]].filter(([, w]) => w)
    .flatMap(([name, w]) => [el('dt', {}, name), el('dd', {}, `${size(w.bytes)} · ${size(w.today)} written ${w.today === w.written ? 'since the start' : 'today'}${w.per_day ? ` · ${size(w.per_day)} a day at this pace` : ''}`)])
  fill($('storage'), lines, el('dt', {}, 'Version'), el('dd', {}, `${s.version}, up ${Math.round(s.uptime_s / 60)} min`))
}
