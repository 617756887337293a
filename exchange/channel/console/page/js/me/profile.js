// The abilities and hours of a person. The page sends only changes: another program may have
// set values that this form cannot show.

import { Unreachable, exchange } from '../api.js'
import { $, clean, toWords } from '../dom.js'
import { notify, store } from '../home/store.js'
import { html, useEffect, useRef, useState } from '../html.js'
import { Problem } from '../parts.js'
import { named, t, weekdays } from '../text/text.js'

const commonAbilities = ['take-photo', 'check-visual', 'look', 'water-plants', 'open', 'close', 'fetch', 'repair']
const cron = /^0 (\d+)-(\d+)(?:,0-(\d+))? \* \* ([\d,*]+)$/ // hours over midnight have two parts
const retryDelay = 5000 // ms

const idOf = (c) => (typeof c === 'string' ? c : Object.keys(c)[0])

const ownExecutor = async () => (await exchange.executors()).find((e) => e.id === store.me.actor) || { capabilities: [] }

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

/** Profile reads the profile of the person, and shows its form. It tries again while the exchange is unreachable. */
export function Profile() {
  const [read, setRead] = useState(null) // {me, about, number}
  const [saved, setSaved] = useState(false)
  const [error, setError] = useState(null)
  const load = async () => {
    try {
      const [me, catalog] = await Promise.all([ownExecutor(), exchange.capabilities().catch(() => [])])
      setRead((last) => ({ me, about: new Map(clean(catalog).map((c) => [c.id, c.description])), number: (last?.number || 0) + 1 }))
      store.me.name = me.display_name || store.me.actor
      if (!me.capabilities.length) $('setup').open = true
      setError(null)
      notify()
    } catch (err) {
      setError(err)
      if (err instanceof Unreachable) setTimeout(load, retryDelay)
    }
  }
  useEffect(() => { load() }, [])
  const save = async (profile) => {
    await exchange.profile(store.me.actor, profile)
    await load()
    setSaved(true)
  }
  return html`${read && html`<${Form} key=${read.number} me=${read.me} about=${read.about} save=${save} begin=${() => setSaved(false)} />`}
    <p class="meta" role="status" id="saved">${saved ? t('manage.saved') : ''}</p><${Problem} error=${error} />`
}

function Form({ me, about, save, begin }) {
  const has = me.capabilities.map(idOf)
  const set = hoursOf(me)
  const [hours, setHours] = useState(set || hoursOf({}))
  const [replaces, setReplaces] = useState(false)
  const [error, setError] = useState(null)
  const form = useRef(null)
  const change = (part) => setHours((now) => ({ ...now, ...part }))
  const timed = set || replaces
  const submit = async (e) => {
    e.preventDefault()
    begin()
    setError(null)
    if (timed && hours.limited && (!hours.on.length || hours.from === hours.to)) return setError(t('profile.hours'))
    const { who, more } = form.current.elements
    const checked = [...form.current.querySelectorAll('#abilities input:checked')].map((b) => b.value)
    const written = more.value.split(',').map((c) => c.trim().toLowerCase().replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-|-$/g, '')).filter(Boolean)
    const profile = {}
    if (who.value.trim() !== store.me.name) profile.display_name = who.value.trim()
    const next = hours.limited ? { availability: 'schedule', schedule: cronOf(hours.from, hours.to, hours.on) } : { availability: 'always' }
    const was = !set ? '' : set.limited ? cronOf(set.from, set.to, set.on) : 'always'
    if (timed && (next.schedule || 'always') !== was) Object.assign(profile, next)
    const removed = has.filter((c) => !checked.includes(c))
    const added = [...checked.filter((c) => !has.includes(c)), ...written]
    try {
      if (removed.length || added.length) profile.capabilities = mergeCapabilities((await ownExecutor()).capabilities, removed, added)
      await save(profile)
    } catch (err) {
      setError(err)
    }
  }
  const day = (i) => html`<label class="check"><input type="checkbox" value=${i} checked=${hours.on.includes(i)} onChange=${(e) => change({ on: e.target.checked ? [...hours.on, i].sort((a, b) => a - b) : hours.on.filter((d) => d !== i) })} />${weekdays()[i]}</label>`
  const hour = (id) => html`<label for=${id}>${t(`profile.${id}`)}</label><input id=${id} type="number" min="0" max="23" value=${hours[id]} onInput=${(e) => change({ [id]: Number(e.target.value) })} />`
  return html`<form id="profile" ref=${form} onSubmit=${submit}><label for="who">${t('invite.name')}</label><input id="who" maxlength="60" required defaultValue=${store.me.name} />
    <fieldset class="answers"><legend>${t('profile.abilities')}</legend><div id="abilities">${[...new Set([...commonAbilities, ...has])].map((c) => html`<label class="check"><input type="checkbox" value=${c} defaultChecked=${has.includes(c)} />${named('ability', c, '') || about.get(c) || toWords(c)}</label>`)}</div></fieldset>
    <label for="more">${t('profile.more')}</label><input id="more" autocomplete="off" placeholder="water-plants, feed-cat" />
    <div id="foreign" hidden=${Boolean(set)}><p>${t('profile.foreign')} <code id="foreign-line">${me.availability === 'schedule' ? me.schedule : toWords(me.availability || '')}</code></p>
      <label class="check"><input type="checkbox" id="replace" checked=${replaces} onChange=${(e) => setReplaces(e.target.checked)} /> ${t('profile.replace')}</label></div>
    <label class="check" id="limited-box" hidden=${!timed}><input type="checkbox" id="limited" checked=${hours.limited} onChange=${(e) => change({ limited: e.target.checked })} /> ${t('profile.limited')}</label>
    <div id="hours" hidden=${!timed || !hours.limited}>${hour('from')}${hour('to')}<p class="hint">${t('profile.midnight')}</p>
      <fieldset class="answers"><legend>${t('profile.days')}</legend><div id="days" class="choices">${weekdays().map((_, i) => day(i))}</div></fieldset></div>
    <button type="submit">${t('manage.save')}</button><${Problem} error=${error} /></form>`
}

/** mergeCapabilities removes and adds capabilities, and keeps the metadata of the others. */
function mergeCapabilities(now, removed, added) {
  const stay = now.filter((c) => !removed.includes(idOf(c)))
  return [...stay, ...[...new Set(added)].filter((c) => !stay.some((s) => idOf(s) === c))]
}
