// People who do what robots cannot, and how they come in.

import { page } from './api.js'
import { $, el, fill, refill, words } from './dom.js'
import { dots } from './dots.js'
import * as forget from './forget.js'
import { ago, since } from './times.js'

let me = null

/** changed shows who is there. */
export function changed(state) {
  const people = state.executors.filter((e) => e.person)
  refill($('persons'), people.length ? people.map(person) : el('li', {}, el('p', { className: 'empty' }, 'Nobody yet. What no robot can do is offered to people.')))
}

function person(e) {
  const can = (e.capabilities || []).map((c) => words(typeof c === 'string' ? c : Object.keys(c)[0]))
  return el('li', {},
    el('h3', {}, e.name || e.id),
    el('p', {}, el('span', { className: `chip ${e.live ? 'good' : ''}` }, e.live ? 'here' : ['away, last heard ', ago(e.last_seen)]), ' ',
      e.on_hold ? el('span', { className: 'chip warn' }, 'on hold') : null),
    e.on_hold ? el('p', { className: 'meta' }, `is offered nothing: ${e.on_hold}${e.hold ? ` (since ${since(e.hold.at)})` : ''}`) : null,
    el('p', { className: 'meta' }, [can.length ? can.join(', ') : 'anything', e.schedule ? `hours ${e.schedule}` : ''].filter(Boolean).join(' · ')),
    forget.offer(e, me))
}

/** ready sets up the form that invites. */
export function ready(who) {
  me = who
  const f = $('invite')
  f.hidden = !who.roles.includes('operator')
  const error = f.querySelector('.error')
  f.onsubmit = async (e) => {
    e.preventDefault()
    error.textContent = ''
    try {
      const at = $('at').value.trim()
      const found = await page.invite({ name: $('name').value.trim(), at: at || (location.hostname === 'localhost' || location.hostname.startsWith('127.') ? '' : location.origin) })
      fill($('invitation'), el('h3', {}, `For ${$('name').value.trim()}`), invitation(found))
      $('name').value = ''
    } catch (err) {
      error.textContent = err.message
    }
  }
}

function invitation(found) {
  const first = found.links[0]
  const until = since(found.until)
  if (!first) {
    return [el('p', {}, 'This exchange listens on its own machine alone, where no phone reaches it. In a browser here:'),
      el('p', {}, el('a', { href: found.path }, location.origin + found.path)),
      el('p', { className: 'hint' }, `Good once, until ${until}. For phones: messkit run --listen 0.0.0.0:8420 --tls self`)]
  }
  return [el('p', {}, 'Scan this with the phone’s camera:'), dots(found.dots, `code for ${first}`), el('p', {}, el('a', { href: first }, first)),
    el('p', { className: 'hint' }, `Good once, until ${until}.`)]
}
