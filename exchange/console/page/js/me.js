// The page of a person who does what robots cannot.

import { Away, begin, exchange, page, Refused } from './api.js'
import { box, forget, more } from './compose.js'
import { duration, entry, last, timeline } from './content.js'
import { $, ago, chip, el, fill, plain, toTop, words } from './dom.js'
import { follow } from './events.js'
import * as hold from './hold.js'
import { register } from './keep.js'
import * as notices from './notices.js'
import * as outbox from './outbox.js'
import * as profile from './profile.js'
import * as stop from './stop.js'

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

/** remember keeps the tasks for when there is no network. */
const remember = () => localStorage.setItem(kept, JSON.stringify({ who, mine: [...mine.values()] }))

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
    if (err instanceof Refused && err.code === 401) return signedOut(error)
    if (!who && recall()) {
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

function signedOut(error) {
  $('signin').hidden = false
  $('signin').querySelector('.error').textContent = error
  line(false, 'not signed in')
}

async function signedIn() {
  $('exchange').textContent = who.exchange
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
    withdrawn: (t) => { offers.delete(t.ref); draw() },
    state: (s) => {
      executors = s.executors
      draw()
      stop.changed(s, who)
      hold.changed(s.executors.filter((e) => e.id === who.actor), who)
    },
  })
  $('offline-hint').textContent = await register()
  await profile.ready(who).catch((err) => line(false, err.message))
  await notices.ready().catch((err) => { $('notices-error').textContent = err.message })
}

function line(on, text) {
  $('line').textContent = text || (on ? 'live' : 'no connection; what you enter is kept')
  $('line').classList.toggle('off', !on)
}

async function offered(ref) {
  try {
    const t = await exchange.thread(ref)
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
  const list = await exchange.list({ executor: who.actor, limit: 50 })
  const open = list.filter((t) => working.includes(t.status))
  const whole = await Promise.all(open.map((t) => exchange.thread(t.ref)))
  const over = list.filter((t) => mine.has(t.ref) && !working.includes(t.status))
  if (over.length) $('over').textContent = over.map((t) => `${plain(t.intent)}: ${words(t.status)}`).join(' · ')
  mine.clear()
  for (const t of whole) mine.set(t.ref, t)
  forget(mine, list.filter((t) => !working.includes(t.status)).map((t) => t.ref))
  for (const ref of offers.keys()) if (mine.has(ref)) offers.delete(ref)
  remember()
  draw()
}

const requestOf = (t) => t.messages.flatMap((m) => m.mess).find((i) => i.request)?.request || {}

function draw() {
  cards('offers', [...offers.values()], offer, 'Nothing now. What no robot can do comes here.')
  cards('mine', [...mine.values()], task, 'Nothing now.')
}

/** cards draws what has changed, and leaves a card alone in which somebody writes. */
function cards(id, threads, make, empty) {
  const old = new Map([...$(id).children].map((c) => [c.dataset.ref, c]))
  const active = document.activeElement
  fill($(id), threads.length ? threads.map((t) => {
    const state = `${id} ${t.updated_at} ${t.status} ${ending.has(t.ref)} ${id === 'offers' ? stop.inForce(executors) : ''}`
    if (drawn.get(t.ref) === state && old.has(t.ref)) return old.get(t.ref)
    drawn.set(t.ref, state)
    const card = make(t)
    card.dataset.ref = t.ref
    return card
  }) : el('li', {}, el('p', { className: 'empty' }, empty)))
  if (active !== document.activeElement && active?.isConnected) active.focus({ preventScroll: true }) // somebody was writing there
}

function head(t) {
  const r = requestOf(t)
  return [el('h3', {}, t.intent), el('p', { className: 'meta' }, t.status === 'pending' ? '' : [chip(t.status), ' '], `from ${t.requestor_id} · ${ago(t.created_at)}`, r.needed_by ? ` · needed by ${new Date(r.needed_by).toLocaleString()}` : ''),
    (r.context || []).map((c) => entry(t.ref, c))]
}

function offer(t) {
  const error = el('p', { className: 'error', role: 'alert' })
  const long = el('select', { id: `long-${t.ref}` }, ['PT15M', 'PT1H', 'PT4H', 'PT12H', 'P1D'].map((d) => el('option', { value: d }, duration(d))))
  long.value = 'PT1H'
  const stopped = stop.inForce(executors)
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
        line(true, err.message)
        draw()
      }
    }
  }
  return el('li', { className: 'calls' }, head(t),
    stopped ? el('p', { className: 'error' }, `${stopped} This was offered to you before. Ask whoever stopped it before you do it.`) : null,
    el('label', { htmlFor: `long-${t.ref}` }, 'It will take you'), long,
    el('button', { type: 'button', onclick: () => say({ code: 'claimed', estimate: long.value }) }, stopped ? 'I do it all the same' : 'I do it'),
    more('Not me', 'Why not', (why) => say({ code: 'declined', reason: why }), `not-${t.ref}`), error)
}

function task(t) {
  const waits = { needs_input: 'Waits for the answer to your question.', needs_confirmation: 'Waits for a yes.', held: 'The exchange has not heard of you for long; go on as you like.' }[t.status]
  const cancelled = t.messages.some((m) => m.mess.some((i) => i.cancel))
  const others = executors.filter((e) => e.id !== who.actor)
  return el('li', {}, head(t),
    cancelled ? el('p', { className: 'error' }, 'It was taken back: stop, and say what was done.', el('button', { type: 'button', onclick: () => outbox.put(t.ref, 'that you have stopped', [{ status: { code: 'cancelled' } }]) }, 'I have stopped')) : null,
    waits ? el('p', {}, waits) : null,
    ending.has(t.ref) ? el('p', { role: 'status' }, 'What you have said is kept on this phone, and sent as soon as the exchange is there.')
      : t.status === 'needs_input' || t.status === 'needs_confirmation' ? null : box(t, requestOf(t), others, () => who.name || who.actor),
    last(t, 'needs_input') || last(t, 'needs_confirmation') ? el('details', { open: true }, el('summary', {}, 'What was said'), timeline(t, who.actor)) : null)
}

async function showOutbox() {
  const waiting = await outbox.all().catch(() => [])
  ending = new Set(waiting.filter((m) => !m.error && m.items.some((i) => ends.includes(i.status?.code))).map((m) => m.ref))
  draw()
  $('outbox-box').hidden = waiting.length === 0
  fill($('outbox'), waiting.map((m) => el('li', {}, el('p', {}, `${m.title} · ${mine.get(m.ref)?.intent || m.ref}`),
    m.error ? [el('p', { className: 'error' }, m.error), el('button', { type: 'button', className: 'plain', onclick: () => outbox.drop(m.at) }, 'Forget it')] : el('p', { className: 'meta' }, 'kept on this phone until it is sent'))))
}

setInterval(() => { if (who && !document.hidden) exchange.profile(who.actor, {}).catch(() => {}) }, 5 * 60 * 1000)
// A link that is pasted where the page already stands changes the address alone.
addEventListener('hashchange', () => { if (link.test(location.hash)) location.reload() })
stop.ready()
outbox.ready(() => {
  showOutbox()
  if (exchange.known()) load() // else the page was opened without a network
})
start()
