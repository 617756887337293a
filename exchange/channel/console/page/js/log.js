// The log page: rejected requests, unsuccessful tasks and storage.

import { page } from './api.js'
import { $, el, fill, size } from './dom.js'
import { unsuccessfulRows } from './tasks.js'
import { agoNode, timeText } from './times.js'

const emptyItem = (text) => el('li', {}, el('p', { className: 'empty' }, text))
const maxLines = 12 // of each list; the others are folded

/** load reads and shows the rejected requests and the unsuccessful tasks. */
export async function load(who) {
  fillBounded($('declined'), unsuccessfulRows(), 'No declined or failed tasks.')
  if (!who.roles.includes('operator')) return fill($('refused'), emptyItem('Only operators can see these.'))
  const { refused } = await page.deniedRequests()
  fillBounded($('refused'), refused.map(rejectionNode), 'No rejected requests since the start.')
}

/** fillBounded shows the newest lines and folds the others. */
function fillBounded(node, lines, empty) {
  const rest = lines.slice(maxLines)
  fill(node, lines.length ? lines.slice(0, maxLines) : emptyItem(empty),
    rest.length ? el('li', {}, el('details', {}, el('summary', {}, `${rest.length} older`), el('ul', { className: 'cards' }, rest))) : null)
}

/** rejectionNode returns one line for equal rejected requests. */
function rejectionNode(r) {
  return el('li', {},
    el('p', { className: 'summary' }, el('span', { className: 'chip bad' }, String(r.code)), ' ', r.count > 1 ? el('strong', {}, `${r.count} times `) : '', r.error),
    el('p', { className: 'meta' }, `${r.method} ${r.path}${r.various ? ' and others' : ''} · ${r.actor || r.from} · `, r.count > 1 ? `${timeText(r.first)} to ${timeText(r.at)}` : agoNode(r.at)))
}

/** changed shows the storage. */
export function changed(state) {
  const s = state.status
  if (!s) return fill($('storage'), el('dt', {}, 'Figures'), el('dd', {}, 'Only operators can see these.'))
  const lines = [['Threads', s.log], ['Images and files', s.files], ['Journal', s.executor?.journal]].filter(([, w]) => w)
    .flatMap(([name, w]) => [el('dt', {}, name), el('dd', {}, `${size(w.bytes)} · ${size(w.today)} written ${w.today === w.written ? 'since the start' : 'today'}${w.per_day ? ` · ${size(w.per_day)} a day at this pace` : ''}`)])
  fill($('storage'), lines, el('dt', {}, 'Version'), el('dd', {}, `${s.version}, up ${Math.round(s.uptime_s / 60)} min`))
}
