// The Settings view: language, units and theme of this browser, its sessions, and for operators how to
// back up and update.

import { page } from '../api.js'
import { $ } from '../dom.js'
import { now } from '../home/store.js'
import { html, render, useEffect, useState } from '../html.js'
import { Browser } from '../people/browser.js'
import { Notices } from './notices.js'
import { QuietHours } from './quiet.js'
import { chooseLanguage, chooseUnits, clock, language, languageNames, languageSetting, t, unitsSetting } from '../text/text.js'

const themes = ['auto', 'light', 'dark']
const themeKey = 'messkit-theme' // as in theme.js

/** setTheme stores the theme of this browser, and shows it. */
function setTheme(name) {
  if (name === 'auto') localStorage.removeItem(themeKey)
  else localStorage.setItem(themeKey, name)
  document.documentElement.dataset.theme = name
}

function Choice({ id, label, value, options, choose }) {
  return html`<label for=${id}>${label}</label><select id=${id} onChange=${(e) => choose(e.target.value)}>${options.map(([code, name]) => html`<option key=${code} value=${code} selected=${code === value}>${name}</option>`)}</select>`
}

function Browsers({ me }) {
  const [list, setList] = useState([])
  const [error, setError] = useState('')
  const take = async (answer) => {
    try {
      setList((await answer).browsers)
      setError('')
    } catch (err) {
      setError(err.message)
    }
  }
  useEffect(() => { take(page.browsers()) }, [])
  const others = list.filter((b) => !b.this)
  return html`<section class="card"><h2>${t('settings.browsers')}</h2><p class="meta">${t('settings.who', { name: me.actor })}${me.until ? ` · ${t('people.ends', { time: clock(me.until) })}` : ''}</p><p class="error" role="alert">${error}</p>
    <ul class="browsers">${list.map((b) => html`<${Browser} key=${b.id} b=${b} actor=${me.actor} out=${!b.this && (() => take(page.endBrowsers({ browser: b.id })))} />`)}</ul>
    ${others.length > 1 && html`<button type="button" class="plain" onClick=${() => take(page.endBrowsers({ others: true }))}>${t('settings.others')}</button>`}</section>`
}

/** quoted returns a path as one word of a shell. */
const quoted = (path) => `'${path.replaceAll("'", "'\\''")}'`

const oldBackup = 30 * 24 * 3600e3 // ms

function Backup({ data, last }) {
  const isOld = last && now() - new Date(last) > oldBackup
  return html`<section class="card" id="backup"><h2>${t('settings.backup')}</h2>
    <p id="last-backup">${last ? t('settings.backup_last', { time: clock(last) }) : t('settings.backup_never')}${isOld ? ` ${t('settings.backup_old')}` : ''}</p><p>${t('settings.backup_how')}</p>
    <pre>${`tar -C ${quoted(data)} -czf messkit-backup.tar.gz . && touch ${quoted(`${data}/last-backup`)}`}</pre><p>${t('settings.backup_restore')}</p><pre>${`mkdir -p ${quoted(data)} && tar -C ${quoted(data)} -xzf messkit-backup.tar.gz`}</pre>
    <p class="hint">${t('settings.backup_secret')}</p></section>`
}

function Operator({ version, here, data, backup }) {
  return html`${here && html`<${QuietHours} />`}
    <${Backup} data=${data} last=${backup} />
    <section class="card"><h2>${t('settings.update')}</h2><p id="version">${version ? t('settings.version', { version }) : t('settings.noversion')}</p><p>${t('settings.update_how')}</p></section>`
}

function Settings({ me, version }) {
  const [theme, setShown] = useState(localStorage.getItem(themeKey) || 'auto')
  const choose = (name) => {
    setTheme(name)
    setShown(name)
  }
  return html`<div class="panels"><section class="card"><h2>${t('settings.look')}</h2>
      <${Choice} id="set-language" label=${t('home.language')} value=${languageSetting()} options=${[['auto', t('settings.auto')], ...languageNames]} choose=${chooseLanguage} />
      <${Choice} id="set-units" label=${t('settings.units')} value=${unitsSetting()} options=${['metric', 'imperial'].map((u) => [u, t(`units.${u}`)])} choose=${chooseUnits} />
      <${Choice} id="set-theme" label=${t('settings.theme')} value=${theme} options=${themes.map((n) => [n, t(`theme.${n}`)])} choose=${choose} />
      <p class="hint">${t('settings.here')}</p></section>
    ${me.notices && html`<${Notices} />`}
    <${Browsers} me=${me} />
    ${me.roles.includes('operator') && html`<${Operator} version=${version} here=${Boolean(me.executor)} data=${me.data} backup=${me.backup} />`}</div>`
}

/** show shows the settings. version is that of the server, '' if the page does not know it yet. */
export function show(me, version) {
  $('settings').lang = language
  $('settings-title').textContent = t('nav.settings')
  render(html`<${Settings} me=${me} version=${version} />`, $('settings-view'))
}
