// Small components that several views use.

import { Rejected } from './api.js'
import { useStore } from './home/store.js'
import { html, useEffect, useReducer, useRef, useState } from './html.js'
import { Said, sentenceText } from './said.js'
import { clock, language, named, t } from './text/text.js'

const ages = new Set() // functions that draw the shown ages

function drawAges() {
  for (const draw of ages) draw()
}

setInterval(drawAges, 15000)
document.addEventListener('visibilitychange', drawAges) // browsers delay the timers of a hidden page

/** ageText formats a time as its age if it is recent. */
function ageText(at) {
  const seconds = (Date.now() - new Date(at)) / 1000
  if (Math.abs(seconds) < 45) return t('age.now')
  return seconds > 0 && seconds < 3600 ? t('age.minutes', { minutes: Math.round(seconds / 60) }) : clock(at)
}

/** Age shows the age of a time, and keeps it current. */
export function Age({ at }) {
  const [, draw] = useReducer((n) => n + 1, 0)
  useEffect(() => {
    ages.add(draw)
    return () => ages.delete(draw)
  }, [])
  return html`<time datetime=${at}>${ageText(at)}</time>`
}

const kinds = { completed: 'good', in_progress: 'good', failed: 'bad', declined: 'bad', expired: 'bad', needs_input: 'warn', needs_confirmation: 'warn', held: 'warn', partial: 'warn' }

/** Chip shows a status with its color. */
export const Chip = ({ code, label }) => html`<span class=${`chip ${kinds[code] || ''}`}>${label || named('status', code)}</span>`

const foldLength = 180 // characters shown before the fold

/** Folded shows a text of the server, and folds the end of a long one. */
export function Folded({ text }) {
  useStore()
  const own = sentenceText(text)
  const shown = own ?? text
  const lang = own === null ? 'en' : language
  const at = shown.length > foldLength + 60 ? Math.max(shown.lastIndexOf(', ', foldLength), shown.lastIndexOf('; ', foldLength)) : -1
  if (at < 40) return html`<p lang=${lang}>${shown}</p>`
  return html`<div lang=${lang}><p>${`${shown.slice(0, at)} …`}</p><details><summary lang=${language}>${t('text.more')}</summary><p>${shown.slice(at + 2)}</p></details></div>`
}

/** Problem shows an error: what the page knows about its kind, and the words of the server. */
export function Problem({ error, name = '' }) {
  const message = error?.message ?? error ?? ''
  const known = error?.why && language !== 'en' && named('problem', error.why, '')
  return html`<p class=${`error ${name}`} role="alert">${known ? `${known} ` : ''}${error instanceof Rejected ? html`<${Said} text=${message} />` : message}</p>`
}

/** Act is a button that does something once at a time, and shows why it failed. */
export function Act({ label, act, name = 'plain' }) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState(null)
  const button = useRef(null)
  const press = async () => {
    const hadFocus = document.activeElement === button.current
    setBusy(true)
    setError(null)
    try {
      await act()
    } catch (err) {
      setError(err)
    }
    setBusy(false)
    if (hadFocus) requestAnimationFrame(() => { if (document.activeElement === document.body) button.current?.focus({ preventScroll: true }) })
  }
  return html`<button ref=${button} type="button" class=${name} disabled=${busy} onClick=${press}>${label}</button>${error && html`<${Problem} error=${error} name="refused" />`}`
}
