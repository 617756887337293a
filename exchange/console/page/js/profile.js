// What a person can do, and when.

import { exchange } from './api.js'
import { $, el, fill, words } from './dom.js'

const usual = ['take-photo', 'check-visual', 'look', 'water-plants', 'open', 'close', 'fetch', 'repair']
const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const cron = /^0 (\d+)-(\d+)(?:,0-(\d+))? \* \* ([\d,*]+)$/ // over midnight in two parts

const idOf = (c) => (typeof c === 'string' ? c : Object.keys(c)[0])

/** ready shows what is set, and saves what is changed. */
export async function ready(who) {
  const me = (await exchange.executors()).find((e) => e.id === who.actor) || { capabilities: [] }
  const has = me.capabilities.map(idOf)
  $('hello').textContent = me.display_name ? `Tasks for ${me.display_name}` : 'Tasks for you'
  $('who').value = me.display_name || who.actor
  const boxes = [...new Set([...usual, ...has])].map((c) => el('input', { type: 'checkbox', value: c, checked: has.includes(c) }))
  fill($('abilities'), boxes.map((b) => el('label', { className: 'check' }, b, words(b.value))))
  const set = cron.exec(me.availability === 'schedule' ? me.schedule : '')
  const on = set && set[4] !== '*' ? set[4].split(',').map(Number) : [0, 1, 2, 3, 4, 5, 6]
  const week = days.map((d, i) => el('input', { type: 'checkbox', value: String(i), checked: on.includes(i) }))
  fill($('days'), week.map((b, i) => el('label', { className: 'check' }, b, days[i])))
  if (set) [$('from').value, $('to').value] = [set[1], set[3] ?? set[2]]
  $('limited').checked = Boolean(set)
  $('hours').hidden = !set
  $('limited').onchange = () => { $('hours').hidden = !$('limited').checked }
  if (!has.length) $('setup').open = true

  const form = $('profile')
  form.onsubmit = async (e) => {
    e.preventDefault()
    form.querySelector('.error').textContent = ''
    $('saved').textContent = ''
    const more = $('more').value.split(',').map((c) => c.trim().toLowerCase().replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-|-$/g, '')).filter(Boolean)
    const chosen = week.filter((b) => b.checked).map((b) => b.value)
    const [from, to] = [Number($('from').value), Number($('to').value)]
    if ($('limited').checked && (!chosen.length || from === to)) {
      form.querySelector('.error').textContent = 'Choose a day, and two hours.'
      return
    }
    const profile = { display_name: $('who').value.trim(), capabilities: [...new Set([...boxes.filter((b) => b.checked).map((b) => b.value), ...more])] }
    if ($('limited').checked) Object.assign(profile, { availability: 'schedule', schedule: `0 ${from < to ? `${from}-${to}` : `${from}-23,0-${to}`} * * ${chosen.length === 7 ? '*' : chosen.join(',')}` })
    else profile.availability = 'always'
    const url = $('hook').value.trim()
    if (url) profile.notifications = [{ type: new URL(url).hostname.includes('ntfy') ? 'ntfy' : 'webhook', url }]
    try {
      await exchange.profile(who.actor, profile)
      $('more').value = ''
      await ready(who)
      $('saved').textContent = 'Saved.'
    } catch (err) {
      form.querySelector('.error').textContent = err.message
    }
  }
}
