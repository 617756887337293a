// The page of one device: all its verbs and readings, its limits, and its last tasks.

import { home } from '../api.js'
import { clean, taskLink } from '../dom.js'
import { html, useEffect, useState } from '../html.js'
import { titleText } from '../phrases.js'
import { clock, measure, named, t } from '../text/text.js'
import { AllControls } from './controls.js'
import { ageText, readingText, resultText, stateText } from './describe.js'
import { chooseDevice } from '../tasks/device.js'
import { History } from './history.js'
import { classIcon, Icon } from './icons.js'
import { Lazy } from './lazy.js'
import { LivePicture } from './live.js'
import { Manage, mayManage } from './manage.js'
import { mayOperate, store, useStore } from './store.js'
import { hasPicture, Note, Trouble } from './tile.js'

const limitUnits = { temperature: '°C', kelvin: 'K', angle: '°' }

function About({ d, children }) {
  const limits = Object.entries(d.limits || {}).map(([name, r]) => t('detail.range', { name: named('quantity', name), min: measure(r.min, limitUnits[name]), max: measure(r.max, limitUnits[name]) }))
  const rows = [['detail.area', d.area], ['detail.class', d.class && named('class', d.class)], ['detail.address', d.device], ['detail.executor', store.executors.get(d.executor)?.name || d.executor], ['detail.limits', limits.join(', ')], ['detail.places', d.places?.join(', ')]]
  return html`<dl>${rows.filter(([, v]) => v).map(([key, v]) => html`<dt>${t(key)}</dt><dd>${v}</dd>`)}${children}</dl>`
}

function Readings({ d }) {
  if (!d.readings?.length) return html`<p class="empty">${t('value.never')}</p>`
  return html`<dl>${d.readings.map((r) => html`<dt>${named('quantity', r.quantity)}</dt>
    <dd>${readingText(r)} <span class="meta">${r.commanded ? t('value.commanded') : r.as_of ? `${t('detail.read')} ${clock(r.as_of)}` : ''}</span></dd>`)}</dl>`
}

/** Tasks are the last tasks of a device. They are read again after each change of its task. */
function Tasks({ d }) {
  const [list, setList] = useState(null)
  const [error, setError] = useState('')
  const changes = `${d.task?.ref} ${d.task?.status} ${d.last?.ref}`
  useEffect(() => {
    let isOver = false
    const take = (tasks, text) => {
      if (isOver) return
      if (tasks) setList(tasks)
      setError(text)
    }
    home.tasks(d.id).then((tasks) => take(clean(tasks), ''), (err) => take(null, err.message))
    return () => { isOver = true }
  }, [d.id, changes, store.live])
  if (!list) return html`<p class=${error ? 'error' : 'empty'}>${error || t('home.loading')}</p>`
  return html`${list.length ? html`<ul class="tasklist">${list.map((r) => html`<li key=${r.ref}>${r.ref ? html`<a href=${taskLink(r.ref)}>${titleText(r)}</a>` : titleText(r)}<p class="meta">${resultText(r)} · ${clock(r.at)}</p></li>`)}</ul>`
    : html`<p class="empty">${t('detail.notasks')}</p>`}<p><a href="#tasks" onClick=${() => chooseDevice(d.id)}>${t('detail.alltasks')}</a></p>`
}

/** Device is the page of one device. */
export function Device({ id }) {
  useStore()
  const d = store.devices.get(id)
  const back = html`<p class="backhome"><a href="#home"><${Icon} name="left" />${t('detail.back')}</a></p>`
  if (!d) return html`${back}<h1 id="home-title" tabindex="-1">${id}</h1><p>${store.read ? t('detail.gone', { device: id }) : t('home.loading')}</p>`
  const text = [stateText(d), ageText(d)].filter(Boolean).join(' · ')
  return html`${back}<div class="device" data-device=${d.id}>
    <div class="head"><span class="round"><${Icon} name=${classIcon(d.class)} /></span><div><h1 id="home-title" tabindex="-1">${d.name}</h1><p class="state">${text}</p></div></div>
    <${Trouble} d=${d} /><${Note} d=${d} />
    <div class="panels">
      ${hasPicture(d) && html`<section class="card"><${LivePicture} d=${d} /></section>`}
      <section class="card"><h2>${t('detail.operate')}</h2>${mayOperate() ? html`<${AllControls} d=${d} />` : html`<p class="empty">${t('detail.noright')}</p>`}</section>
      ${(d.readings?.length > 0 || !hasPicture(d)) && html`<section class="card"><h2>${t('detail.readings')}</h2><${Readings} d=${d} /></section>`}
      ${d.readings?.length > 0 && store.me?.role !== 'guest' && html`<section class="card"><h2>${t('history.title')}</h2><${History} d=${d} /></section>`}
      ${store.me?.role !== 'guest' && html`<section class="card"><h2>${t('detail.tasks')}</h2><${Tasks} d=${d} /></section>`}
      <section class="card"><h2>${t('detail.about')}</h2><${About} d=${d}>${mayManage(d) && html`<${Lazy} key=${d.id} quiet=${true} load=${() => import('./edit.js').then((m) => m.Driver)} d=${d} />`}<//></section>
      ${mayManage(d) && html`<section class="card"><h2>${t('trial.title')}</h2><${Lazy} key=${d.id} load=${() => import('./trial.js').then((m) => m.Trial)} d=${d} /></section>
        <section class="card"><h2>${t('manage.title')}</h2><${Manage} key=${d.id} d=${d} /></section>
        <section class="card"><h2>${t('edit.title')}</h2><${Lazy} key=${d.id} load=${() => import('./edit.js').then((m) => m.Edit)} d=${d} /></section>`}
    </div></div>`
}
