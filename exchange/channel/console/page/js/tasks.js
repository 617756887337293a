// The lists of tasks, and one task with its messages.

import { Unreachable, terminalStatuses, exchange, mayRequest, page } from './api.js'
import { answerForm } from './answer.js'
import { contentNode, lastStatus, lateNote, remainingText, timeline, reasonText } from './content.js'
import { $, chip, truncate, el, fill, foldedText, plain, releaseFocus, randomId, refill, toWords } from './dom.js'
import { planClass, planNodes } from './plan.js'
import { showAlert } from './stop.js'
import * as history from './tasks/history.js'
import { repeat, repeatable } from './tasks/repeat.js'
import { language, t as text } from './text/text.js'
import { agoNode } from './times.js'

const waitingStatuses = new Set(['needs_input', 'needs_confirmation'])
const openStatuses = ['pending', 'claimed', 'in_progress', 'waiting', 'held', 'retrying']
const unsuccessful = new Set(['partial', 'failed', 'declined', 'cancelled', 'expired'])
const executorRoles = { completed: 'tasks.completedby', partial: 'tasks.partlyby', declined: 'tasks.declinedby' }
const maxEnded = 30 // tasks of which the page reads the messages
const maxListed = 20 // tasks of a list; the others are folded
const maxRead = 200 // tasks of each list that the page reads
const maxTitle = 200 // characters of an intent in a list

const threads = new Map() // summary by ref
const fullThreads = new Map() // thread by ref, for tasks that need more than a summary
const pendingReads = new Set() // for each open read of the lists: the summaries that have arrived since, by ref
let me = null
let hasAll = true // the page has all tasks
let current = '' // the ref of the open task

export function ready(who) {
  me = who
  $('tasks').lang = language
  for (const [id, key] of [['tasks-title', 'nav.tasks'], ['needs-title', 'tasks.needs'], ['others-title', 'tasks.others'], ['open-title', 'tasks.open'], ['done-title', 'tasks.title']]) $(id).textContent = text(key)
  $('ask').querySelector('label').textContent = text('tasks.new')
  $('ask').querySelector('button').textContent = text('search.ask')
  $('preview').setAttribute('aria-label', text('tasks.plan'))
}

/** reset reads everything again. */
export async function reset() {
  const of = (codes) => exchange.list([['limit', maxRead], ...codes.map((c) => ['status', c])])
  const newer = new Map()
  pendingReads.add(newer)
  const lists = await Promise.all([of([]), of([...waitingStatuses]), of(openStatuses)]).finally(() => pendingReads.delete(newer)) // waiting tasks of any age
  threads.clear()
  for (const t of [...lists.flat(), ...newer.values()]) threads.set(t.ref, { ...t, intent: plain(t.intent) })
  hasAll = lists[0].length < maxRead
  $('too-many').hidden = lists.slice(1).every((l) => l.length < maxRead)
  fullThreads.clear()
  draw()
  if (current) open(current)
}

/** changed takes a summary from the stream. It is newer than the result of an open read. */
export function changed(t) {
  for (const newer of pendingReads) newer.set(t.ref, t)
  threads.set(t.ref, t)
  fullThreads.delete(t.ref)
  draw()
  if (t.ref === current) loadNext()
}

/** invalidate reads the messages of an answered task again. The stream delivers its new status, perhaps earlier. */
function invalidate(ref) {
  fullThreads.delete(ref)
  draw()
}

const byTime = (a, b) => String(b.updated_at).localeCompare(String(a.updated_at))

let onDrawn = () => {}

/** follow sets the function that gets the tasks that wait for this user, and all tasks, at each change. */
export function follow(f) {
  onDrawn = f
}

/** isEnded reports whether a task has ended. */
export const isEnded = (t) => terminalStatuses.has(t.status)

let drawScheduled = false

/** draw shows the lists. It draws several changes at once. */
function draw() {
  if (drawScheduled) return
  drawScheduled = true
  requestAnimationFrame(() => {
    drawScheduled = false
    const all = [...threads.values()].sort(byTime)
    const waiting = all.filter((t) => waitingStatuses.has(t.status))
    for (const [id, some] of [['needs', waiting.filter(waitsForMe)], ['others', waiting.filter((t) => !waitsForMe(t))]]) {
      list(id, some.map((t) => row(t)), '')
      $(`${id}-title`).hidden = some.length === 0
    }
    const going = all.filter((t) => !terminalStatuses.has(t.status) && !waitingStatuses.has(t.status))
    list('open', going.map((t) => row(t)), text('tasks.none'))
    history.draw(all.filter(isEnded), hasAll, me, current)
    const untaken = going.filter((t) => t.status === 'pending') // their messages contain the reason
    for (const t of [...waiting.slice(0, maxEnded), ...untaken.slice(0, maxEnded)]) if (!fullThreads.has(t.ref)) fetchWhole(t.ref)
    onDrawn(waiting.filter(waitsForMe).map((t) => ({ ...fullThreads.get(t.ref), ...t })), all)
  })
}

function list(id, rows, empty) {
  const node = $(id)
  const box = document.activeElement?.closest('[data-asks]')
  if (box && node.contains(box) && rows.some((r) => r.querySelector(`[data-asks="${CSS.escape(box.dataset.asks)}"]`))) return // the user is answering
  const rest = rows.slice(maxListed)
  const more = rest.length ? el('li', {}, el('details', { className: 'rest' }, el('summary', { id: `${id}-more` }, text('needs.more', { count: rest.length })), el('ul', { className: 'cards' }, rest))) : null
  refill(node, rows.length ? [...rows.slice(0, maxListed), more] : empty ? el('li', {}, el('p', { className: 'empty' }, empty)) : null)
}

function row(t, all = [t]) {
  const full = fullThreads.get(t.ref)
  const calling = waitingStatuses.has(t.status)
  const mine = calling && waitsForMe(t)
  return el('li', { className: mine ? 'calls' : '' },
    el('a', { href: `#task/${encodeURIComponent(t.ref)}`, 'aria-current': t.ref === current ? 'true' : null }, truncate(t.intent, maxTitle)),
    el('p', { className: 'meta' }, chip(t.status), ` ${t.executor_id || text(terminalStatuses.has(t.status) ? 'tasks.noexecutor' : 'tasks.notyet')} · ${text('tasks.by', { name: t.requestor_id })} `, all.length > 1 ? [`· ${text('tasks.times', { number: all.length })} `, agoNode(t.updated_at)] : [agoNode(t.created_at), hasLateChange(t) ? [` · ${text('tasks.changed')} `, agoNode(t.updated_at)] : null]),
    t.status === 'pending' && full ? pendingNote(full) : null,
    calling && !mine ? el('p', { className: 'meta' }, t.status === 'needs_confirmation' ? text('tasks.operator') : text('tasks.must', { name: t.requestor_id })) : null,
    mine && full && t.ref !== current ? answerForm(full, me, () => invalidate(t.ref)) : null) // the detail of an open task has the form
}

/** pendingNote returns why no executor has claimed a task, and who has the offer, or null. */
const pendingNote = (t) => {
  const message = lastStatus(t, 'pending')?.message
  return message ? el('p', { className: 'meta' }, truncate(message, 2 * maxTitle)) : null
}

/** hasLateChange reports whether a task changed more than a minute after its request. */
const hasLateChange = (t) => new Date(t.updated_at) - new Date(t.created_at) > 60000

/** finalResponse returns the response of an ended task, or null. */
const finalResponse = (t) => (terminalStatuses.has(t.status) ? t.messages.flatMap((m) => m.mess).findLast((i) => i.response?.content?.length)?.response : null)

/** waitsForMe reports whether a task waits for this user. A confirmation counts for a requester once the page knows that it needs no operator. */
const waitsForMe = (t) => mayAnswer(t) && (t.status !== 'needs_confirmation' || me.roles.includes('operator') || fullThreads.has(t.ref) && lastStatus(fullThreads.get(t.ref), t.status)?.confirm_by !== 'operator')

const mayAnswer = (t) => me.roles.includes('operator') || me.role === 'resident' || t.requestor_id === me.actor

async function fetchWhole(ref) {
  const then = threads.get(ref)
  try {
    const t = await exchange.thread(ref)
    if (threads.get(ref) === then) fullThreads.set(ref, t) // else it has changed since, and draw reads it again
    draw()
  } catch {
    // the thread is gone, or the next change reads it again
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

let lastLoad = 0 // number of the last load
let loading = false
let reloadNeeded = false

/** loadNext reads the open task again. Concurrent calls share one or two reads. */
async function loadNext() {
  reloadNeeded = true
  if (loading) return
  loading = true
  while (reloadNeeded && current) {
    reloadNeeded = false
    await load(current)
  }
  loading = false
}

async function load(ref, focus) {
  const thisLoad = ++lastLoad
  let t
  try {
    t = await exchange.thread(ref)
  } catch (err) {
    if (thisLoad !== lastLoad) return
    if (err instanceof Unreachable) setTimeout(() => { if (ref === current) loadNext() }, 3000)
    if (err instanceof Unreachable && $('detail').dataset.ref === ref) return // the shown task is as old as the page
    $('detail').dataset.ref = ''
    fill($('detail'), el('h1', { id: 'detail-title' }, ref), el('p', { className: 'error' }, err.message), el('a', { href: '#tasks' }, text('tasks.back')))
    return
  }
  if (thisLoad !== lastLoad || ref !== current) return
  const box = document.activeElement?.closest('#detail [data-asks]')
  const next = detail(t)
  if (!focus && box && next.some((n) => n?.querySelector?.(`[data-asks="${CSS.escape(box.dataset.asks)}"]`))) return // the user is answering
  if ($('detail').dataset.ref === ref) refill($('detail'), next)
  else {
    fill($('detail'))
    refill($('detail'), next)
  }
  $('detail').dataset.ref = ref
  if (!focus) return
  $('detail').scrollTo({ top: 0, behavior: 'instant' }) // it has the scroll position of the task before
  $('detail').focus({ preventScroll: true }) // show has scrolled the page
}

function detail(t) {
  const again = () => load(t.ref)
  const box = mayAnswer(t) ? answerForm(t, me, again) : null
  const planned = el('div', { className: 'preview', hidden: true })
  if (!terminalStatuses.has(t.status)) showPlan(t, planned, box !== null)
  return [
    el('p', { className: 'back' }, el('a', { href: '#tasks' }, `‹ ${text('tasks.back')}`)),
    el('h1', { id: 'detail-title' }, truncate(t.intent, 2 * maxTitle)), // the messages contain the full text
    el('p', { className: 'meta' }, chip(t.status), ` ${t.ref} · ${text('tasks.by', { name: t.requestor_id })} `, agoNode(t.created_at), t.executor_id ? ` · ${executorRole(t)}` : ''),
    progress(t),
    result(t),
    box ? el('div', { className: 'card', lang: 'en' }, box) : null,
    planned,
    terminalStatuses.has(t.status) || !mayAnswer(t) ? null : el('button', { type: 'button', className: 'plain', onclick: (e) => cancel(t, e.target, again) }, text('tasks.cancel')),
    terminalStatuses.has(t.status) && mayRequest(me) && repeatable(t) ? el('button', { type: 'button', className: 'plain', onclick: (e) => repeatTask(t, e.target) }, text('tasks.repeat')) : null,
    el('h2', {}, text('tasks.messages')),
    timeline(t, me.actor, finalResponse(t)),
  ]
}

/** executorRole describes the part of the executor in a task. The exchange itself sets in_progress after an answer, so that the executor may not have started. */
const executorRole = (t) => text(executorRoles[t.status] || (t.status === 'in_progress' && lastStatus(t, 'in_progress')?.from === t.executor_id ? 'tasks.progressat' : 'tasks.claimedby'), { name: t.executor_id })

/** result returns the response, or the reason of an unsuccessful end. */
function result(t) {
  const got = finalResponse(t)
  const end = unsuccessful.has(t.status) ? lastStatus(t, t.status) : null
  const reason = end ? [end.message ? el('p', {}, end.message) : null, reasonText(end) ? foldedText(reasonText(end)) : null, end.suggestion ? el('p', {}, end.suggestion) : null].filter(Boolean) : []
  if (!got && !reason.length) return null
  const message = got && t.messages.find((m) => m.mess.some((i) => i.response === got))
  return el('div', { className: 'result' }, reason, got ? lateNote(got, message.ts) : null, (got?.content || []).map((c) => contentNode(t.ref, c)), got?.notes ? el('p', { className: 'meta' }, got.notes) : null)
}

function progress(t) {
  const now = lastStatus(t, 'in_progress')
  if (t.status !== 'in_progress' || !now) return null
  const pct = Number.isFinite(now.progress_pct)
  return el('div', {},
    el('progress', { max: 100, value: pct ? String(now.progress_pct) : null, 'aria-label': 'progress' }),
    el('p', { className: 'meta' }, [pct ? `${Math.round(now.progress_pct)} %` : 'in progress', now.message, remainingText(now.eta)].filter(Boolean).join(' · ')))
}

/** showPlan shows the plan of a task without the texts of the form above it. A running plan has a digest, and the page shows no other plan for it. */
async function showPlan(t, node, asking) {
  if (!me.here || !mayRequest(me)) return
  try {
    const items = t.messages.flatMap((m) => m.mess)
    const answers = items.map((i) => i.reply?.answers || (i.answer ? { [lastStatus(t, 'needs_input')?.questions?.[0]?.field || 'answer']: i.answer.value } : null)).filter(Boolean)
    const out = await page.planWithAnswers(items.find((i) => i.request)?.request || { intent: t.intent }, answers.slice(0, 16))
    const asks = lastStatus(t, 'needs_confirmation')
    const hash = lastStatus(t, 'in_progress')?.action_hash || asks?.action_hash
    if (!out.plan && (t.executor_id || lastStatus(t, 'declined'))) return // the messages contain its question or rejection
    if (hash && out.plan?.digest !== hash) return // another plan runs
    node.className = `preview ${planClass(out)}`
    fill(node, el('p', { className: 'meta' }, hash ? 'Plan:' : 'Plan for this text:'), planNodes(out, asking ? asks : null, asks && t.status !== 'needs_confirmation' && asks.from === t.executor_id))
    node.hidden = false
  } catch {
    // there is no plan to show
  }
}

/** repeatTask repeats a task, and opens the new one. */
async function repeatTask(t, button) {
  button.disabled = true
  button.parentElement.querySelector('.refused')?.remove()
  try {
    location.hash = `#task/${encodeURIComponent(await repeat(t))}`
  } catch (err) {
    button.after(el('p', { class: 'error refused', role: 'alert' }, err.message))
  }
  button.disabled = false
}

async function cancel(t, button, done) {
  const back = releaseFocus(button)
  button.disabled = true
  try {
    await exchange.post(randomId(), t.ref, [{ cancel: {} }])
    done()
  } catch (err) {
    if (terminalStatuses.has(err.status)) showAlert(`The exchange did not cancel “${truncate(t.intent, 100)}”: the task has ended (${toWords(err.status)}).${err.status === 'completed' ? ' Its effects remain.' : ''}`) // the button disappears
    button.parentElement.querySelector('.refused')?.remove()
    button.after(el('p', { class: 'error refused', role: 'alert' }, err.message))
    button.disabled = false
    back()
  }
}

/** unsuccessfulRows returns the declined, failed and expired tasks, the newest first. Equal tasks share one row with their count. */
export function unsuccessfulRows() {
  const alike = new Map()
  for (const t of [...threads.values()].filter((t) => ['declined', 'failed', 'expired'].includes(t.status)).sort(byTime)) {
    const key = JSON.stringify([t.status, t.intent, t.executor_id || '', t.requestor_id])
    alike.set(key, [...(alike.get(key) || []), t])
  }
  return [...alike.values()].map((all) => row(all[0], all))
}
