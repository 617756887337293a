// The page of a person who does tasks for others: a human executor.

import { exchange, loadIdentity, page, signedOut } from './api.js'
import { $, plain } from './dom.js'
import { follow } from './events.js'
import * as hold from './hold.js'
import { notify, store, useStore } from './home/store.js'
import { html, render } from './html.js'
import { Offer, Task, Unsent } from './me/cards.js'
import { Profile } from './me/profile.js'
import { forgetTasks, loadStoredTasks, readOffer, readTasks, refresh, withdraw } from './me/tasks.js'
import { register } from './offline.js'
import * as outbox from './outbox.js'
import { keepFocus, prepare } from './page.js'
import { titleText } from './phrases.js'
import * as stop from './stop.js'
import { t } from './text/text.js'

const ends = ['completed', 'failed', 'delegated', 'cancelled']
const link = /^#([A-Z2-7]{26})$/

Object.assign(store, { unsent: [], profile: null, hint: '' }) // the messages of the outbox; the number of reads of the profile; how the browser stores the page

async function start() {
  const linkToken = link.exec(location.hash)?.[1]
  if (linkToken) history.replaceState(null, '', location.pathname)
  let error = ''
  try {
    if (linkToken) {
      await page.signIn({ link: linkToken })
      forgetTasks()
    }
  } catch (err) {
    error = err.message
  }
  try {
    store.me = await loadIdentity()
  } catch (err) {
    if (signedOut(err)) return showSignIn(error)
    if (!store.me && loadStoredTasks()) {
      outbox.setActor(store.me.actor)
      open()
    }
    showConnection(false)
    setTimeout(start, 3000)
    return
  }
  signedIn()
}

async function showSignIn(error) {
  $('signin').hidden = false
  showConnection(false, t('line.signedout'))
  const { length } = await outbox.all()
  render(html`<h1 id="signin-title">${t('me.signedout')}</h1><p class="card">${t('me.invitation')} <code>messkit invite NAME</code></p>
    <p id="unsent" role="status">${length ? t('outbox.holds', { count: length }) : ''}</p><p class="error" role="alert">${error}</p>`, $('signin'))
}

/** open shows the tasks. */
function open() {
  $('home').hidden = false
  render(html`<${Tasks} />`, $('tasks'))
  showOutbox()
}

async function signOut() {
  await page.signOut().catch(() => {})
  forgetTasks()
  location.reload()
}

async function signedIn() {
  $('exchange').textContent = store.me.exchange
  outbox.setActor(store.me.actor)
  $('signout').onclick = signOut
  outbox.flush()
  open()
  follow({
    actor: store.me.actor,
    line: showConnection,
    reset: () => {
      outbox.flush()
      for (const ref of store.offers.keys()) readOffer(ref) // another executor may have claimed it
      return readTasks() // the page is live only after this has succeeded
    },
    thread: (x) => { if (x.executor_id === store.me.actor || store.mine.has(x.ref)) refresh() },
    offer: (x) => readOffer(x.ref),
    withdrawn: (x) => withdraw(x.ref),
    state: (s) => {
      store.state = s
      stop.changed(s, store.me)
      hold.changed(s.executors.filter((e) => e.id === store.me.actor), store.me)
      notify()
    },
  })
  $('offline-hint').textContent = await register()
  setUp()
}

/** setUp shows the profile and the notice settings. */
async function setUp() {
  render(html`<${Profile} />`, $('profile-view'))
  const { show } = await import('./settings/notices.js')
  show($('notices-view'))
}

function showConnection(on, text) {
  $('line').textContent = text || t(on ? 'line.live' : 'me.offline')
  $('line').classList.toggle('off', !on)
}

/** Tasks shows the unsent messages, the tasks and the offers of the person. */
function Tasks() {
  useStore()
  const ending = new Set(store.unsent.filter((m) => !m.error && !outbox.isOthers(m) && m.items.some((i) => ends.includes(i.status?.code))).map((m) => m.ref))
  const empty = (text) => html`<li key="empty"><p class="empty">${text}</p></li>`
  const title = store.me?.name && store.me.name !== store.me.actor ? t('me.titleof', { name: store.me.name }) : t('me.title')
  document.title = `${plain(title)} · messkit`
  return html`<h1 id="hello">${title}</h1>${store.problem ? html`<p class="error" role="alert">${store.problem}</p>` : null}
    <section id="outbox-box" hidden=${!store.unsent.length} aria-labelledby="outbox-title"><h2 id="outbox-title">${t('outbox.title')}</h2><ul id="outbox" class="cards">${store.unsent.map((m) => html`<${Unsent} key=${m.id} m=${m} />`)}</ul></section>
    <section aria-labelledby="mine-title"><h2 id="mine-title">${t('me.mine')}</h2>
      <ul id="mine" class="cards">${store.mine.size ? [...store.mine.values()].map((x) => html`<${Task} key=${x.ref} x=${x} ending=${ending.has(x.ref)} />`) : empty(t('me.none'))}</ul><p id="over" class="meta" role="status">${store.gone}</p></section>
    <section aria-labelledby="offers-title"><h2 id="offers-title">${t('me.offers')}</h2>
      <ul id="offers" class="cards" aria-live="polite">${store.offers.size ? [...store.offers.values()].map((x) => html`<${Offer} key=${x.ref} x=${x} />`) : empty(t('me.nooffers'))}</ul></section>`
}

async function showOutbox() {
  store.unsent = await outbox.all()
  notify()
}

setInterval(() => { if (store.me && !document.hidden) exchange.profile(store.me.actor, {}).catch(() => {}) }, 5 * 60 * 1000)
// A link to the open page changes only the fragment of the address.
addEventListener('hashchange', () => { if (link.test(location.hash)) location.reload() })
prepare()
for (const [id, key] of [['setup-title', 'me.setup'], ['console', 'me.console'], ['signout', 'people.out']]) $(id).textContent = t(key)
keepFocus($('main'))
stop.ready()
outbox.ready(() => {
  showOutbox()
  if (exchange.isKnown()) refresh() // else the page was opened offline
}, (ref) => store.mine.has(ref) ? titleText(store.mine.get(ref)) : undefined)
start()
