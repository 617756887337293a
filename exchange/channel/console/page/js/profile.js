// The abilities and hours of a person. The page sends only changes: another program may have
// set values that this form cannot show.

import { exchange } from './api.js'
import { $, el, fill, toWords } from './dom.js'

const commonAbilities = ['take-photo', 'check-visual', 'look', 'water-plants', 'open', 'close', 'fetch', 'repair']
const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const cron = /^0 (\d+)-(\d+)(?:,0-(\d+))? \* \* ([\d,*]+)$/ // hours over midnight have two parts

const idOf = (c) => (typeof c === 'string' ? c : Object.keys(c)[0])

const ownExecutor = async (who) => (await exchange.executors()).find((e) => e.id === who.actor) || { capabilities: [] }

/** cronOf returns hours and days as a schedule. */
const cronOf = (from, to, on) => `0 ${from < to ? `${from}-${to}` : `${from}-23,0-${to}`} * * ${on.length === 7 ? '*' : on.join(',')}`

/** hoursOf parses the availability of a person: {limited, from, to, on}. It returns null if the form cannot represent it exactly. */
function hoursOf(me) {
  const all = [0, 1, 2, 3, 4, 5, 6]
  if (!me.availability || me.availability === 'always') return { limited: false, from: 8, to: 21, on: all }
  const set = cron.exec(me.availability === 'schedule' ? me.schedule : '')
  if (!set) return null
  const found = { limited: true, from: Number(set[1]), to: Number(set[3] ?? set[2]), on: set[4] === '*' ? all : set[4].split(',').map(Number) }
  return cronOf(found.from, found.to, found.on) === me.schedule ? found : null
}

/** ready fills the form and sets up saving. */
export async function ready(who) {
  const [me, catalogue] = await Promise.all([ownExecutor(who), exchange.capabilities().catch(() => [])])
  const about = new Map(catalogue.map((c) => [c.id, c.description]))
  const has = me.capabilities.map(idOf)
  const name = me.display_name || who.actor
  who.name = name
  $('hello').textContent = me.display_name ? `Tasks for ${me.display_name}` : 'Tasks for you'
  $('who').value = name
  const boxes = [...new Set([...commonAbilities, ...has])].map((c) => el('input', { type: 'checkbox', value: c, checked: has.includes(c) }))
  fill($('abilities'), boxes.map((b) => el('label', { className: 'check' }, b, about.get(b.value) || toWords(b.value))))
  if (!has.length) $('setup').open = true

  const set = hoursOf(me)
  const shown = set || hoursOf({})
  const week = days.map((d, i) => el('input', { type: 'checkbox', value: String(i), checked: shown.on.includes(i) }))
  fill($('days'), week.map((b, i) => el('label', { className: 'check' }, b, days[i])))
  ;[$('from').value, $('to').value, $('limited').checked] = [shown.from, shown.to, shown.limited]
  $('foreign').hidden = Boolean(set)
  $('foreign-line').textContent = me.availability === 'schedule' ? me.schedule : toWords(me.availability || '')
  $('replace').checked = false
  const boxesOfHours = () => {
    const stays = !set && !$('replace').checked
    $('limited-box').hidden = stays
    $('hours').hidden = stays || !$('limited').checked
  }
  $('limited').onchange = boxesOfHours
  $('replace').onchange = boxesOfHours
  boxesOfHours()

  const form = $('profile')
  form.hidden = false
  form.onsubmit = async (e) => {
    e.preventDefault()
    form.querySelector('.error').textContent = ''
    $('saved').textContent = ''
    const more = $('more').value.split(',').map((c) => c.trim().toLowerCase().replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-|-$/g, '')).filter(Boolean)
    const on = week.filter((b) => b.checked).map((b) => Number(b.value))
    const [from, to, limited] = [Number($('from').value), Number($('to').value), $('limited').checked]
    const timed = set || $('replace').checked
    if (timed && limited && (!on.length || from === to)) {
      form.querySelector('.error').textContent = 'Choose at least one day, and two different hours.'
      return
    }
    const profile = {}
    if ($('who').value.trim() !== name) profile.display_name = $('who').value.trim()
    const hours = limited ? { availability: 'schedule', schedule: cronOf(from, to, on) } : { availability: 'always' }
    const was = !set ? '' : set.limited ? cronOf(set.from, set.to, set.on) : 'always'
    if (timed && (hours.schedule || 'always') !== was) Object.assign(profile, hours)
    const removed = boxes.filter((b) => !b.checked && has.includes(b.value)).map((b) => b.value)
    const added = [...boxes.filter((b) => b.checked && !has.includes(b.value)).map((b) => b.value), ...more]
    try {
      if (removed.length || added.length) profile.capabilities = mergeCapabilities((await ownExecutor(who)).capabilities, removed, added)
      await exchange.profile(who.actor, profile)
      $('more').value = ''
      await ready(who)
      $('saved').textContent = 'Saved.'
    } catch (err) {
      form.querySelector('.error').textContent = err.message
    }
  }
}

/** mergeCapabilities removes and adds capabilities, and keeps the metadata of the others. */
function mergeCapabilities(now, removed, added) {
  const stay = now.filter((c) => !removed.includes(idOf(c)))
  return [...stay, ...[...new Set(added)].filter((c) => !stay.some((s) => idOf(s) === c))]
}
