// Invitations: the form, the code to scan, and the open ones.

import { page } from '../api.js'
import { html, useEffect, useRef, useState } from '../html.js'
import { Dots } from '../qr.js'
import { clock, t } from '../text/text.js'
import { AccessFields, emptyAccess, toSend } from './access.js'

const isLocal = () => location.hostname === 'localhost' || location.hostname.startsWith('127.')

function Made({ made }) {
  const link = made.links[0]
  const once = html`<p class="hint">${t('invite.once', { time: clock(made.until) })}</p>`
  if (!link) {
    return html`<p>${t('invite.local')}</p><p><a href=${made.path}>${location.origin + made.path}</a></p>${once}<p class="hint">${t('invite.reach')} <code>messkit run --listen 0.0.0.0:8420 --tls self</code></p>`
  }
  return html`<p>${t('invite.scan')}</p><${Dots} rows=${made.dots} label=${t('invite.code', { name: made.name })} /><p><a href=${link}>${link}</a></p>${once}`
}

/** Invite is the form that invites a person. */
export function Invite({ areas, made }) {
  const [name, setName] = useState('')
  const [at, setAt] = useState('')
  const [access, setAccess] = useState(emptyAccess)
  const [result, setResult] = useState(null)
  const [error, setError] = useState('')
  const shown = useRef(null)
  useEffect(() => { if (result) shown.current.scrollIntoView({ block: 'nearest' }) }, [result])
  const send = async (e) => {
    e.preventDefault()
    try {
      const created = await page.invite({ name: name.trim(), at: at.trim() || (isLocal() ? '' : location.origin), ...toSend(access) })
      setResult({ ...created, name: name.trim() })
      setName('')
      setError('')
      made()
    } catch (err) {
      setResult(null)
      setError(err.message)
    }
  }
  return html`<form id="invite" class="card" onSubmit=${send}><h2>${t('invite.title')}</h2>
    <label for="name">${t('invite.name')}</label><input id="name" autocomplete="off" maxlength="60" required value=${name} onInput=${(e) => setName(e.target.value)} />
    <${AccessFields} id="invite" value=${access} change=${setAccess} roles=${['resident', 'guest', 'viewer', 'helper', 'operator']} areas=${areas} />
    <label for="at">${t('invite.at')}</label><input id="at" autocomplete="off" type="url" placeholder="https://192.168.1.7:8420" value=${at} onInput=${(e) => setAt(e.target.value)} />
    <button type="submit">${t('invite.create')}</button><p class="error" role="alert">${error}</p>
    <div id="invitation" role="status" ref=${shown}>${result && html`<h3>${t('invite.made', { name: result.name })}</h3><${Made} made=${result} />`}</div></form>`
}

/** Invitations lists the open invitations. */
export function Invitations({ list, act }) {
  if (!list.length) return null
  return html`<h2>${t('invite.open')}</h2><ul class="cards invitations">${list.map((i) => html`<li key=${i.id}><strong>${i.name}</strong> <span class="chip">${t(`role.${i.role}`)}</span>
    <p class="meta">${t('invite.once', { time: clock(i.ends) })}</p><button type="button" class="plain" aria-label=${t('invite.withdraw_of', { name: i.name })} onClick=${() => act({ do: 'withdraw', invitation: i.id })}>${t('invite.withdraw')}</button></li>`)}</ul>`
}
