// The view that adds a device: it searches, asks for a name and an area, and shows the new tile for
// a test.

import { setup } from '../api.js'
import { useAttempt } from '../attempt.js'
import { $ } from '../dom.js'
import { classIcon, Icon } from '../home/icons.js'
import { store, useStore } from '../home/store.js'
import { Tile } from '../home/tile.js'
import { Trial } from '../home/trial.js'
import { html, render, useEffect, useLayoutEffect, useRef, useState } from '../html.js'
import { language, named, t } from '../text/text.js'

const pollInterval = 400 // ms

const plainName = (d) => (d.label || d.same || d.id).replaceAll('-', ' ')
const className = (d) => (d.class ? named('class', d.class) : t('add.device'))

/** Places lists where a search looks. */
function Places({ found }) {
  return html`<ul class="places">${found.places.map((p) => html`<li key=${p.broker}>
    <${Icon} name=${p.error ? 'alert' : p.ended ? 'check' : 'gauge'} />
    <span>${p.broker ? t('add.broker', { address: p.broker }) : t('add.network')}: ${p.error ? t('add.failed', { reason: p.error }) : p.ended ? t('add.found', { count: p.found }) : t('add.looking')}</span></li>`)}</ul>`
}

/** BrokerForm searches at an MQTT broker. */
function BrokerForm({ search, open }) {
  const submit = (e) => {
    e.preventDefault()
    const f = new FormData(e.target)
    search({ broker: f.get('broker').trim(), user: f.get('user').trim(), password: f.get('password') })
  }
  return html`<details class="card" open=${open}><summary>${t('add.mqtt')}</summary><form onSubmit=${submit}>
    <p class="hint">${t('add.mqtthint')}</p>
    <label for="add-broker">${t('add.address')}</label><input id="add-broker" name="broker" required autocomplete="off" placeholder="192.168.1.20" />
    <label for="add-user">${t('add.user')}</label><input id="add-user" name="user" autocomplete="off" />
    <label for="add-password">${t('add.password')}</label><input id="add-password" name="password" type="password" autocomplete="off" />
    <button type="submit" class="plain">${t('add.search')}</button></form></details>`
}

/** NameForm asks for the name and the area of a found device, and adds it. */
function NameForm({ d, areas, added }) {
  const { attempt, busy, error, setError } = useAttempt()
  const name = useRef(null)
  useLayoutEffect(() => name.current.select(), []) // later it would take the focus from another field
  const submit = (e) => {
    e.preventDefault()
    const f = new FormData(e.target)
    return attempt(async () => {
      const result = await setup.add(d.id, f.get('name').trim(), f.get('area').trim())
      if (result.problems?.length) setError(result.problems.map((p) => p.text).join('\n'))
      else added(result)
    })
  }
  return html`<form onSubmit=${submit}>
    <label for="add-name">${t('add.name')}</label><input id="add-name" name="name" ref=${name} required maxlength="60" autocomplete="off" defaultValue=${plainName(d)} />
    <label for="add-area">${t('add.area')}</label><input id="add-area" name="area" maxlength="60" autocomplete="off" list="add-areas" />
    <datalist id="add-areas">${areas.map((a) => html`<option key=${a} value=${a} />`)}</datalist>
    ${areas.length > 0 && html`<div class="chips" role="group" aria-label=${t('add.areas')}>${areas.slice(0, 8).map((a) => html`<button key=${a} type="button" class="chipbutton" onClick=${(e) => { e.currentTarget.form.elements.area.value = a }}>${a}</button>`)}</div>`}
    <button type="submit" aria-disabled=${busy ? 'true' : null}>${t(busy ? 'add.adding' : 'add.add')}</button>
    <p class="error" role="alert">${error}</p></form>`
}

/** Card is a found device. */
function Card({ d, areas, chosen, choose, added }) {
  const free = !d.same && !d.problem
  return html`<li class="card found" data-found=${d.id}>
    <div class="head"><span class="round"><${Icon} name=${classIcon(d.class)} /></span><div><h2>${plainName(d)}</h2><p class="state">${className(d)} · ${d.where}</p></div></div>
    ${d.note && html`<p class="why">${t('add.careful')}</p>`}
    ${d.same && html`<p class="empty">${t('add.here', { device: d.same })}</p>`}
    ${d.problem && html`<p class="empty">${d.problem}</p>`}
    ${free && (chosen ? html`<${NameForm} d=${d} areas=${areas} added=${added} />` : html`<button type="button" aria-label=${t('add.choose', { device: plainName(d) })} onClick=${choose}>${t('add.add')}</button>`)}</li>`
}

/** Added shows the new device with its controls, so that the user can test it. */
function Added({ result, again }) {
  const title = useRef(null)
  useLayoutEffect(() => title.current.focus(), [])
  const d = [...store.devices.values()].find((one) => one.device === result.device && one.executor === store.me.executor)
  return html`<div class="card"><h2 tabindex="-1" ref=${title}>${t('add.done')}</h2>
    ${d ? html`<p>${t(d.verbs.some((v) => v.effect !== 'query') ? 'add.try' : 'add.look')}</p><ul class="tiles single"><${Tile} id=${d.id} /></ul><${Trial} d=${d} now=${true} />` : html`<p class="empty">${t('add.waits')}</p>`}
    ${result.restart.length > 0 && html`<p class="why">${t('add.restart', { keys: result.restart.join('; ') })}</p>`}
    <p class="meta">${result.backup ? t('add.written', { file: result.file, backup: result.backup }) : t('add.began', { file: result.file })}</p>
    <p class="links"><a class="button" href="#home">${t('add.home')}</a> <button type="button" class="plain" onClick=${again}>${t('add.another')}</button></p></div>`
}

/** useSearch searches at the beginning, and returns the findings and the function to search again. */
function useSearch() {
  const [found, setFound] = useState(null)
  const [error, setError] = useState('')
  const search = async (at) => {
    setError('')
    try {
      setFound(await setup.search(at || {}))
    } catch (err) {
      setError(err.message)
      setFound(await setup.found().catch(() => null)) // a search of another page may run
    }
  }
  useEffect(() => { search() }, [])
  useEffect(() => {
    if (!found?.running) return undefined
    const timer = setTimeout(async () => {
      try {
        setFound(await setup.found())
      } catch (err) {
        setError(err.message)
        setFound({ ...found }) // asks again
      }
    }, pollInterval)
    return () => clearTimeout(timer)
  }, [found])
  return [found, error, search]
}

function Add() {
  useStore()
  const [found, error, search] = useSearch()
  const [chosen, choose] = useState('')
  const [result, setResult] = useState(null)
  const again = (at) => {
    choose('')
    setResult(null)
    search(at)
  }
  if (result) return html`<h1 id="add-title" tabindex="-1">${t('add.title')}</h1><${Added} result=${result} again=${() => again()} />`
  const list = found?.devices.toSorted((a, b) => (a.same || a.problem ? 1 : 0) - (b.same || b.problem ? 1 : 0)) || []
  return html`<h1 id="add-title" tabindex="-1">${t('add.title')}</h1>
    <div role="status">${found?.running ? html`<p>${t('add.searching')}</p>` : found && html`<p>${list.length ? t('add.count', { count: list.length }) : t('add.nothing')}</p>`}</div>
    ${found?.running && html`<progress max=${found.takes} value=${Math.min(found.ran, found.takes)} aria-label=${t('add.searching')}></progress>`}
    ${error && html`<p class="error" role="alert">${error}</p>`}
    ${found && html`<${Places} found=${found} />`}
    ${found?.cut && html`<p class="why">${t('add.cut')}</p>`}
    ${found && !found.running && !list.length && html`<p>${t('add.help')}</p>`}
    <ul class="cards grid">${list.map((d) => html`<${Card} key=${d.id} d=${d} areas=${found.areas} chosen=${chosen === d.id} choose=${() => choose(d.id)} added=${setResult} />`)}</ul>
    ${found && !found.running && html`<p><button type="button" class="plain" onClick=${() => again()}>${t('add.again')}</button></p><${BrokerForm} search=${again} open=${!list.length} />`}
    <p><a href="#config">${t('config.title')}</a></p>`
}

/** show draws the view anew. */
export function show() {
  const at = $('add')
  at.lang = language
  render(null, at)
  render(html`<${Add} />`, at)
  $('add-title').focus({ preventScroll: true })
}
