// The lists of tasks, and one task with all that was said.

import { Away, ended, exchange, mayAsk, page } from './api.js'
import { form } from './answer.js'
import { entry, last, late, left, timeline, why } from './content.js'
import { $, chip, cut, el, fill, folded, leave, randomId, refill, words } from './dom.js'
import { kind, outcome } from './plan.js'
import { failed } from './stop.js'
import { ago } from './times.js'

const calls = new Set(['needs_input', 'needs_confirmation'])
const under = ['pending', 'claimed', 'in_progress', 'waiting', 'held', 'retrying']
const unhappy = new Set(['partial', 'failed', 'declined', 'cancelled', 'expired'])
const doing = { completed: 'completed by', partial: 'partly completed by', declined: 'declined by' }
const shown = 30 // of those that have ended
const glance = 20 // of a list; the others on demand
const most = 200 // of each kind that are read
const title = 200 // letters of what is wanted, in a list

const threads = new Map() // ref to its summary
const whole = new Map() // ref to the thread, for those that need more than a summary
const meanwhile = new Set() // what has come by the stream since each reading was begun, by ref
let me = null
let current = '' // the ref of the open task

export function ready(who) {
  me = who
}

/** reset reads everything anew. */
export async function reset() {
  const of = (codes) => exchange.list([['limit', most], ...codes.map((c) => ['status', c])])
  const told = new Map()
  meanwhile.add(told)
  const lists = await Promise.all([of([]), of([...calls]), of(under)]).finally(() => meanwhile.delete(told)) // what waits is there however old it is
  threads.clear()
  for (const t of [...lists.flat(), ...told.values()]) threads.set(t.ref, t)
  $('too-many').hidden = lists.slice(1).every((l) => l.length < most)
  whole.clear()
  draw()
  if (current) open(current)
}

/** changed takes a summary that has come by the stream. It is newer than what is being read just now. */
export function changed(t) {
  for (const told of meanwhile) told.set(t.ref, t)
  threads.set(t.ref, t)
  whole.delete(t.ref)
  draw()
  if (t.ref === current) loadNext()
}

/** reread reads anew what stands in a task that was answered; how it is now comes by the stream, which may have been faster. */
function reread(ref) {
  whole.delete(ref)
  draw()
}

const byTime = (a, b) => String(b.updated_at).localeCompare(String(a.updated_at))

let due = false

/** draw shows the lists; many changes at once are drawn once. */
function draw() {
  if (due) return
  due = true
  requestAnimationFrame(() => {
    due = false
    const all = [...threads.values()].sort(byTime)
    const waiting = all.filter((t) => calls.has(t.status))
    for (const [id, some] of [['needs', waiting.filter(waitsForMe)], ['others', waiting.filter((t) => !waitsForMe(t))]]) {
      list(id, some.map((t) => row(t)), '')
      $(`${id}-title`).hidden = some.length === 0
    }
    const going = all.filter((t) => !ended.has(t.status) && !calls.has(t.status))
    list('open', going.map((t) => row(t)), 'No open tasks.')
    list('recent', all.filter((t) => ended.has(t.status)).slice(0, shown).map((t) => row(t)), mayAsk(me) ? 'No tasks yet. Enter a request above.' : 'No tasks yet.')
    const untaken = going.filter((t) => t.status === 'pending') // why, its messages say
    for (const t of [...waiting.slice(0, shown), ...untaken.slice(0, shown)]) if (!whole.has(t.ref)) fetchWhole(t.ref)
  })
}

function list(id, rows, empty) {
  const node = $(id)
  const box = document.activeElement?.closest('[data-asks]')
  if (box && node.contains(box) && rows.some((r) => r.querySelector(`[data-asks="${CSS.escape(box.dataset.asks)}"]`))) return // somebody is answering
  const rest = rows.slice(glance)
  const more = rest.length ? el('li', {}, el('details', { className: 'rest' }, el('summary', { id: `${id}-more` }, `${rest.length} more`), el('ul', { className: 'cards' }, rest))) : null
  refill(node, rows.length ? [...rows.slice(0, glance), more] : empty ? el('li', {}, el('p', { className: 'empty' }, empty)) : null)
}

function row(t, all = [t]) {
  const full = whole.get(t.ref)
  const calling = calls.has(t.status)
  const mine = calling && waitsForMe(t)
  return el('li', { className: mine ? 'calls' : '' },
    el('a', { href: `#task/${encodeURIComponent(t.ref)}`, 'aria-current': t.ref === current ? 'true' : null }, cut(t.intent, title)),
    el('p', { className: 'meta' }, chip(t.status), ` ${t.executor_id || (ended.has(t.status) ? 'no executor' : 'no executor yet')} · requested by ${t.requestor_id} `, all.length > 1 ? [`· ${all.length} times, last `, ago(t.updated_at)] : [ago(t.created_at), lasts(t) ? [' · changed ', ago(t.updated_at)] : null]),
    t.status === 'pending' && full ? unclaimed(full) : null,
    calling && !mine ? el('p', { className: 'meta' }, t.status === 'needs_confirmation' ? 'An operator must confirm this action.' : `${t.requestor_id} must answer.`) : null,
    mine && full && t.ref !== current ? form(full, me, () => reread(t.ref)) : null) // an open task has it
}

/** unclaimed is why nobody has taken a task, and who is asked now; null where that is not said. */
const unclaimed = (t) => {
  const said = last(t, 'pending')?.message
  return said ? el('p', { className: 'meta' }, cut(said, 2 * title)) : null
}

/** lasts reports whether a task was spoken of after it was asked, long enough to be told. */
const lasts = (t) => new Date(t.updated_at) - new Date(t.created_at) > 60000

/** answered is the response with which a task has ended; null if there is none. */
const answered = (t) => (ended.has(t.status) ? t.messages.flatMap((m) => m.mess).findLast((i) => i.response?.content?.length)?.response : null)

/** waitsForMe reports whether a task waits for the one at the page. What only an operator may confirm is hers whose page knows that it is not so. */
const waitsForMe = (t) => mayAnswer(t) && (t.status !== 'needs_confirmation' || me.roles.includes('operator') || whole.has(t.ref) && last(whole.get(t.ref), t.status)?.confirm_by !== 'operator')

const mayAnswer = (t) => me.roles.includes('operator') || t.requestor_id === me.actor

async function fetchWhole(ref) {
  const then = threads.get(ref)
  try {
    const t = await exchange.thread(ref)
    if (threads.get(ref) === then) whole.set(ref, t) // else it has changed meanwhile, and is read once more
    draw()
  } catch {
    // it has gone, or is read anew with the next change
  }
}

/** open shows one task; '' closes it. */
export function open(ref) {
  const moved = current !== ref
  current = ref
  $('tasks').classList.toggle('open', Boolean(ref))
  $('detail').hidden = !ref
  if (moved) draw()
  if (ref) load(ref, moved)
}

let asked = 0 // which load is the last
let loading = false
let more = false

/** loadNext reads the open task anew; many calls at once are one or two. */
async function loadNext() {
  more = true
  if (loading) return
  loading = true
  while (more && current) {
    more = false
    await load(current)
  }
  loading = false
}

async function load(ref, focus) {
  const turn = ++asked
  let t
  try {
    t = await exchange.thread(ref)
  } catch (err) {
    if (turn !== asked) return
    if (err instanceof Away) setTimeout(() => { if (ref === current) loadNext() }, 3000)
    if (err instanceof Away && $('detail').dataset.ref === ref) return // what it says is as old as the page
    $('detail').dataset.ref = ''
    fill($('detail'), el('h1', { id: 'detail-title' }, ref), el('p', { className: 'error' }, err.message), el('a', { href: '#tasks' }, 'Back'))
    return
  }
  if (turn !== asked || ref !== current) return
  const box = document.activeElement?.closest('#detail [data-asks]')
  const next = detail(t)
  if (!focus && box && next.some((n) => n?.querySelector?.(`[data-asks="${CSS.escape(box.dataset.asks)}"]`))) return // somebody is answering
  if ($('detail').dataset.ref === ref) refill($('detail'), next)
  else {
    fill($('detail'))
    refill($('detail'), next)
  }
  $('detail').dataset.ref = ref
  if (!focus) return
  $('detail').scrollTo({ top: 0, behavior: 'instant' }) // it stood where the task before was left
  $('detail').focus({ preventScroll: true }) // where the page stands is told by its address
}

function detail(t) {
  const again = () => load(t.ref)
  const box = mayAnswer(t) ? form(t, me, again) : null
  const planned = el('div', { className: 'preview', hidden: true })
  if (!ended.has(t.status)) showPlan(t, planned, box !== null)
  return [
    el('p', { className: 'back' }, el('a', { href: '#tasks' }, '‹ All tasks')),
    el('h1', { id: 'detail-title' }, cut(t.intent, 2 * title)), // all of it is below
    el('p', { className: 'meta' }, chip(t.status), ` ${t.ref} · requested by ${t.requestor_id} `, ago(t.created_at), t.executor_id ? ` · ${doer(t)} ${t.executor_id}` : ''),
    progress(t),
    result(t),
    box ? el('div', { className: 'card' }, box) : null,
    planned,
    ended.has(t.status) || !mayAnswer(t) ? null : el('button', { type: 'button', className: 'plain', onclick: (e) => cancel(t, e.target, again) }, 'Cancel task'),
    el('h2', {}, 'Messages'),
    timeline(t, me.actor, answered(t)),
  ]
}

/** doer is what its executor is to a task. An answer sets it back to work, which is no word of hers that she has begun. */
const doer = (t) => doing[t.status] || (t.status === 'in_progress' && last(t, 'in_progress')?.from === t.executor_id ? 'in progress at' : 'claimed by')

/** result shows first what was asked for, or why it has not come. */
function result(t) {
  const got = answered(t)
  const end = unhappy.has(t.status) ? last(t, t.status) : null
  const reason = end ? [end.message ? el('p', {}, end.message) : null, why(end) ? folded(why(end)) : null, end.suggestion ? el('p', {}, end.suggestion) : null].filter(Boolean) : []
  if (!got && !reason.length) return null
  const told = got && t.messages.find((m) => m.mess.some((i) => i.response === got))
  return el('div', { className: 'result' }, reason, got ? late(got, told.ts) : null, (got?.content || []).map((c) => entry(t.ref, c)), got?.notes ? el('p', { className: 'meta' }, got.notes) : null)
}

function progress(t) {
  const now = last(t, 'in_progress')
  if (t.status !== 'in_progress' || !now) return null
  const pct = Number.isFinite(now.progress_pct)
  return el('div', {},
    el('progress', { max: 100, value: pct ? String(now.progress_pct) : null, 'aria-label': 'progress' }),
    el('p', { className: 'meta' }, [pct ? `${Math.round(now.progress_pct)} %` : 'in progress', now.message, left(now.eta)].filter(Boolean).join(' · ')))
}

/** showPlan tells what is planned, and does not repeat what the form above it asks for. The plan that runs has a digest: no other one is shown for it. */
async function showPlan(t, node, asking) {
  if (!me.here || !mayAsk(me)) return
  try {
    const items = t.messages.flatMap((m) => m.mess)
    const answers = items.map((i) => i.reply?.answers || (i.answer ? { [last(t, 'needs_input')?.questions?.[0]?.field || 'answer']: i.answer.value } : null)).filter(Boolean)
    const out = await page.planned(items.find((i) => i.request)?.request || { intent: t.intent }, answers.slice(0, 16))
    const asks = last(t, 'needs_confirmation')
    const hash = last(t, 'in_progress')?.action_hash || asks?.action_hash
    if (!out.plan && (t.executor_id || last(t, 'declined'))) return // its question, or its no, stands below
    if (hash && out.plan?.digest !== hash) return // it is not the one that runs
    node.className = `preview ${kind(out)}`
    fill(node, el('p', { className: 'meta' }, hash ? 'Plan:' : 'Plan for this text:'), outcome(out, asking ? asks : null, asks && t.status !== 'needs_confirmation' && asks.from === t.executor_id))
    node.hidden = false
  } catch {
    // there is no plan to show
  }
}

async function cancel(t, button, done) {
  const back = leave(button)
  button.disabled = true
  try {
    await exchange.post(randomId(), t.ref, [{ cancel: {} }])
    done()
  } catch (err) {
    if (ended.has(err.status)) failed(`The exchange did not cancel “${cut(t.intent, 100)}”: the task has ended (${words(err.status)}).${err.status === 'completed' ? ' Its effects remain.' : ''}`) // the button goes
    button.parentElement.querySelector('.refused')?.remove()
    button.after(el('p', { class: 'error refused', role: 'alert' }, err.message))
    button.disabled = false
    back()
  }
}

/** refusals are the tasks that were declined or have failed, the newest first: those that are alike are one, with their number. */
export function refusals() {
  const alike = new Map()
  for (const t of [...threads.values()].filter((t) => ['declined', 'failed', 'expired'].includes(t.status)).sort(byTime)) {
    const key = JSON.stringify([t.status, t.intent, t.executor_id || '', t.requestor_id])
    alike.set(key, [...(alike.get(key) || []), t])
  }
  return [...alike.values()].map((all) => row(all[0], all))
}
