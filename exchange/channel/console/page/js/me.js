// The page of a person who does what robots cannot.

import { Away, begin, exchange, page, Refused, signedOut } from './api.js'
import { box, forget, known, more } from './compose.js'
import { duration, entry, last, timeline } from './content.js'
import { $, chip, cut, el, fill, plain, swap, toTop, words } from './dom.js'
import { follow } from './events.js'
import * as hold from './hold.js'
import { register } from './keep.js'
import * as notices from './notices.js'
import * as outbox from './outbox.js'
import * as profile from './profile.js'
import * as stop from './stop.js'
import { ago, since } from './times.js'

const working = ['claimed', 'in_progress', 'waiting', 'held', 'needs_input', 'needs_confirmation', 'retrying']
const ends = ['completed', 'failed', 'delegated', 'cancelled']
const link = /^#([A-Z2-7]{26})$/
let who = null
const offers = new Map() // ref to the thread
const mine = new Map()
let executors = []
const drawn = new Map() // ref to what its card was drawn of
let ending = new Set() // refs of those whose end waits to be sent

const kept = 'messkit-tasks'

/** remember keeps the tasks for when there is no network, as far as the phone has room. */
function remember() {
  try {
    localStorage.setItem(kept, JSON.stringify({ who, mine: [...mine.values()] }))
  } catch {
    localStorage.removeItem(kept) // what was kept is not so any more
  }
}

function recall() {
  try {
    const old = JSON.parse(localStorage.getItem(kept) || '{}')
    if (!old.who) return false
    who = old.who
    for (const t of old.mine) mine.set(t.ref, t)
    return true
  } catch {
    return false
  }
}

async function start() {
  const brought = link.exec(location.hash)?.[1]
  if (brought) history.replaceState(null, '', location.pathname)
  let error = ''
  try {
    if (brought) {
      await page.signIn({ link: brought })
      localStorage.removeItem(kept)
    }
  } catch (err) {
    error = err.message
  }
  try {
    who = await begin()
  } catch (err) {
    if (signedOut(err)) return askIn(error)
    if (!who && recall()) {
      outbox.belongs(who.actor)
      $('home').hidden = false
      draw()
      showOutbox()
    }
    line(false)
    setTimeout(start, 3000)
    return
  }
  signedIn()
}

async function askIn(error) {
  $('signin').hidden = false
  $('signin').querySelector('.error').textContent = error
  line(false, 'not signed in')
  const { length } = await outbox.all()
  if (length) $('unsent').textContent = `This phone holds ${length} unsent ${length === 1 ? 'message' : 'messages'}. It sends ${length === 1 ? 'it' : 'them'} when you sign in again with the same name.`
}

async function signedIn() {
  $('exchange').textContent = who.exchange
  outbox.belongs(who.actor)
  $('home').hidden = false
  $('signout').onclick = async () => {
    await page.signOut().catch(() => {})
    localStorage.removeItem(kept)
    location.reload()
  }
  outbox.flush()
  showOutbox()
  follow({
    line,
    reset: () => {
      outbox.flush()
      for (const ref of offers.keys()) offered(ref) // it may have gone to somebody else meanwhile
      return reading() // what cannot be read is not live
    },
    thread: (t) => { if (t.executor_id === who.actor || mine.has(t.ref)) load() },
    offer: (t) => offered(t.ref),
    withdrawn: (t) => {
      asked.delete(t.ref)
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

/** setUp shows what she can do and where she is told, as soon as it can be read. */
async function setUp() {
  try {
    await profile.ready(who)
    await notices.ready()
    $('notices-error').textContent = ''
  } catch (err) {
    $('notices-error').textContent = err.message
    if (err instanceof Away) setTimeout(setUp, 5000)
  }
}

function line(on, text) {
  $('line').textContent = text || (on ? 'live' : 'offline; the phone stores your input')
  $('line').classList.toggle('off', !on)
}

const asked = new Map() // ref of an offer that is being read to the last reading

async function offered(ref) {
  const turn = {}
  asked.set(ref, turn)
  try {
    const t = await exchange.thread(ref)
    if (asked.get(ref) !== turn) return // it was withdrawn, or is read once more
    if (t.status === 'pending') offers.set(ref, t)
    else offers.delete(ref)
  } catch (err) {
    if (err instanceof Refused) offers.delete(ref) // else it is not known
  }
  draw()
}

let loading = null
let again = false

/** load reads what one does, and says what keeps it from that, unless the exchange is away. */
const load = () => reading().catch((err) => { if (!(err instanceof Away)) line(false, err.message) })

/** reading is what reads it; many calls at once are one or two. */
function reading() {
  if (loading) {
    again = true
    return loading
  }
  loading = read().finally(() => {
    loading = null
    if (again) {
      again = false
      load()
    }
  })
  return loading
}

async function read() {
  const [open, list] = await Promise.all([
    exchange.list([['executor', who.actor], ['limit', 200], ...working.map((s) => ['status', s])]), // however old they are
    exchange.list({ executor: who.actor, limit: 50 }),
  ])
  const read = await Promise.all(open.map((t) => exchange.thread(t.ref)))
  const whole = read.filter((t) => working.includes(t.status) && t.executor_id === who.actor)
  const over = [...read, ...list].filter((t) => !working.includes(t.status) && t.executor_id === who.actor)
  const gone = [...mine.values()].filter((t) => !whole.some((w) => w.ref === t.ref))
  if (gone.length) $('over').textContent = (await Promise.all(gone.map(async (t) => `${plain(cut(t.intent, 100))}: ${await became(t, over)}`))).join(' · ')
  mine.clear()
  for (const t of whole) mine.set(t.ref, t)
  forget(mine, over.map((t) => t.ref))
  for (const ref of offers.keys()) if (mine.has(ref)) offers.delete(ref)
  remember()
  draw()
}

/** became tells what has become of a task that one does not do any more. */
async function became(t, over) {
  const end = over.find((o) => o.ref === t.ref)
  if (end) return words(end.status)
  const now = await exchange.thread(t.ref).catch(() => null)
  const passed = now && last(now, 'delegated')
  return passed?.from === who.actor ? `delegated to ${named(passed.delegated_to)}` : 'no longer assigned to you'
}

/** named is how an executor is called. */
const named = (id) => plain(executors.find((e) => e.id === id)?.name || id)

/** passedOn tells who has handed a task over, if anybody has. */
function passedOn(t) {
  const by = last(t, 'delegated')
  return by?.delegated_to === who.actor ? ` · delegated by ${named(by.from)}` : ''
}

const requestOf = (t) => t.messages.flatMap((m) => m.mess).find((i) => i.request)?.request || {}

function draw() {
  cards('offers', [...offers.values()], offer, 'No offers. Tasks that no robot can do appear here.')
  cards('mine', [...mine.values()], task, 'No tasks.')
  known(executors.filter((e) => e.id !== who?.actor))
}

/** cards draws what has changed, and leaves alone what has not: somebody may be writing there. */
function cards(id, threads, make, empty) {
  const node = $(id)
  const old = new Map([...node.children].map((c) => [c.dataset.ref, c]))
  const next = threads.map((t) => {
    const state = `${id} ${t.updated_at} ${t.status} ${ending.has(t.ref)} ${id === 'offers' ? stop.inForce(executors) : ''}`
    if (drawn.get(t.ref) === state && old.has(t.ref)) return old.get(t.ref)
    drawn.set(t.ref, state)
    return [t, make]
  })
  if (!threads.length) next.push(old.get('') || el('li', { 'data-ref': '' }, el('p', { className: 'empty' }, empty)))
  if (next.length === old.size && next.every((n, i) => n === node.children[i])) return
  swap(node, () => fill(node, next.map((n) => (Array.isArray(n) ? card(...n) : n))))
}

function card(t, make) {
  const node = make(t)
  node.dataset.ref = t.ref
  return node
}

function head(t) {
  const r = requestOf(t)
  const long = t.intent.length > 400
  return [el('h3', {}, cut(t.intent, 400)), long ? el('details', {}, el('summary', {}, 'Full text'), el('p', {}, t.intent)) : null, el('p', { className: 'meta' }, t.status === 'pending' ? '' : [chip(t.status), ' '], `from ${t.requestor_id} · `, ago(t.created_at), passedOn(t), r.needed_by ? ` · needed by ${since(r.needed_by)}` : ''),
    (r.context || []).map((c) => entry(t.ref, c))]
}

function offer(t) {
  const error = el('p', { className: 'error', role: 'alert' })
  const long = el('select', { id: `long-${t.ref}` }, ['PT15M', 'PT1H', 'PT4H', 'PT12H', 'P1D'].map((d) => el('option', { value: d }, duration(d))))
  long.value = 'PT1H'
  const stopped = stop.inForce(executors)
  const robots = last(t, 'pending')?.message
  const say = async (status) => {
    error.textContent = ''
    try {
      await exchange.say(t.ref, { status })
      offers.delete(t.ref)
      load()
      draw()
      toTop()
    } catch (err) {
      error.textContent = err.message
      if (err instanceof Refused && (err.code === 409 || err.code === 404)) {
        offers.delete(t.ref)
        if (status.code === 'claimed') stop.failed(`You cannot accept “${plain(cut(t.intent, 100))}”: ${err.message}`) // the offer goes
        draw()
      }
      return false
    }
  }
  return el('li', { className: 'calls' }, head(t),
    stopped ? el('p', { className: 'error' }, `${stopped} The exchange offered you this task before the stop. Ask the author of the stop before you accept it.`) : null,
    robots ? el('p', { className: 'meta' }, cut(robots, 400)) : null,
    el('label', { htmlFor: `long-${t.ref}` }, 'Estimated duration'), long,
    el('button', { type: 'button', onclick: () => say({ code: 'claimed', estimate: long.value }) }, stopped ? 'Accept anyway' : 'Accept'),
    more('Decline', 'Reason', (why) => say({ code: 'declined', reason: why }), `not-${t.ref}`), error)
}

function task(t) {
  const waits = { needs_input: 'Waiting for the answer to your question.', needs_confirmation: 'Waiting for a confirmation.', held: 'The exchange has received no heartbeat from this page for a long time. You can continue.' }[t.status]
  const cancelled = t.messages.some((m) => m.mess.some((i) => i.cancel))
  return el('li', {}, head(t),
    cancelled ? el('p', { className: 'error' }, 'The requester has cancelled this task. Stop, and report your actions so far.', el('button', { type: 'button', onclick: () => outbox.put(t.ref, { title: 'Stop confirmation', items: [{ status: { code: 'cancelled' } }] }) }, 'I have stopped')) : null,
    waits ? el('p', {}, waits) : null,
    ending.has(t.ref) ? el('p', { role: 'status' }, 'This phone has stored your result, and sends it when the exchange is reachable.')
      : t.status === 'needs_input' || t.status === 'needs_confirmation' ? null : box(t, requestOf(t), () => who.name || who.actor),
    last(t, 'needs_input') || last(t, 'needs_confirmation') ? el('details', { open: true }, el('summary', {}, 'Messages'), timeline(t, who.actor)) : null)
}

async function showOutbox() {
  const waiting = await outbox.all()
  ending = new Set(waiting.filter((m) => !m.error && !outbox.others(m) && m.items.some((i) => ends.includes(i.status?.code))).map((m) => m.ref))
  draw()
  $('outbox-box').hidden = waiting.length === 0
  const node = $('outbox')
  swap(node, () => fill(node, waiting.map(unsent)))
}

/** unsent is a message that has not been sent, or was refused: what it says can be had from it. */
function unsent(m) {
  if (outbox.others(m)) return el('li', { 'data-ref': m.id }, el('p', {}, `${m.title}, by ${m.by}`), el('p', { className: 'meta' }, `The phone sends this message when ${m.by} signs in here again.`), forgetIt(m))
  const said = m.items.flatMap((i) => i.response?.content || [i.status?.questions?.[0]?.question, i.status?.action, i.status?.reason?.detail]).filter((c) => typeof c === 'string')
  return el('li', { 'data-ref': m.id }, el('p', {}, `${m.title} · ${cut(mine.get(m.ref)?.intent || m.intent || m.ref, 100)}`),
    m.error ? [el('p', { className: 'error' }, m.error), ...said.map((text) => el('p', { className: 'said' }, text)), ...m.files.map((f) => el('button', { type: 'button', className: 'plain', onclick: () => save(f) }, `Save ${f.name}`)),
      m.over ? null : el('button', { type: 'button', className: 'plain', onclick: () => outbox.again(m) }, 'Send again'), forgetIt(m)]
      : el('p', { className: 'meta' }, m.unkept ? 'This phone has no free storage: keep this page open until it has sent the message.' : 'Stored on this phone; not sent yet.'))
}

const forgetIt = (m) => el('button', { type: 'button', className: 'plain', onclick: () => outbox.drop(m) }, 'Discard')

/** save puts a file that could not be sent among the files of the phone. */
function save(f) {
  const href = URL.createObjectURL(f.data)
  el('a', { href, download: f.name }).click()
  setTimeout(() => URL.revokeObjectURL(href), 60000)
}

setInterval(() => { if (who && !document.hidden) exchange.profile(who.actor, {}).catch(() => {}) }, 5 * 60 * 1000)
// A link that is pasted where the page already stands changes the address alone.
addEventListener('hashchange', () => { if (link.test(location.hash)) location.reload() })
stop.ready()
outbox.ready(() => {
  showOutbox()
  if (exchange.known()) load() // else the page was opened without a network
}, (ref) => mine.get(ref)?.intent)
start()
