// The lists of tasks, and one task with all that was said.

import { exchange, mayAsk, page } from './api.js'
import { form } from './answer.js'
import { entry, last, late, left, timeline, why } from './content.js'
import { $, ago, chip, el, fill, folded, randomId } from './dom.js'
import { kind, outcome } from './plan.js'

const ended = new Set(['completed', 'partial', 'failed', 'declined', 'cancelled', 'expired', 'superseded', 'delegated'])
const calls = new Set(['needs_input', 'needs_confirmation'])
const unhappy = new Set(['partial', 'failed', 'declined', 'cancelled', 'expired'])
const doing = { completed: 'done by', partial: 'done in part by', in_progress: 'being done by', declined: 'declined by' }
const shown = 30 // of those that have ended
const glance = 20 // of a list; the others on demand

const threads = new Map() // ref to its summary
const whole = new Map() // ref to the thread, for those that need more than a summary
let me = null
let current = '' // the ref of the open task

export function ready(who) {
  me = who
}

/** reset reads everything anew. */
export async function reset() {
  const list = await exchange.list({ limit: 200 })
  threads.clear()
  for (const t of list) threads.set(t.ref, t)
  whole.clear()
  draw()
  if (current) open(current)
}

/** changed takes a summary that has come by the stream. */
export function changed(t) {
  threads.set(t.ref, t)
  whole.delete(t.ref)
  draw()
  if (t.ref === current) load(t.ref)
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
    list('open', all.filter((t) => !ended.has(t.status) && !calls.has(t.status)).map((t) => row(t)), 'Nothing is under way.')
    list('lately', all.filter((t) => ended.has(t.status)).slice(0, shown).map((t) => row(t)), mayAsk(me) ? 'Nothing yet. Ask for something above.' : 'Nothing yet.')
    for (const t of waiting.slice(0, shown)) if (!whole.has(t.ref)) fetchWhole(t.ref)
  })
}

function list(id, rows, empty) {
  const node = $(id)
  const box = document.activeElement?.closest('[data-asks]')
  if (box && node.contains(box) && rows.some((r) => r.querySelector(`[data-asks="${CSS.escape(box.dataset.asks)}"]`))) return // somebody is answering
  const rest = rows.slice(glance)
  const more = rest.length ? el('li', {}, el('details', { open: node.querySelector('details.rest')?.open, className: 'rest' }, el('summary', {}, `${rest.length} more`), el('ul', { className: 'cards' }, rest))) : null
  fill(node, rows.length ? [...rows.slice(0, glance), more] : empty ? el('li', {}, el('p', { className: 'empty' }, empty)) : null)
}

function row(t, all = [t]) {
  const full = whole.get(t.ref)
  const calling = calls.has(t.status)
  const mine = calling && waitsForMe(t)
  return el('li', { className: mine ? 'calls' : '' },
    el('a', { href: `#task/${encodeURIComponent(t.ref)}`, 'aria-current': t.ref === current ? 'true' : null }, t.intent),
    el('p', { className: 'meta' }, chip(t.status), ` ${t.executor_id || (ended.has(t.status) ? 'nobody' : 'nobody yet')} · asked by ${t.requestor_id} · ${all.length > 1 ? `${all.length} times, last ` : ''}${ago(t.updated_at)}`),
    calling && !mine ? el('p', { className: 'meta' }, t.status === 'needs_confirmation' ? 'An operator must say yes: whoever runs the place.' : `${t.requestor_id} must answer.`) : null,
    mine && full && t.ref !== current ? form(full, me, () => reread(t.ref)) : null) // an open task has it
}

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

async function load(ref, focus) {
  const turn = ++asked
  let t
  try {
    t = await exchange.thread(ref)
  } catch (err) {
    if (turn === asked) fill($('detail'), el('h1', { id: 'detail-title' }, ref), el('p', { className: 'error' }, err.message), el('a', { href: '#tasks' }, 'Back'))
    return
  }
  if (turn !== asked || ref !== current) return
  const box = document.activeElement?.closest('#detail [data-asks]')
  const next = detail(t)
  if (!focus && box && next.some((n) => n?.querySelector?.(`[data-asks="${CSS.escape(box.dataset.asks)}"]`))) return // somebody is answering
  fill($('detail'), next)
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
    el('p', {}, el('a', { href: '#tasks' }, '‹ All tasks')),
    el('h1', { id: 'detail-title' }, t.intent),
    el('p', { className: 'meta' }, chip(t.status), ` ${t.ref} · asked by ${t.requestor_id}${t.executor_id ? ` · ${doing[t.status] || 'taken by'} ${t.executor_id}` : ''}`),
    progress(t),
    result(t),
    box ? el('div', { className: 'card' }, box) : null,
    planned,
    ended.has(t.status) || !mayAnswer(t) ? null : el('button', { type: 'button', className: 'plain', onclick: (e) => cancel(t, e.target, again) }, 'Take it back'),
    el('h2', {}, 'What was said'),
    timeline(t, me.actor, answered(t)),
  ]
}

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
    el('p', { className: 'meta' }, [pct ? `${Math.round(now.progress_pct)} %` : 'under way', now.message, left(now.eta, now.received)].filter(Boolean).join(' · ')))
}

/** showPlan tells what is planned, and does not repeat what the form above it asks for. The plan that runs has a digest; whether what is shown is that plan is said. */
async function showPlan(t, node, asking) {
  if (!me.here || !mayAsk(me)) return
  try {
    const items = t.messages.flatMap((m) => m.mess)
    const answers = items.map((i) => i.reply?.answers || (i.answer ? { [last(t, 'needs_input')?.questions?.[0]?.field || 'answer']: i.answer.value } : null)).filter(Boolean)
    const out = await page.planned(items.find((i) => i.request)?.request || { intent: t.intent }, answers.slice(0, 16))
    const asks = last(t, 'needs_confirmation')
    const hash = last(t, 'in_progress')?.action_hash || asks?.action_hash
    if (!out.plan && (t.executor_id || last(t, 'declined'))) return // its question, or its no, stands below
    const same = hash && out.plan?.digest === hash
    node.className = `preview ${kind(out)}`
    fill(node, el('p', { className: 'meta' }, same ? 'The plan:' : hash ? 'By its words alone (answers have changed the plan that runs):' : 'By its words:'), outcome(out, asking ? asks : null))
    node.hidden = false
  } catch {
    // there is no plan to show
  }
}

async function cancel(t, button, done) {
  button.disabled = true
  try {
    await exchange.post(randomId(), t.ref, [{ cancel: {} }])
  } catch (err) {
    button.after(el('p', { className: 'error', role: 'alert' }, err.message))
  }
  done()
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
