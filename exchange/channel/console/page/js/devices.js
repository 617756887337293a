// The page of devices, executors and capabilities.

import { exchange, resetHint, mayReset, page } from './api.js'
import { $, el, fill, foldedText, refill, toWords } from './dom.js'
import * as deregister from './deregister.js'
import * as hold from './hold.js'
import { codeButton } from './stop.js'
import { agoNode, timeText } from './times.js'

let who = null
let images = []
let state = { executors: [] }

export function ready(me) {
  who = me
}

/** changed takes a new state of the exchange. */
export function changed(s) {
  state = s
  draw()
}

/** load reads the images and the capability catalog, which the stream does not contain. */
export async function load() {
  const [p, c] = await Promise.allSettled([page.lastImages(), exchange.capabilities()])
  if (p.status === 'fulfilled') images = p.value.pictures
  if (c.status === 'fulfilled') drawCapabilities(c.value)
  draw()
}

const operator = () => who.roles.includes('operator')

function draw() {
  if ($('devices').hidden) return
  const here = state.here
  refill($('arming'), here ? arming(here) : null)
  const devices = here?.devices || []
  refill($('local-devices'), devices.length ? devices.map((d) => device(here.executor, d))
    : el('li', {}, el('p', { className: 'empty' }, noDevicesText(here))))
  refill($('executors'), state.executors.filter((e) => !e.person).map((e) => executor(e, e.id === here?.executor)))
  hold.setExecutors(state.executors)
}

/** noDevicesText explains an empty list of devices. */
function noDevicesText(here) {
  const machines = state.executors.filter((e) => !e.person)
  if (!operator()) return 'Only operators can see the state of devices.'
  if (here) return machines.some((e) => e.id === here.executor && e.live) ? `The local executor ${here.executor} has no devices.` : `The local executor ${here.executor} is starting.`
  return machines.length ? 'This exchange has no local executor. The executors below have their own devices.' : 'This exchange has no local executor, and no other executor has registered.'
}

const imageOf = (executor, device) => images.find((p) => p.executor === executor && p.device === device)

function device(owner, d) {
  const p = imageOf(owner, d.name)
  return el('li', {},
    el('div', {},
      el('h3', {}, d.label || toWords(d.name)), ' ', chips(d),
      el('p', { className: 'meta' }, [d.area, toWords(d.class || ''), readTime(d)].filter(Boolean).map(toWords).join(' · ')),
      d.trouble ? el('p', { className: 'error' }, d.trouble) : d.failed ? el('div', { className: 'error' }, foldedText(`failed ${timeText(d.failed.at)}: ${d.failed.why}`)) : null,
      d.locked ? el('p', { className: 'meta' }, `lockout: ${d.locked}`) : null,
      p ? el('a', { href: `#task/${encodeURIComponent(p.ref)}` }, el('img', { className: 'picture', src: exchange.attachment(p.ref, p.name), alt: `the last image of ${toWords(d.name)}`, })) : null,
      p ? el('p', { className: 'meta' }, 'last image ', agoNode(p.at)) : null),
    operator() && (d.locked ? mayReset(who) : d.acts) ? el('button', { type: 'button', className: 'plain', onclick: (e) => changeArming(e.target, { do: d.locked ? 'unlock' : 'lock', what: d.name, why: 'on the page' }), 'aria-label': `${lockoutLabel(d)}: ${toWords(d.name)}` }, lockoutLabel(d)) : null)
}

/** lockoutLabel returns the label of the button. "Lock" next to a door would mean the lock of the door. */
const lockoutLabel = (d) => (d.locked ? 'Release lockout' : 'Lock out')

/** stateTexts returns the last known states of a device. The page never asks a device. */
function stateTexts(d) {
  if (d.doing) return [d.doing]
  const known = (d.seen || []).filter((s) => s.text).map((s) => (s.told ? `command sent: ${s.text}` : s.text))
  return known.length ? known : [d.seen ? 'acted, not read since' : d.reads ? 'not read yet' : '']
}

/** readTime returns the time of the oldest state. */
const readTime = (d) => (d.seen && !d.doing ? `as of ${timeText(d.seen.map((s) => s.as_of).sort()[0])}` : '')

function chips(d) {
  const list = d.started ? stateTexts(d).map((text) => [text, '']) : [['not started', 'warn']]
  if (d.started && d.failed) list.unshift(['last action failed', 'bad'])
  if (d.quarantine) list.push(['quarantine', 'bad'])
  if (d.locked) list.push(['locked out', 'warn'])
  if (d.disarmed) list.push(['disarmed', 'warn'])
  if (d.safety) list.push([`${d.safety} since the stop`, d.safety === 'safe' ? 'good' : 'bad'])
  return list.flatMap(([text, kind]) => (text ? [el('span', { className: `chip ${kind}` }, text), ' '] : []))
}

/** executor returns the card of an executor. The page shows the failing devices of the local one above. */
function executor(e, isLocal) {
  return el('li', {},
    el('h3', {}, e.name || e.id),
    el('p', {}, el('span', { className: `chip ${e.live ? 'good' : 'bad'}` }, e.live ? 'online' : ['offline, last heartbeat ', agoNode(e.last_seen)]), ' ',
      e.stopped ? el('span', { className: 'chip bad' }, 'stopped') : null, ' ',
      e.on_hold ? el('span', { className: 'chip warn' }, 'drained') : null, ' ',
      e.stopping ? el('span', { className: 'chip warn' }, 'has not confirmed a stop') : null),
    e.stopped ? el('p', { className: 'meta' }, e.stopped.why) : null,
    e.on_hold ? el('p', { className: 'meta' }, `takes no new tasks: ${e.on_hold}${e.hold ? ` (since ${timeText(e.hold.at)})` : ''}`) : null,
    e.disarmed ? el('p', { className: 'meta' }, `disarmed: ${typeof e.disarmed === 'string' ? e.disarmed : JSON.stringify(e.disarmed)}`) : null,
    isLocal ? null : (e.failing || []).map((f) => el('div', { className: 'error' }, foldedText(`${toWords(f.device)} failed ${timeText(f.at)}: ${f.why}`))),
    el('p', { className: 'meta' }, `${(e.capabilities || []).length} capabilities${e.schedule ? ` · hours ${e.schedule}` : ''}`),
    deregister.removeControl(e, who))
}

/** arming returns the card of the disarmed risk classes and devices. */
function arming(here) {
  const list = Object.entries(here.disarmed || {})
  const box = el('div', { className: 'card' }, el('h2', {}, list.length ? 'Disarmed' : 'Armed'))
  if (here.unknown) box.append(el('p', { className: 'error' }, here.unknown))
  if (list.length) {
    box.append(el('p', {}, 'These cannot act until an operator has checked the devices on site and arms them:'),
      el('ul', {}, list.map(([what, why]) => el('li', {}, `${toWords(what)}: ${why || 'no reason given'} `,
        mayReset(who) ? el('button', { type: 'button', className: 'plain', onclick: (e) => changeArming(e.target, { do: 'arm', what }) }, `Arm ${toWords(what)}`) : null))))
    if (!mayReset(who)) box.append(el('p', { className: 'hint' }, resetHint(who, 'messkit arm')))
    box.append(codeButton(who, 'messkit arm') || '')
  } else {
    box.append(el('p', {}, here.stopped ? 'All risk classes and devices are armed, but nothing acts until the reset of the stop.' : 'All risk classes and devices are armed.'))
  }
  const what = el('select', { id: 'disarm-what' }, ['', 'comfort', 'appliance', 'access', 'motion', 'irreversible'].map((c) => el('option', { value: c }, c || 'everything')))
  box.append(el('label', { htmlFor: 'disarm-what' }, 'Risk class to disarm'), what,
    el('button', { type: 'button', className: 'plain', onclick: (e) => changeArming(e.target, { do: 'disarm', what: what.value, why: 'on the page' }) }, 'Disarm'))
  return box
}

async function changeArming(button, what) {
  button.disabled = true
  try {
    await page.arm(what)
  } catch (err) {
    button.after(el('p', { className: 'error', role: 'alert' }, err.message))
  }
  button.disabled = false
}

/** drawCapabilities fills the table of capabilities with their executors and areas. */
function drawCapabilities(list) {
  const can = new Map()
  for (const e of state.executors) for (const c of e.capabilities || []) {
    const [id, meta] = typeof c === 'string' ? [c, null] : Object.entries(c)[0]
    can.set(id, [...(can.get(id) || []), meta?.areas?.length ? `${e.name || e.id} (${meta.areas.join(', ')})` : e.name || e.id])
  }
  const rows = list.filter((c) => can.has(c.id)).map((c) => el('tr', {}, el('th', { scope: 'row' }, toWords(c.id), c.description ? el('span', { className: 'about' }, c.description) : null), el('td', {}, can.get(c.id).join('; '))))
  fill($('capabilities'), el('thead', {}, el('tr', {}, ['Capability', 'Executors and areas'].map((h) => el('th', { scope: 'col' }, h)))), el('tbody', {}, rows))
}

