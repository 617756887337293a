// The list of notices: what needs or needed somebody, the newest first.

import { page } from '../api.js'
import { $, clean, taskLink } from '../dom.js'
import { Icon } from '../home/icons.js'
import { store } from '../home/store.js'
import { html, render, useState } from '../html.js'
import { Action, titleText } from '../phrases.js'
import { clock, language, named, t } from '../text/text.js'

const step = 50 // notices that the list shows more at a time

const icons = { question: 'list', confirmation: 'alert', unknown: 'alert', failed: 'alert', unsafe: 'stop', offline: 'away' }

let list = null // null before the first answer
let error = ''
let tell = () => {} // takes the new count

/** address returns where a notice leads. */
const address = (n) => (n.ref ? taskLink(n.ref) : `#executors/${encodeURIComponent(n.executor)}`)

/** about returns what a notice is about, in one line. */
function about(n) {
  if (n.kind === 'unsafe') return t('bell.unsafe', { name: n.name, devices: n.devices.join(', ') })
  if (n.kind === 'offline') return t('bell.offline', { name: n.name })
  return titleText({ ...n, asked: store.tasks.find((x) => x.ref === n.ref)?.asked }) // of the newest tasks
}

/** state returns whether a notice still needs somebody. A result needs nobody. */
function state(n) {
  if (n.open) return t('bell.open')
  return n.over ? t('bell.over', { time: clock(n.over) }) : ''
}

function Notice({ n }) {
  const detail = [n.executor && n.ref ? n.executor : '', clock(n.at), state(n)].filter(Boolean).join(' · ')
  return html`<li class="notification ${n.read ? '' : 'unread'} ${n.open ? 'open' : ''}"><span class="round"><${Icon} name=${icons[n.kind] || 'bell'} /></span>
    <div><p class="kind">${named('notice', n.kind)} ${!n.read && html`<span class="chip warn">${t('bell.new')}</span>`}</p>
    <a href=${address(n)} onClick=${() => act({ read: [n.id] })}>${about(n)}</a>
    ${n.text && n.text !== n.intent && html`<p><${Action} phrases=${n.phrases} text=${n.text} /></p>`}<p class="meta">${detail}</p></div></li>`
}

function Notices() {
  const [shown, setShown] = useState(step)
  const unread = list?.some((n) => !n.read)
  return html`<h1 id="notices-title">${t('bell.title')}</h1><p class="error" role="alert">${error}</p>
    ${unread && html`<button type="button" class="plain" onClick=${() => act({ all: true })}>${t('bell.all')}</button>`}
    ${!list ? !error && html`<p class="empty">${t('bell.loading')}</p>`
      : !list.length ? html`<p class="empty">${t('bell.none')}</p>`
        : html`<ul class="notifications">${list.slice(0, shown).map((n) => html`<${Notice} key=${n.id} n=${n} />`)}</ul>`}
    ${list?.length > shown && html`<button type="button" class="plain" onClick=${() => setShown(shown + step)}>${t('bell.more')}</button>`}`
}

function draw() {
  $('notices').lang = language
  render(html`<${Notices} />`, $('notices'))
}

/** act reads the list, or marks notices as read before that. */
async function act(what) {
  try {
    const answer = clean(await page.bell(what))
    list = answer.notices
    error = ''
    draw()
    tell(answer.count)
  } catch (err) {
    error = err.message
    draw()
  }
}

/** refresh reads the list again. */
export const refresh = () => act()

/** show reads the list and shows it. take gets each new count. */
export function show(take) {
  tell = take
  draw()
  refresh()
}
