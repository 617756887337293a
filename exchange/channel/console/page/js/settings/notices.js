// The notices of this user while no page is open: push messages of this browser, addresses of ntfy
// and webhooks, a test, and quiet hours.

import { page } from '../api.js'
import { clean } from '../dom.js'
import { html, render, useEffect, useState } from '../html.js'
import { Dots } from '../qr.js'
import { clock, language, languageNames, t } from '../text/text.js'
import { obstacle, subscribed, turnOff, turnOn } from './push.js'

const quietDefault = { enabled: false, start: '22:00', end: '07:00' }

function Push({ push, act }) {
  const [isOn, setOn] = useState(false)
  useEffect(() => { subscribed().then((is) => setOn(is && push.here), () => setOn(false)) }, [push])
  const why = obstacle()
  return html`<h3>${t('push.title')}</h3>
    ${why ? html`<p id="push-needs">${t(`push.${why}`)}</p>` : html`<p role="status" id="push-state">${isOn ? t('push.on') : t('push.off')}</p>
      <button type="button" id="push-switch" class="plain" onClick=${() => act(isOn ? turnOff : () => turnOn(push.key))}>${isOn ? t('push.turnoff') : t('push.turnon')}</button>`}
    <details><summary>${t('push.needs')}</summary><ul><li>${t('push.secure')}</li><li>${t('push.apple')}</li><li>${t('push.internet')}</li></ul></details>
    ${push.authority && html`<details id="authority"><summary>${t('trust.title')}</summary><${Trust} authority=${push.authority} /></details>`}`
}

/** Trust leads through the installation of the authority of the exchange on a phone. */
function Trust({ authority: { link, dots, fingerprint } }) {
  if (!link) return html`<p>${t('trust.local')} <code>messkit run --listen 0.0.0.0:8420 --tls self</code></p>`
  return html`<ol><li>${t('trust.scan')}${dots && html`<${Dots} rows=${dots} label=${t('trust.code')} />`}<p><a href=${link} download>${link}</a></p></li>
    <li>${t('trust.compare')}<p><code>${fingerprint}</code></p></li>
    <li>${t('trust.android')}</li><li>${t('trust.apple')}</li><li>${t('trust.open')} <code>${new URL(link).origin}</code></li></ol>
    <p class="hint">${t('trust.limits')}</p>`
}

function Address({ n, act }) {
  const url = typeof n.url === 'string' ? n.url : ''
  const kind = ['ntfy', 'webhook'].includes(n.type) ? t(`hook.${n.type}`) : t('hook.other', { type: n.type || '?' })
  return html`<li><p><strong>${kind}</strong>${url && `: ${url}`}</p>
    ${url && html`<button type="button" class="plain" aria-label=${t('hook.remove_of', { address: url })} onClick=${() => act(() => page.notifications({ do: 'remove', url }))}>${t('hook.remove')}</button>`}</li>`
}

function Addresses({ list, act }) {
  const [url, setURL] = useState('')
  const [type, setType] = useState('ntfy')
  const add = async (e) => {
    e.preventDefault()
    if (await act(() => page.notifications({ do: 'add', type, url: url.trim(), language }))) setURL('')
  }
  return html`<h3>${t('hook.title')}</h3><p class="hint">${t('hook.about')}</p>
    <ul class="cards" id="hooks">${list.length ? list.map((n) => html`<${Address} key=${n.url} n=${n} act=${act} />`) : html`<li><p class="empty">${t('hook.none')}</p></li>`}</ul>
    <form id="notice" onSubmit=${add}><label for="hook">${t('hook.address')}</label>
      <input id="hook" type="url" autocomplete="off" maxlength="1000" placeholder="https://ntfy.sh/my-topic" required value=${url} onInput=${(e) => setURL(e.target.value)} />
      <label for="hook-kind">${t('hook.kind')}</label><select id="hook-kind" onChange=${(e) => setType(e.target.value)}>${['ntfy', 'webhook'].map((k) => html`<option key=${k} value=${k} selected=${k === type}>${t(`hook.${k}`)}</option>`)}</select>
      <button type="submit" class="plain">${t('hook.add')}</button></form>`
}

/** Language chooses the language of the notices that go to addresses. */
function Language({ preferences, act }) {
  const chosen = preferences?.language || 'en'
  return html`<label for="notice-language">${t('hook.language')}</label><select id="notice-language" onChange=${(e) => act(() => page.notifications({ do: 'language', language: e.target.value }))}>${languageNames.map(([code, name]) => html`<option key=${code} value=${code} lang=${code} selected=${code === chosen}>${name}</option>`)}</select>`
}

const states = { delivered: 'good', waiting: 'warn' }

function Result({ e, isNew }) {
  const state = e.state === 'delivered' || e.state === 'waiting' ? e.state : 'failed'
  const what = isNew || e.event_type === 'test' ? t('result.test') : t('result.last')
  const to = e.to || t('result.somewhere')
  return html`<li><span class="chip ${states[state] || 'bad'}">${t(`result.${state}`)}</span> ${what} ${isNew ? '' : `(${clock(e.at)}) `}${t('result.to', { address: to })}${state !== 'delivered' && e.error ? `: ${e.error}` : ''}</li>`
}

function Quiet({ preferences, act }) {
  const [quiet, setQuiet] = useState({ ...quietDefault, ...preferences?.quiet_hours })
  const [saved, setSaved] = useState(false)
  const set = (change) => {
    setQuiet({ ...quiet, ...change })
    setSaved(false)
  }
  const save = async (e) => {
    e.preventDefault()
    setSaved(await act(() => page.notifications({ do: 'quiet', quiet })))
  }
  return html`<form id="quiet" onSubmit=${save}><h3>${t('quiet.title')}</h3><p class="hint">${t('quiet.about')}</p>
    <label class="check"><input id="quiet-on" type="checkbox" checked=${quiet.enabled} onChange=${(e) => set({ enabled: e.target.checked })} />${t('quiet.on')}</label>
    <div class="pair"><div><label for="quiet-start">${t('quiet.from')}</label><input id="quiet-start" type="time" required value=${quiet.start} onInput=${(e) => set({ start: e.target.value })} /></div>
    <div><label for="quiet-end">${t('quiet.to')}</label><input id="quiet-end" type="time" required value=${quiet.end} onInput=${(e) => set({ end: e.target.value })} /></div></div>
    <button type="submit" class="plain">${t('quiet.save')}</button><p class="meta" role="status">${saved ? t('quiet.saved') : ''}</p></form>`
}

/** Notices is the card of the notices of this user. */
export function Notices() {
  const [read, setRead] = useState(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const act = async (call) => {
    setBusy(true)
    try {
      setRead(clean(await call()))
      setError('')
      return true
    } catch (err) {
      setError(err.message)
      return false
    } finally {
      setBusy(false)
    }
  }
  useEffect(() => { act(page.notifications) }, [])
  const results = read && (read.tried || (read.log || []).slice(0, 1))
  return html`<section class="card" id="notice-settings" aria-busy=${busy}><h2>${t('hook.heading')}</h2><p class="error" role="alert">${error}</p>
    ${read?.push && html`<${Push} push=${read.push} act=${act} />`}
    ${read && html`<${Addresses} list=${read.notices} act=${act} />
      <${Language} preferences=${read.preferences} act=${act} />
      <button type="button" id="notice-try" class="plain" disabled=${busy || !(read.notices.length || read.push?.browsers)} onClick=${() => act(() => page.notifications({ do: 'try' }))}>${t('hook.try')}</button>
      <div id="notification-results" role="status">${results.length > 0 && html`<ul>${results.map((e) => html`<${Result} key=${e.id} e=${e} isNew=${Boolean(read.tried)} />`)}</ul>`}</div>
      <${Quiet} preferences=${read.preferences} act=${act} />`}</section>`
}

/** show shows the card alone, on the page of a human executor. */
export function show(node) {
  node.lang = language
  render(html`<${Notices} />`, node)
}
