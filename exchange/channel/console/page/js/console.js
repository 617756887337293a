// The page of operators and requesters.

import { loadIdentity, mayRequest, page, signedOut } from './api.js'
import * as ask from './ask.js'
import * as bell from './bell.js'
import { $ } from './dom.js'
import { follow } from './events.js'
import * as hold from './hold.js'
import * as home from './home/home.js'
import * as shell from './home/shell.js'
import * as log from './log.js'
import * as nav from './nav.js'
import { register } from './offline.js'
import * as people from './people.js'
import * as settings from './settings.js'
import { store } from './home/store.js'
import * as stop from './stop.js'
import * as tasks from './tasks.js'

let who = null
let lastState = null // of the exchange; null before the first
let executors = null // the view, from its first use
const link = /^#([A-Z2-7]{26})$/
const sections = ['home', 'tasks', 'devices', 'people', 'settings', 'log', 'add', 'config', 'notices']
const addresses = { task: 'tasks', executors: 'devices' } // of a section with another name

/** token returns the sign-in token of the address, and removes it from there. */
function token() {
  const found = link.exec(location.hash)
  if (found) history.replaceState(null, '', location.pathname)
  return found?.[1]
}

async function start() {
  const linkToken = token()
  let error = ''
  try {
    if (linkToken) await page.signIn({ link: linkToken })
  } catch (err) {
    error = err.message
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
  register() // without it the page works only with the server
  if (globalThis.Notification?.permission === 'granted') import('./settings/push.js').then((push) => push.keepTexts()).catch(() => {}) // the notices keep the texts of an earlier language
}

function signIn(error) {
  $('signin').hidden = false
  showConnection(false, 'not signed in')
  const form = $('signin-form')
  form.querySelector('.error').textContent = error
  form.onsubmit = async (e) => {
    e.preventDefault()
    try {
      await page.signIn({ key: $('key').value.trim() })
      $('key').value = ''
      $('signin').hidden = true
      start()
    } catch (err) {
      form.querySelector('.error').textContent = err.message
    }
  }
  $('key').focus()
}

function startPage() {
  $('exchange').textContent = who.exchange
  for (const id of ['ask', 'search']) $(id).hidden = !mayRequest(who) // the exchange would reject the request
  $('whoami').textContent = `Signed in as ${who.actor} (${who.roles.join(', ')}).`
  $('signout').onclick = async () => {
    shell.forget()
    await page.signOut().catch(() => {})
    location.assign('/')
  }
  $('log-link').hidden = who.role === 'guest'
  for (const part of [home, tasks, people, settings]) part.ready(who)
  const openTask = (ref) => { location.hash = `#task/${encodeURIComponent(ref)}` }
  ask.ready($('ask'), who, 'messkit-ask', openTask)
  ask.ready($('search'), who, '', openTask)
  addEventListener('hashchange', show)
  show()
  follow({
    line: showConnection,
    reset: () => {
      ask.reconnected()
      home.connect()
      return tasks.reset()
    },
    closed: home.disconnect,
    thread: (t) => {
      tasks.changed(t)
      home.threadChanged(t)
    },
    state: (s) => {
      home.contact()
      for (const part of [ask, bell, people, settings, log]) part.changed(s)
      stop.changed(s, who)
      hold.changed(s.executors, who)
      lastState = s
      executors?.changed(s)
    },
  })
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
  $('line').textContent = text || (on ? 'live' : 'not connected; reconnecting')
  $('line').classList.toggle('off', !on)
}

const noView = () => showConnection(false, 'the exchange is unreachable; reload the page')

const narrow = matchMedia('(max-width: 59.99rem)') // the page shows one task or the list, as in app.css

/** showExecutors shows the view of the executors. The page loads it at the first use. */
async function showExecutors(id) {
  if (!executors) {
    const view = await import('./executors/view.js')
    view.ready(who)
    if (lastState) view.changed(lastState)
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
  tasks.open(name === 'task' && ref ? decodePart(ref) : '')
  home.show(device, section === 'home' && !device ? ref : '')
  if (!keepsScroll && ref !== 'needs') scrollTo({ top: 0, behavior: 'instant' })
  if (section === 'add') import('./add/add.js').then((view) => view.show(), noView)
  if (section === 'config') import('./add/config.js').then((view) => view.show(), noView)
  if (section === 'devices') showExecutors(part).catch((err) => showConnection(false, err.message))
  if (section === 'tasks' && name === 'task' && ref) bell.opened(decodePart(ref))
  for (const [view, name] of [[people, 'people'], [settings, 'settings'], [bell, 'notices']]) if (section === name) view.load().catch((err) => showConnection(false, err.message))
  if (section === 'log') log.load(who).catch((err) => showConnection(false, err.message))
}

// A link to the open page changes only the fragment of the address.
addEventListener('hashchange', () => { if (link.test(location.hash)) location.reload() })
stop.ready()
start()
