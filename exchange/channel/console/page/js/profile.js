// What a person can do, and when. What she does not change is not sent: it may have
// been set elsewhere, in words that this page has no boxes for.

import { exchange } from './api.js'
import { $, el, fill, words } from './dom.js'

const usual = ['take-photo', 'check-visual', 'look', 'water-plants', 'open', 'close', 'fetch', 'repair']
const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const cron = /^0 (\d+)-(\d+)(?:,0-(\d+))? \* \* ([\d,*]+)$/ // over midnight in two parts

const idOf = (c) => (typeof c === 'string' ? c : Object.keys(c)[0])

const mine = async (who) => (await exchange.executors()).find((e) => e.id === who.actor) || { capabilities: [] }

/** line is what hours of the page are as a schedule. */
const line = (from, to, on) => `0 ${from < to ? `${from}-${to}` : `${from}-23,0-${to}`} * * ${on.length === 7 ? '*' : on.join(',')}`

/** hoursOf reads when somebody is to be had: {limited, from, to, on}; null if the page would not say it in the same words. */
function hoursOf(me) {
  const all = [0, 1, 2, 3, 4, 5, 6]
  if (!me.availability || me.availability === 'always') return { limited: false, from: 8, to: 21, on: all }
  const set = cron.exec(me.availability === 'schedule' ? me.schedule : '')
  if (!set) return null
  const found = { limited: true, from: Number(set[1]), to: Number(set[3] ?? set[2]), on: set[4] === '*' ? all : set[4].split(',').map(Number) }
  return line(found.from, found.to, found.on) === me.schedule ? found : null
}

/** ready shows what is set, and saves what is changed. */
export async function ready(who) {
  const [me, catalogue] = await Promise.all([mine(who), exchange.capabilities().catch(() => [])])
  const about = new Map(catalogue.map((c) => [c.id, c.description]))
  const has = me.capabilities.map(idOf)
  const name = me.display_name || who.actor
  who.name = name
  $('hello').textContent = me.display_name ? `Tasks for ${me.display_name}` : 'Tasks for you'
  $('who').value = name
  const boxes = [...new Set([...usual, ...has])].map((c) => el('input', { type: 'checkbox', value: c, checked: has.includes(c) }))
  fill($('abilities'), boxes.map((b) => el('label', { className: 'check' }, b, about.get(b.value) || words(b.value))))
  if (!has.length) $('setup').open = true

  const set = hoursOf(me)
  const shown = set || hoursOf({})
  const week = days.map((d, i) => el('input', { type: 'checkbox', value: String(i), checked: shown.on.includes(i) }))
  fill($('days'), week.map((b, i) => el('label', { className: 'check' }, b, days[i])))
  ;[$('from').value, $('to').value, $('limited').checked] = [shown.from, shown.to, shown.limited]
  $('foreign').hidden = Boolean(set)
  $('foreign-line').textContent = me.availability === 'schedule' ? me.schedule : words(me.availability || '')
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
    const hours = limited ? { availability: 'schedule', schedule: line(from, to, on) } : { availability: 'always' }
    const was = !set ? '' : set.limited ? line(set.from, set.to, set.on) : 'always'
    if (timed && (hours.schedule || 'always') !== was) Object.assign(profile, hours)
    const gone = boxes.filter((b) => !b.checked && has.includes(b.value)).map((b) => b.value)
    const come = [...boxes.filter((b) => b.checked && !has.includes(b.value)).map((b) => b.value), ...more]
    try {
      if (gone.length || come.length) profile.capabilities = merged((await mine(who)).capabilities, gone, come)
      await exchange.profile(who.actor, profile)
      $('more').value = ''
      await ready(who)
      $('saved').textContent = 'Saved.'
    } catch (err) {
      form.querySelector('.error').textContent = err.message
    }
  }
}

/** merged is what somebody can do now, with what is said of it, without some and with others. */
function merged(now, gone, come) {
  const stay = now.filter((c) => !gone.includes(idOf(c)))
  return [...stay, ...[...new Set(come)].filter((c) => !stay.some((s) => idOf(s) === c))]
}
