// The page of a human executor.

import { Unreachable, loadIdentity, exchange, page, Rejected, signedOut } from './api.js'
import { taskForm, dropForms, setDelegates, detailsForm } from './compose.js'
import { duration, contentNode, lastStatus, timeline } from './content.js'
import { $, chip, truncate, el, fill, plain, replaceKeepingState, toTop, toWords } from './dom.js'
import { follow } from './events.js'
import * as hold from './hold.js'
import { register } from './offline.js'
import * as outbox from './outbox.js'
import * as profile from './profile.js'
import * as stop from './stop.js'
import { agoNode, timeText } from './times.js'

const working = ['claimed', 'in_progress', 'waiting', 'held', 'needs_input', 'needs_confirmation', 'retrying']
const ends = ['completed', 'failed', 'delegated', 'cancelled']
const link = /^#([A-Z2-7]{26})$/
let who = null
const offers = new Map() // thread by ref
const mine = new Map()
let executors = []
const drawnStates = new Map() // state of the drawn card, by ref
let endingRefs = new Set() // refs of tasks with an unsent result

const storageKey = 'messkit-tasks'

/** storeTasks stores the tasks for offline use, if the phone has free storage. */
function storeTasks() {
  try {
    localStorage.setItem(storageKey, JSON.stringify({ who, mine: [...mine.values()] }))
  } catch {
    localStorage.removeItem(storageKey) // the stored tasks are outdated
  }
}

function loadStoredTasks() {
  try {
    const old = JSON.parse(localStorage.getItem(storageKey) || '{}')
    if (!old.who) return false
    who = old.who
    for (const t of old.mine) mine.set(t.ref, t)
    return true
  } catch {
    return false
  }
}

async function start() {
  const linkToken = link.exec(location.hash)?.[1]
  if (linkToken) history.replaceState(null, '', location.pathname)
  let error = ''
  try {
    if (linkToken) {
      await page.signIn({ link: linkToken })
      localStorage.removeItem(storageKey)
    }
  } catch (err) {
    error = err.message
  }
  try {
    who = await loadIdentity()
  } catch (err) {
    if (signedOut(err)) return showSignIn(error)
    if (!who && loadStoredTasks()) {
      outbox.setActor(who.actor)
      $('home').hidden = false
      draw()
      showOutbox()
    }
    showConnection(false)
    setTimeout(start, 3000)
    return
  }
  signedIn()
}

async function showSignIn(error) {
  $('signin').hidden = false
  $('signin').querySelector('.error').textContent = error
  showConnection(false, 'not signed in')
  const { length } = await outbox.all()
  if (length) $('unsent').textContent = `This phone holds ${length} unsent ${length === 1 ? 'message' : 'messages'}. It sends ${length === 1 ? 'it' : 'them'} when you sign in again with the same name.`
}

async function signedIn() {
  $('exchange').textContent = who.exchange
  outbox.setActor(who.actor)
  $('home').hidden = false
  $('signout').onclick = async () => {
    await page.signOut().catch(() => {})
    localStorage.removeItem(storageKey)
    location.reload()
  }
  outbox.flush()
  showOutbox()
  follow({
    line: showConnection,
    reset: () => {
      outbox.flush()
      for (const ref of offers.keys()) readOffer(ref) // another executor may have claimed it
      return readTasks() // the page is live only after this has succeeded
    },
    thread: (t) => { if (t.executor_id === who.actor || mine.has(t.ref)) refresh() },
    offer: (t) => readOffer(t.ref),
    withdrawn: (t) => {
      offerReads.delete(t.ref)
      offers.delete(t.ref)
      draw()
    },
    state: (s) => {
      executors = s.executors
      draw()
      stop.changed(s, who)
      hold.changed(s.executors.filter((e) => e.id === who.actor), who)
    },
  })
  $('offline-hint').textContent = await register()
  setUp()
}

/** setUp shows the profile and the notice settings. It tries again while the exchange is unreachable. */
async function setUp() {
  try {
    await profile.ready(who)
    const { show } = await import('./settings/notices.js')
    show($('notices-view'))
    $('setup-error').textContent = ''
  } catch (err) {
    $('setup-error').textContent = err.message
    if (err instanceof Unreachable) setTimeout(setUp, 5000)
  }
}

function showConnection(on, text) {
  $('line').textContent = text || (on ? 'live' : 'offline; the phone stores your input')
  $('line').classList.toggle('off', !on)
}

const offerReads = new Map() // the last read of each offer, by ref

async function readOffer(ref) {
  const thisRead = {}
  offerReads.set(ref, thisRead)
  try {
    const t = await exchange.thread(ref)
    if (offerReads.get(ref) !== thisRead) return // it was withdrawn, or a newer read has begun
    if (t.status === 'pending') offers.set(ref, t)
    else offers.delete(ref)
  } catch (err) {
    if (err instanceof Rejected) offers.delete(ref) // after other errors the offer may still exist
  }
  draw()
}

let loading = null
let readAgain = false

/** refresh reads the tasks of the person and shows errors, except an unreachable exchange. */
const refresh = () => readTasks().catch((err) => { if (!(err instanceof Unreachable)) showConnection(false, err.message) })

/** readTasks reads the tasks. Concurrent calls share one or two reads. */
function readTasks() {
  if (loading) {
    readAgain = true
    return loading
  }
  loading = readOnce().finally(() => {
    loading = null
    if (readAgain) {
      readAgain = false
      refresh()
    }
  })
  return loading
}

async function readOnce() {
  const [open, list] = await Promise.all([
    exchange.list([['executor', who.actor], ['limit', 200], ...working.map((s) => ['status', s])]), // of any age
    exchange.list({ executor: who.actor, limit: 50 }),
  ])
  const read = await Promise.all(open.map((t) => exchange.thread(t.ref)))
  const whole = read.filter((t) => working.includes(t.status) && t.executor_id === who.actor)
  const over = [...read, ...list].filter((t) => !working.includes(t.status) && t.executor_id === who.actor)
  const gone = [...mine.values()].filter((t) => !whole.some((w) => w.ref === t.ref))
  if (gone.length) $('over').textContent = (await Promise.all(gone.map(async (t) => `${plain(truncate(t.intent, 100))}: ${await outcomeOf(t, over)}`))).join(' · ')
  mine.clear()
  for (const t of whole) mine.set(t.ref, t)
  dropForms(mine, over.map((t) => t.ref))
  for (const ref of offers.keys()) if (mine.has(ref)) offers.delete(ref)
  storeTasks()
  draw()
}

/** outcomeOf returns the outcome of a task that the person no longer holds. */
async function outcomeOf(t, over) {
  const end = over.find((o) => o.ref === t.ref)
  if (end) return toWords(end.status)
  const now = await exchange.thread(t.ref).catch(() => null)
  const passed = now && lastStatus(now, 'delegated')
  return passed?.from === who.actor ? `delegated to ${executorName(passed.delegated_to)}` : 'no longer assigned to you'
}

/** executorName returns the name of an executor. */
const executorName = (id) => plain(executors.find((e) => e.id === id)?.name || id)

/** delegationNote names the executor that has delegated a task to this person, if any. */
function delegationNote(t) {
  const by = lastStatus(t, 'delegated')
  return by?.delegated_to === who.actor ? ` · delegated by ${executorName(by.from)}` : ''
}

const requestOf = (t) => t.messages.flatMap((m) => m.mess).find((i) => i.request)?.request || {}

function draw() {
  drawCards('offers', [...offers.values()], offerCard, 'No offers. Tasks that no robot can do appear here.')
  drawCards('mine', [...mine.values()], taskCard, 'No tasks.')
  setDelegates(executors.filter((e) => e.id !== who?.actor))
}

/** drawCards draws changed cards and keeps the others: the person may be typing there. */
function drawCards(id, threads, make, empty) {
  const node = $(id)
  const old = new Map([...node.children].map((c) => [c.dataset.ref, c]))
  const next = threads.map((t) => {
    const state = `${id} ${t.updated_at} ${t.status} ${endingRefs.has(t.ref)} ${id === 'offers' ? stop.stopText(executors) : ''}`
    if (drawnStates.get(t.ref) === state && old.has(t.ref)) return old.get(t.ref)
    drawnStates.set(t.ref, state)
    return [t, make]
  })
  if (!threads.length) next.push(old.get('') || el('li', { 'data-ref': '' }, el('p', { className: 'empty' }, empty)))
  if (next.length === old.size && next.every((n, i) => n === node.children[i])) return
  replaceKeepingState(node, () => fill(node, next.map((n) => (Array.isArray(n) ? card(...n) : n))))
}

function card(t, make) {
  const node = make(t)
  node.dataset.ref = t.ref
  return node
}

function cardHead(t) {
  const r = requestOf(t)
  const long = t.intent.length > 400
  return [el('h3', {}, truncate(t.intent, 400)), long ? el('details', {}, el('summary', {}, 'Full text'), el('p', {}, t.intent)) : null, el('p', { className: 'meta' }, t.status === 'pending' ? '' : [chip(t.status), ' '], `from ${t.requestor_id} · `, agoNode(t.created_at), delegationNote(t), r.needed_by ? ` · needed by ${timeText(r.needed_by)}` : ''),
    (r.context || []).map((c) => contentNode(t.ref, c))]
}

function offerCard(t) {
  const error = el('p', { className: 'error', role: 'alert' })
  const long = el('select', { id: `long-${t.ref}` }, ['PT15M', 'PT1H', 'PT4H', 'PT12H', 'P1D'].map((d) => el('option', { value: d }, duration(d))))
  long.value = 'PT1H'
  const stopped = stop.stopText(executors)
  const robots = lastStatus(t, 'pending')?.message
  const sendStatus = async (status) => {
    error.textContent = ''
    try {
      await exchange.send(t.ref, { status })
      offers.delete(t.ref)
      refresh()
      draw()
      toTop()
    } catch (err) {
      error.textContent = err.message
      if (err instanceof Rejected && (err.code === 409 || err.code === 404)) {
        offers.delete(t.ref)
        if (status.code === 'claimed') stop.showAlert(`You cannot accept “${plain(truncate(t.intent, 100))}”: ${err.message}`) // the offer disappears
        draw()
      }
      return false
    }
  }
  return el('li', { className: 'calls' }, cardHead(t),
    stopped ? el('p', { className: 'error' }, `${stopped} The exchange offered you this task before the stop. Ask the author of the stop before you accept it.`) : null,
    robots ? el('p', { className: 'meta' }, truncate(robots, 400)) : null,
    el('label', { htmlFor: `long-${t.ref}` }, 'Estimated duration'), long,
    el('button', { type: 'button', onclick: () => sendStatus({ code: 'claimed', estimate: long.value }) }, stopped ? 'Accept anyway' : 'Accept'),
    detailsForm('Decline', 'Reason', (why) => sendStatus({ code: 'declined', reason: why }), `not-${t.ref}`), error)
}

function taskCard(t) {
  const waits = { needs_input: 'Waiting for the answer to your question.', needs_confirmation: 'Waiting for a confirmation.', held: 'The exchange has received no heartbeat from this page for a long time. You can continue.' }[t.status]
  const cancelled = t.messages.some((m) => m.mess.some((i) => i.cancel))
  return el('li', {}, cardHead(t),
    cancelled ? el('p', { className: 'error' }, 'The requester has cancelled this task. Stop, and report your actions so far.', el('button', { type: 'button', onclick: () => outbox.put(t.ref, { title: 'Stop confirmation', items: [{ status: { code: 'cancelled' } }] }) }, 'I have stopped')) : null,
    waits ? el('p', {}, waits) : null,
    endingRefs.has(t.ref) ? el('p', { role: 'status' }, 'This phone has stored your result, and sends it when the exchange is reachable.')
      : t.status === 'needs_input' || t.status === 'needs_confirmation' ? null : taskForm(t, requestOf(t), () => who.name || who.actor),
    lastStatus(t, 'needs_input') || lastStatus(t, 'needs_confirmation') ? el('details', { open: true }, el('summary', {}, 'Messages'), timeline(t, who.actor)) : null)
}

async function showOutbox() {
  const waiting = await outbox.all()
  endingRefs = new Set(waiting.filter((m) => !m.error && !outbox.isOthers(m) && m.items.some((i) => ends.includes(i.status?.code))).map((m) => m.ref))
  draw()
  $('outbox-box').hidden = waiting.length === 0
  const node = $('outbox')
  replaceKeepingState(node, () => fill(node, waiting.map(outboxCard)))
}

/** outboxCard shows an unsent or rejected message, with its texts and files. */
function outboxCard(m) {
  if (outbox.isOthers(m)) return el('li', { 'data-ref': m.id }, el('p', {}, `${m.title}, by ${m.by}`), el('p', { className: 'meta' }, `The phone sends this message when ${m.by} signs in here again.`), discardButton(m))
  const texts = m.items.flatMap((i) => i.response?.content || [i.status?.questions?.[0]?.question, i.status?.action, i.status?.reason?.detail]).filter((c) => typeof c === 'string')
  return el('li', { 'data-ref': m.id }, el('p', {}, `${m.title} · ${truncate(mine.get(m.ref)?.intent || m.intent || m.ref, 100)}`),
    m.error ? [el('p', { className: 'error' }, m.error), ...texts.map((text) => el('p', { className: 'summary' }, text)), ...m.files.map((f) => el('button', { type: 'button', className: 'plain', onclick: () => saveFile(f) }, `Save ${f.name}`)),
      m.over ? null : el('button', { type: 'button', className: 'plain', onclick: () => outbox.again(m) }, 'Send again'), discardButton(m)]
      : el('p', { className: 'meta' }, m.unkept ? 'This phone has no free storage: keep this page open until it has sent the message.' : 'Stored on this phone; not sent yet.'))
}

const discardButton = (m) => el('button', { type: 'button', className: 'plain', onclick: () => outbox.drop(m) }, 'Discard')

/** saveFile downloads a file of an unsent message. */
function saveFile(f) {
  const href = URL.createObjectURL(f.data)
  el('a', { href, download: f.name }).click()
  setTimeout(() => URL.revokeObjectURL(href), 60000)
}

setInterval(() => { if (who && !document.hidden) exchange.profile(who.actor, {}).catch(() => {}) }, 5 * 60 * 1000)
// A link to the open page changes only the fragment of the address.
addEventListener('hashchange', () => { if (link.test(location.hash)) location.reload() })
stop.ready()
outbox.ready(() => {
  showOutbox()
  if (exchange.isKnown()) refresh() // else the page was opened offline
}, (ref) => mine.get(ref)?.intent)
start()
