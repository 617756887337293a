// The page of the human executors and their invitations.

import { page } from './api.js'
import { $, el, fill, refill, toWords } from './dom.js'
import { qrCode } from './qr.js'
import * as deregister from './deregister.js'
import { agoNode, timeText } from './times.js'

let me = null

/** changed shows the people of a new state. */
export function changed(state) {
  const people = state.executors.filter((e) => e.person)
  refill($('persons'), people.length ? people.map(person) : el('li', {}, el('p', { className: 'empty' }, 'No people yet. The exchange offers people the tasks that no robot can do.')))
}

function person(e) {
  const can = (e.capabilities || []).map((c) => toWords(typeof c === 'string' ? c : Object.keys(c)[0]))
  return el('li', {},
    el('h3', {}, e.name || e.id),
    el('p', {}, el('span', { className: `chip ${e.live ? 'good' : ''}` }, e.live ? 'online' : ['offline, last heartbeat ', agoNode(e.last_seen)]), ' ',
      e.on_hold ? el('span', { className: 'chip warn' }, 'drained') : null),
    e.on_hold ? el('p', { className: 'meta' }, `gets no offers: ${e.on_hold}${e.hold ? ` (since ${timeText(e.hold.at)})` : ''}`) : null,
    el('p', { className: 'meta' }, [can.length ? can.join(', ') : 'any task', e.schedule ? `hours ${e.schedule}` : ''].filter(Boolean).join(' · ')),
    deregister.removeControl(e, me))
}

/** ready sets up the invitation form. */
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
      const created = await page.invite({ name: $('name').value.trim(), at: at || (location.hostname === 'localhost' || location.hostname.startsWith('127.') ? '' : location.origin) })
      fill($('invitation'), el('h3', {}, `For ${$('name').value.trim()}`), invitation(created))
      $('name').value = ''
    } catch (err) {
      error.textContent = err.message
    }
  }
}

function invitation(created) {
  const first = created.links[0]
  const until = timeText(created.until)
  if (!first) {
    return [el('p', {}, 'No phone can reach this exchange, because it listens only on this host. Open this link in a browser here:'),
      el('p', {}, el('a', { href: created.path }, location.origin + created.path)),
      el('p', { className: 'hint' }, `Valid once, until ${until}. To let phones connect, run: messkit run --listen 0.0.0.0:8420 --tls self`)]
  }
  return [el('p', {}, 'Scan this code with the camera of the phone:'), qrCode(created.dots, `QR code of ${first}`), el('p', {}, el('a', { href: first }, first)),
    el('p', { className: 'hint' }, `Valid once, until ${until}.`)]
}
