// The page of those who run the place.

import { begin, mayAsk, page, signedOut } from './api.js'
import * as ask from './ask.js'
import { $ } from './dom.js'
import { follow } from './events.js'
import * as hold from './hold.js'
import * as log from './log.js'
import * as people from './people.js'
import * as stop from './stop.js'
import * as tasks from './tasks.js'
import * as things from './things.js'

let who = null
const link = /^#([A-Z2-7]{26})$/
const sections = ['tasks', 'devices', 'people', 'log']

/** token is what a link has brought along; it is taken out of the address at once. */
function token() {
  const found = link.exec(location.hash)
  if (found) history.replaceState(null, '', location.pathname)
  return found?.[1]
}

async function start() {
  const brought = token()
  let error = ''
  try {
    if (brought) await page.signIn({ link: brought })
  } catch (err) {
    error = err.message
  }
  try {
    who = await begin()
  } catch (err) {
    if (signedOut(err)) return signIn(error)
    line(false, err.message)
    setTimeout(start, 3000)
    return
  }
  signedIn()
}

function signIn(error) {
  $('signin').hidden = false
  line(false, 'not signed in')
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

function signedIn() {
  $('exchange').textContent = who.exchange
  $('nav').hidden = false
  $('ask').hidden = !mayAsk(who) // the exchange would refuse it
  $('whoami').textContent = `Signed in as ${who.actor} (${who.roles.join(', ')}).`
  $('signout').onclick = async () => {
    await page.signOut().catch(() => {})
    location.assign('/')
  }
  for (const part of [tasks, things, people, hold, stop]) part.ready(who)
  ask.ready(who, (ref) => { location.hash = `#task/${encodeURIComponent(ref)}` })
  addEventListener('hashchange', show)
  show()
  follow({
    line,
    reset: () => {
      ask.reached()
      return tasks.reset()
    },
    thread: tasks.changed,
    state: (s) => {
      for (const part of [ask, things, people, log]) part.changed(s)
      stop.changed(s, who)
      hold.changed(s.executors, who)
    },
  })
}

/** part is a part of the address in plain text; '' if it cannot be read. */
function part(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

function line(on, text) {
  $('line').textContent = text || (on ? 'live' : 'not connected; reconnecting')
  $('line').classList.toggle('off', !on)
}

const narrow = matchMedia('(max-width: 59.99rem)') // one task or the list, as in app.css

/** show goes where the address says, and begins at its top unless the list stays beside it. */
function show() {
  const [name, ref] = location.hash.slice(1).split('/')
  const at = name === 'task' || !sections.includes(name) ? 'tasks' : name
  const stays = at === 'tasks' && !$('tasks').hidden && !narrow.matches
  for (const s of sections) $(s).hidden = s !== at
  for (const a of $('nav').querySelectorAll('a')) {
    if (a.getAttribute('href') === `#${at}`) a.setAttribute('aria-current', 'page')
    else a.removeAttribute('aria-current')
  }
  tasks.open(name === 'task' && ref ? part(ref) : '')
  if (!stays) scrollTo({ top: 0, behavior: 'instant' })
  if (at === 'devices') things.look()
  if (at === 'log') log.look(who).catch((err) => line(false, err.message))
}

// A link that is pasted where the page already stands changes the address alone.
addEventListener('hashchange', () => { if (link.test(location.hash)) location.reload() })
stop.ready()
start()
