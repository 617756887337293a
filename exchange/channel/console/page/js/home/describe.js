// The words for a device: its state, the age of its values, and its task.

import { said } from '../said.js'
import { age, clock, measure, named, switchText, t } from '../text/text.js'
import { now } from './store.js'
import { isFresh, isUnknown, shownTap } from './taps.js'

const oldAfter = 5 * 60000 // ms after which a value shows its age

/** reading returns a reading of a device, or undefined. */
export const reading = (d, quantity) => d.readings?.find((r) => r.quantity === quantity)

/** shortName returns the name of a device without the name of its area, which stands above it. */
export function shortName(d) {
  const area = `${d.area || ''} `.toLowerCase()
  return area.trim() && d.name.toLowerCase().startsWith(area) ? d.name.slice(area.length) : d.name
}

const values = ['temperature', 'humidity', 'moisture', 'power', 'battery'] // which a tile shows
const covers = new Set(['blind', 'garage-door', 'door', 'window', 'gate', 'valve'])

/** isCover reports whether a device opens and closes. */
export const isCover = (d) => covers.has(d.class) || can(d, 'set-opening') || can(d, 'stop-opening')

/** can returns a verb of a device, or undefined. */
export const can = (d, verb) => d.verbs.find((v) => v.verb === verb)

/** isOn reports whether the last reading of a device is on; null if nobody knows. */
export function isOn(d) {
  const on = reading(d, 'on')
  if (d.state === 'on' || d.state === 'off') return d.state === 'on'
  return on ? on.value > 0 : null
}

function valueText(r) {
  if (r.quantity === 'motion') return t(r.value ? 'motion.yes' : 'motion.no')
  if (r.quantity === 'contact') return t(r.value ? 'contact.closed' : 'contact.open')
  const text = measure(r.value, r.unit)
  return r.estimated ? t('value.estimated', { value: text }) : text
}

/** readingText returns a value for the list of all readings. */
export function readingText(r) {
  if (r.quantity === 'on') return switchText(r.value)
  if (['lock', 'docked', 'working', 'reached'].includes(r.quantity)) return t(r.value ? 'yes' : 'no')
  return r.quantity === 'angle' ? t('control.angle', { value: r.value }) : valueText(r)
}

/** stateText returns the state of a device in words. */
export function stateText(d) {
  const parts = []
  const [level, opening, target, angle] = ['level', 'opening', 'target', 'angle'].map((q) => reading(d, q))
  const state = d.doing || d.state
  const known = state && state !== 'unknown'
  const word = known ? named('state', state) : ''
  if (opening && opening.value > 0 && opening.value < 100) {
    if (known && !['open', 'closed'].includes(state)) parts.push(word)
    parts.push(t('cover.at', { value: valueText(opening) }))
  } else if (level && isOn(d)) parts.push(t('light.at', { state: word || named('state', 'on'), level: measure(level.value, level.unit || '%') }))
  else if (target) parts.push(t('wanted', { value: measure(target.value, target.unit || '°C') }))
  else if (angle) parts.push(readingText(angle))
  else if (known) parts.push(word)
  else if (isOn(d) !== null) parts.push(switchText(isOn(d)))
  for (const q of values) {
    const r = reading(d, q)
    if (r) parts.push(target && q === 'temperature' ? t('now.value', { value: valueText(r) }) : valueText(r))
  }
  for (const q of known ? [] : ['motion', 'contact']) if (reading(d, q)) parts.push(valueText(reading(d, q)))
  for (const r of parts.length ? [] : d.readings || []) parts.push(`${named('quantity', r.quantity)} ${readingText(r)}`)
  if (!parts.length && d.class !== 'camera' && (d.state === 'unknown' || !d.state)) parts.push(d.as_of || !reads(d) ? '' : named('state', 'unknown'))
  return parts.filter(Boolean).join(' · ')
}

const reads = (d) => ['switch-on', 'read-switch', 'read-sensor', 'open', 'lock', 'vacuum-floor'].some((v) => can(d, v))

/** ageText returns the age of an old value, or ''. */
export function ageText(d) {
  if (d.readings?.some((r) => r.commanded)) return t('value.commanded')
  if (!d.as_of || now() - new Date(d.as_of) < oldAfter) return ''
  return t('value.age', { age: age(d.as_of, now()) })
}

/** asks reports whether a verb usually needs a confirmation, so that its button ends with "…". */
export function asks(d, verb) {
  if (verb === 'unlock' || verb === 'lock' || verb === 'vacuum-floor' || verb === 'print-start' || verb === 'print-cancel') return true
  if (/^(drive|turn)-/.test(verb) || verb === 'move-servo') return true
  return verb === 'open' && d.class !== 'blind'
}

/** verbText returns the label of a verb. */
export const verbText = (d, verb) => (asks(d, verb) ? t('asks', { verb: named('verb', verb) }) : named('verb', verb))

const sentence = (text) => (!text || /[.!?]$/.test(text) ? text || '' : `${text}.`)

/** resultText returns the result of an ended task in words. */
export function resultText(r) {
  const verb = named('verb', r.verb)
  const reason = sentence(said(r.reason))
  if (isUnknown(r)) return t('end.unknown', { verb, reason })
  if (r.status === 'completed') return r.evidence ? t('end.completed', { verb, evidence: named('evidence', r.evidence) }) : t('end.plain', { verb })
  const key = { partial: 'end.partial', failed: 'end.failed', declined: 'end.declined', cancelled: 'end.cancelled', expired: 'end.expired' }[r.status]
  return key ? t(key, { verb, reason }) : `${named('status', r.status)}: ${verb}. ${reason}`
}

const taskKeys = new Set(['pending', 'claimed', 'in_progress', 'needs_confirmation', 'needs_input', 'held', 'waiting', 'retrying'])

/** note returns what happens to a device: {text, kind, ref}, or null. kind is busy, good, bad, warn. */
export function note(d) {
  const tap = shownTap(d)
  const tapped = tap && named('verb', tap.verb)
  if (tap?.phase === 'sending') return { text: t('tap.sending', { verb: tapped }), kind: 'busy' }
  if (tap?.phase === 'doubt') return { text: t('tap.doubt', { verb: tapped }), kind: 'warn' }
  if (tap?.phase === 'lost') return { text: t('tap.lost', { verb: tapped }), kind: 'warn' }
  if (tap?.phase === 'unsent') return { text: t('tap.unsent', { verb: tapped }), kind: 'bad' }
  if (tap?.phase === 'refused') return { text: t('tap.refused', { reason: said(tap.reason) }), kind: 'bad' }
  if (d.task) {
    const key = `task.${taskKeys.has(d.task.status) ? d.task.status : 'in_progress'}`
    return { text: t(key, { verb: d.task.verb ? named('verb', d.task.verb) : t('task.someone') }), kind: d.task.status.startsWith('needs') ? 'warn' : 'busy', ref: d.task.ref, status: d.task.status }
  }
  if (tap?.phase === 'sent') return { text: t('tap.sent', { verb: tapped }), kind: 'busy', ref: tap.ref }
  const last = d.last
  if (!last) return null
  const good = last.status === 'completed'
  if (good ? !isFresh(last) : last.status === 'cancelled' && !isFresh(last)) return null
  return { text: isFresh(last) ? resultText(last) : `${resultText(last)} (${clock(last.at)})`, kind: good ? 'good' : isUnknown(last) ? 'warn' : last.status === 'cancelled' ? '' : 'bad', ref: last.ref }
}
