// The Home view: areas with the tiles of their devices.

import { page } from '../api.js'
import { Ask, mayAsk } from '../ask.js'
import { $, taskLink, whenIdle } from '../dom.js'
import { html, render, useEffect, useReducer } from '../html.js'
import { titleText } from '../phrases.js'
import * as stop from '../stop.js'
import * as tasks from '../tasks.js'
import { byName, chooseLanguage, clock, language, languageNames, measure, named, t } from '../text/text.js'
import { reading } from './describe.js'
import { Device } from './device.js'
import { Icon } from './icons.js'
import { mayManage } from './manage.js'
import { Needs, needs } from './needs.js'
import { notify, onChange, store, useStore } from './store.js'
import * as stream from './stream.js'
import { dropTaps, isMine, nextEnd } from './taps.js'
import { hasPicture, isWide, Tile } from './tile.js'

const agesInterval = 60000 // ms
const drawLate = 50 // ms after the end of a result, so that it has ended by every clock

/** matches reports whether a device has all words of the search field in its name or area. */
function matches(d) {
  const text = `${d.name} ${d.area || ''} ${d.class || ''}`.toLowerCase()
  return store.filter.toLowerCase().split(/\s+/).every((word) => text.includes(word))
}

/** isShown reports whether Home has a tile for a device. A search finds the hidden ones, too. */
const isShown = (d) => matches(d) && (!d.hidden || store.hidden || store.filter !== '')

/** areas returns the shown devices by area, in the order of their tiles. Those without an area are last. */
function areas() {
  const map = new Map()
  const all = [...store.devices.values()]
  const found = all.filter(isShown)
  for (const d of found.length || !store.filter ? found : all) map.set(d.area || '', [...(map.get(d.area || '') || []), d])
  for (const list of map.values()) list.sort((a, b) => rank(a) - rank(b) || byName(a.name, b.name))
  const order = (name) => (name ? 0 : 1)
  return [[...map].sort(([a], [b]) => order(a) - order(b) || byName(a, b)), found.length]
}

const maxColumns = 11 // of an area, as in app.css

const rank = (d) => (hasPicture(d) ? 2 : d.verbs.some((v) => v.effect !== 'query') ? 0 : 1) // what acts, then sensors, then cameras

/** Climate shows the temperature and the humidity of an area. */
function Climate({ list }) {
  const [text] = useStore(() => {
    const at = (quantity) => list.map(({ id }) => store.devices.get(id)).map((d) => d && d.class !== 'fridge' && reading(d, quantity)).find(Boolean)
    return [['temperature', 'humidity'].map(at).filter(Boolean).map((r) => measure(r.value, r.unit)).join(' · ')]
  })
  return html`<small>${text}</small>`
}

/** Area shows an area with the tiles of the first devices of its list. */
function Area({ name, list, count }) {
  const columns = list.reduce((n, d) => n + (isWide(d) ? 2 : 1), 0)
  return html`<section class="area n${Math.min(columns, maxColumns)}" aria-label=${name || t('area.none')}>
    <h2>${name || t('area.none')} <${Climate} list=${list} /></h2>
    <ul class="tiles">${list.slice(0, count).map((d) => html`<${Tile} key=${d.id} id=${d.id} />`)}</ul></section>`
}

/** Task is a line of the lists beside the tiles. */
function Task({ x }) {
  return html`<li><a href=${taskLink(x.ref)}>${titleText(x)}</a><p class="meta">${named('status', x.status)} · ${x.executor_id || x.requestor_id} · ${clock(x.updated_at)}</p></li>`
}

function Side() {
  useStore(() => [store.tasks])
  const [now, earlier] = [store.tasks.filter((x) => !tasks.isEnded(x)), store.tasks.filter(tasks.isEnded)]
  const row = (x) => html`<${Task} key=${x.ref} x=${x} />`
  return html`<div class="side"><h2>${t('side.now')}</h2>${now.length ? html`<ul class="tasklist">${now.slice(0, 6).map(row)}</ul>` : html`<p class="empty">${t('side.nothing')}</p>`}
    <h2>${t('side.earlier')}</h2>${earlier.length ? html`<ul class="tasklist">${earlier.slice(0, 8).map(row)}</ul>` : html`<p class="empty">${t('side.none')}</p>`}
    ${mayManage() && html`<p class="links"><a href="#add">${t('add.title')}</a> <a href="#config">${t('config.title')}</a></p>`}
    <label class="language">${t('home.language')}<select onChange=${(e) => chooseLanguage(e.target.value)}>${languageNames.map(([code, name]) => html`<option key=${code} value=${code} selected=${code === language}>${name}</option>`)}</select></label></div>`
}

/** tileOf returns the device whose tile shows the form of a task, because this page has asked for it; else undefined. */
const tileOf = ({ ref }) => (isMine(ref) ? [...store.devices.values()].find((d) => d.task?.ref === ref && isShown(d))?.id : undefined)

/** Hidden shows the hidden devices, or hides them again. */
function Hidden() {
  useStore(() => [store.layout, store.hidden, store.filter])
  const count = [...store.devices.values()].filter((d) => d.hidden).length
  if (!count || store.filter) return null
  const toggle = () => {
    store.hidden = !store.hidden
    notify()
  }
  return html`<p><button type="button" class="plain" id="show-hidden" aria-pressed=${String(store.hidden)} onClick=${toggle}>${t(store.hidden ? 'hidden.hide' : 'hidden.show', { count })}</button></p>`
}

/** Search filters the tiles, and sends its words as a request. */
function Search() {
  const field = { id: 'search-intent', label: t('search.label'), placeholder: t('search.example') }
  const filter = (words) => {
    store.filter = words
    notify()
  }
  return html`<div class="searchrow"><${Ask} form="search" name="search" field=${field} onWords=${filter} />
    ${mayManage() && !store.device && html`<a class="adddevice" href="#add" title=${t('add.title')} aria-label=${t('add.title')}><${Icon} name="plus" /></a>`}</div>`
}

function Home() {
  useStore(() => [store.device, store.shell])
  return html`${!store.shell && mayAsk() && html`<${Search} />`}${store.device ? html`<${Device} id=${store.device} />` : html`<${Overview} />`}`
}

let endTimer = 0

/** drawAtEnd draws a tile again when its result leaves it. */
function drawAtEnd() {
  clearTimeout(endTimer)
  const ms = nextEnd()
  if (ms < Infinity) endTimer = setTimeout(notify, ms + drawLate)
}

const step = 12 // tiles; the window of a phone shows fewer
let count = step // tiles that Home draws: the first ones at once, and the rest while the browser is idle

/** useCount returns how many of all tiles Home draws. It draws more of them when the browser is idle. */
function useCount(all) {
  const [, draw] = useReducer((n) => n + 1, 0)
  useEffect(() => {
    if (all > count) whenIdle(() => {
      count += step
      draw()
    })
  })
  return count
}

function Areas({ list }) {
  let left = useCount(list.reduce((n, [, devices]) => n + devices.length, 0))
  return html`<div class="areas ${store.shell ? 'stale' : ''}">${list.map(([name, devices]) => {
    const some = Math.max(0, left)
    left -= devices.length
    return some > 0 && html`<${Area} key=${name} name=${name} list=${devices} count=${some} />`
  })}</div>`
}

/** Waiting lists what needs somebody. What a tile asks is a line that leads to the tile: the page has one form for it. */
function Waiting() {
  useStore()
  return html`<${Needs} list=${needs().map((one) => (one.thread ? { ...one, tile: tileOf(one.thread) } : one))} />`
}

/** Overview shows all devices. */
function Overview() {
  useStore(() => [store.layout, store.filter, store.hidden, store.read])
  const [list, found] = areas()
  const title = html`<h1 id="home-title" class="sr" tabindex="-1">${t('detail.back')}</h1>`
  if (store.shell) return html`${title}<p class="shell card" role="status">${t('shell.text', { time: clock(store.contact) })}</p><${Areas} list=${list} />`
  return html`${title}<div class="homegrid"><div><${Waiting} />
      ${store.filter && !found ? html`<p class="empty" role="status">${t('home.nothing', { words: store.filter })}</p>` : null}
      ${store.devices.size ? html`<${Areas} list=${list} />` : html`<p class="empty">${t(store.read ? 'home.empty' : 'home.loading')}</p>`}
      <${Hidden} /></div><${Side} /></div>`
}

const signs = { away: 'away', reading: 'home', calls: 'alert', well: 'check' } // the icon of each sign

/** signOf returns the name of the sign for a number of things that need somebody. It says neither that all is well nor a number before the page has read everything. */
function signOf(count) {
  if (!store.live) return 'away'
  if (!store.read || !store.tasksRead || !store.state) return 'reading'
  return count ? 'calls' : 'well'
}

/** drawSign shows the one sign: all well, how many things need somebody, or when the page lost the server. */
function drawSign() {
  const sign = $('sign')
  const count = needs().length
  const name = signOf(count)
  const lost = () => (store.contact ? t('sign.away', { time: clock(store.contact) }) : t('sign.never'))
  const text = { away: lost, reading: () => t('sign.reading'), calls: () => t('sign.needs', { count }), well: () => t('sign.well') }[name]()
  sign.className = `sign ${name}`
  sign.href = count ? '#home/needs' : '#home'
  render(html`<${Icon} name=${signs[name]} /><span>${text}</span>`, sign)
}

let pictureTimer = 0

/** readPictures reads the last pictures, once for several changes. */
function readPictures() {
  clearTimeout(pictureTimer)
  pictureTimer = setTimeout(async () => {
    if (![...store.devices.values()].some(hasPicture)) return
    try {
      store.pictures = (await page.lastImages()).pictures
      notify()
    } catch {
      // the next change reads them
    }
  }, 300)
}

/** begin draws the view and the sign, now and after changes. */
function begin() {
  render(html`<${Home} />`, $('home'))
  for (const draw of [drawSign, drawAtEnd]) {
    onChange(draw)
    draw()
  }
}

/** ready shows the view. */
export function ready(who) {
  store.me = who
  $('sign').hidden = false
  $('sign').addEventListener('click', () => { if (location.hash === '#home/needs') show('', 'needs') })
  begin()
  stop.follow(dropTaps)
  setInterval(() => { // ages grow by the minute
    if (document.hidden) return
    store.minutes++
    notify()
  }, agesInterval)
}

/** showShell shows the stored home. */
export function showShell() {
  $('home').hidden = false
  $('sign').hidden = false
  begin()
}

/** opened notes that the page receives changes. */
export function opened() {
  stream.opened()
  readPictures()
}

export const { changed, closed, contact } = stream

/** threadChanged reads the pictures again after a task that may have made one. */
export function threadChanged(x) {
  if (tasks.isEnded(x) || x.status === 'in_progress') readPictures()
}

/** showNeeds moves the focus to what needs somebody. */
function showNeeds() {
  const at = $('home-needs') || document.querySelector('#home .tile .answers button')
  at?.focus({ preventScroll: true })
  at?.scrollIntoView({ block: 'center' })
}

/** show shows the page of a device, or the tiles. part is the part of the address after #home/. */
export function show(device, part) {
  const moved = device !== store.device
  store.device = device
  notify()
  if (part === 'needs') requestAnimationFrame(showNeeds)
  else if (moved && device) requestAnimationFrame(() => $('home-title')?.focus({ preventScroll: true }))
}
