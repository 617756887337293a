// The page of operators and requesters.

import { loadIdentity, page, signedOut } from './api.js'
import { reconnected } from './ask.js'
import * as bell from './bell.js'
import { $, whenIdle } from './dom.js'
import { follow } from './events.js'
import * as hold from './hold.js'
import * as home from './home/home.js'
import * as shell from './home/shell.js'
import { homeDocument, notify, store } from './home/store.js'
import { html, render } from './html.js'
import * as nav from './nav.js'
import { register } from './offline.js'
import { keepFocus, prepare } from './page.js'
import * as people from './people.js'
import * as settings from './settings.js'
import * as stop from './stop.js'
import * as tasks from './tasks.js'
import * as taskView from './tasks/view.js'
import { named, t } from './text/text.js'

let who = null
let executors = null // the view, from its first use
const link = /^#([A-Z2-7]{26})$/
const sections = ['home', 'tasks', 'devices', 'people', 'settings', 'log', 'add', 'config', 'notices']
const addresses = { task: 'tasks', executors: 'devices' } // of a section with another name
const titles = { devices: 'nav.executors', log: 'log.title', add: 'add.title', config: 'config.title', notices: 'bell.title' } // of a section without a tab of its name

/** token returns the sign-in token of the address, and removes it from there. */
function token() {
  const found = link.exec(location.hash)
  if (found) history.replaceState(null, '', location.pathname)
  return found?.[1]
}

async function start() {
  const linkToken = token()
  let error = null
  try {
    if (linkToken) await page.signIn({ link: linkToken })
  } catch (err) {
    error = err
  }
  try {
    who = await loadIdentity()
  } catch (err) {
    if (signedOut(err)) {
      shell.forget()
      return store.shell ? location.reload() : signIn(error)
    }
    if (!store.shell && shell.open()) home.showShell()
    showConnection(false, err.message)
    setTimeout(start, 3000)
    return
  }
  if (store.shell) return location.reload() // the server is back
  startPage()
  whenIdle(register) // without it the page works only with the server
  if (globalThis.Notification?.permission === 'granted') import('./settings/push.js').then((push) => push.keepTexts()).catch(() => {}) // the notices keep the texts of an earlier language
}

async function signIn(error) {
  showConnection(false, t('line.signedout'))
  const view = await import('./signin.js')
  view.show(error, start)
}

/** Account shows who has signed in, with the way out. */
function Account() {
  const signOut = async () => {
    shell.forget()
    await page.signOut().catch(() => {})
    location.assign('/')
  }
  return html`<h2>${t('settings.here_title')}</h2><p><span id="whoami">${t('settings.whoami', { name: who.actor, roles: (who.role || who.roles.includes('operator') ? [who.role || 'operator'] : who.roles).map((r) => named('role', r)).join(', ') })}</span> <button type="button" id="signout" onClick=${signOut}>${t('people.out')}</button></p>
    ${who.role === 'guest' ? null : html`<p id="log-link"><a class="more" href="#log">${t('log.title')}</a></p>`}`
}

function startPage() {
  $('exchange').textContent = who.exchange
  store.me = who
  follow({ // it connects while this script draws
    line: showConnection,
    reset: () => {
      reconnected()
      return tasks.reset()
    },
    opened: home.opened,
    closed: home.closed,
    contact: home.contact,
    actor: who.actor,
    home: home.changed,
    homeDocument,
    thread: (t) => {
      tasks.changed(t)
      home.threadChanged(t)
    },
    state: (s) => {
      store.state = s
      for (const part of [bell, people, settings]) part.changed(s)
      stop.changed(s, who)
      hold.changed(s.executors, who)
      executors?.changed(s)
      notify()
    },
  })
  for (const part of [home, taskView, people, settings]) part.ready(who)
  render(html`<${Account} />`, $('account'))
  addEventListener('hashchange', show)
  show()
}

/** decodePart decodes a part of the address. It returns '' for an invalid one. */
function decodePart(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

function showConnection(on, text) {
  $('line').textContent = text || t(on ? 'line.live' : 'line.again')
  $('line').classList.toggle('off', !on)
}

const noView = () => showConnection(false, t('line.reload'))

const narrow = matchMedia('(max-width: 59.99rem)') // the page shows one task or the list, as in app.css

/** showExecutors shows the view of the executors. The page loads it at the first use. */
async function showExecutors(id) {
  if (!executors) {
    const view = await import('./executors/view.js')
    view.ready(who)
    if (store.state) view.changed(store.state)
    executors = view
  }
  await executors.show(id)
}

/** show shows the section of the address. It scrolls to the top unless the task list stays visible. */
function show() {
  const [name, ref] = location.hash.slice(1).split('/')
  const part = name === 'executors' && ref ? decodePart(ref) : ''
  const device = name.startsWith('device=') ? decodePart(name.slice('device='.length)) : ''
  const wanted = addresses[name] || (sections.includes(name) ? name : 'home')
  const section = nav.mayOpen(wanted, who) ? wanted : 'home'
  const keepsScroll = section === 'tasks' && !$('tasks').hidden && !narrow.matches
  for (const s of sections) $(s).hidden = s !== section
  nav.draw({ devices: 'executors', log: 'settings', add: 'home', config: 'settings' }[section] || section, who)
  const moved = store.section !== '' // a new page is at the top, and the browser would lay it out
  store.section = section
  document.title = `${t(titles[section] || `nav.${section}`)} · messkit`
  tasks.open(name === 'task' && ref ? decodePart(ref) : '')
  home.show(device, section === 'home' && !device ? ref : '')
  if (!keepsScroll && ref !== 'needs' && moved) scrollTo({ top: 0, behavior: 'instant' })
  if (section === 'add') import('./add/add.js').then((view) => view.show(), noView)
  if (section === 'config') import('./add/config.js').then((view) => view.show(), noView)
  if (section === 'devices') showExecutors(part).catch((err) => showConnection(false, err.message))
  if (section === 'tasks' && name === 'task' && ref) bell.opened(decodePart(ref))
  for (const [view, name] of [[people, 'people'], [settings, 'settings'], [bell, 'notices']]) if (section === name) view.load().catch((err) => showConnection(false, err.message))
  if (section === 'log') import('./log.js').then((view) => view.show(), noView)
}

// A link to the open page changes only the fragment of the address.
addEventListener('hashchange', () => { if (link.test(location.hash)) location.reload() })
prepare()
$('settings-title').textContent = t('nav.settings')
keepFocus($('main'))
stop.ready()
start()
