// The settings of a device in the configuration, and its removal. Only operators see them.

import { setup } from '../api.js'
import { useAttempt } from '../attempt.js'
import { html, useEffect, useRef, useState } from '../html.js'
import { t } from '../text/text.js'

/** Problems lists what prevents a change. Its texts come from the server. */
const Problems = ({ list }) => html`<ul class="problems">${list.map((p) => html`<li key=${p.path + p.text} lang="en">${p.path && html`<code>${p.path}</code>: `}${p.text}</li>`)}</ul>`

/** Field is the control of one setting. */
function Field({ f }) {
  const id = `edit-${f.key}`
  if (f.kind === 'truth') return html`<label class="check"><input type="checkbox" name=${f.key} defaultChecked=${f.value === 'true'} /> <code>${f.key}</code></label>`
  return html`<label for=${id}><code>${f.key}</code></label><input id=${id} name=${f.key} type=${f.secret ? 'password' : 'text'} autocomplete="off" autocapitalize="off" spellcheck="false" inputmode=${f.kind === 'number' ? 'decimal' : null}
    defaultValue=${f.value} placeholder=${f.secret ? t('edit.secret') : null} maxlength="500" />`
}

/** valueOf returns the value of a setting in a form. */
const valueOf = (form, f) => (f.kind === 'truth' ? String(form.elements[f.key].checked) : form.elements[f.key].value)

/** Settings changes the driver's keys of a device, which then starts again. */
function Settings({ d, look, again }) {
  const [says, setSays] = useState('')
  const [problems, setProblems] = useState([])
  const { attempt, busy, error } = useAttempt()
  const submit = (e) => {
    e.preventDefault()
    const fields = Object.fromEntries(look.fields.map((f) => [f.key, valueOf(e.target, f), f.value]).filter(([, value, was]) => value !== was))
    return attempt(async () => {
      setSays('')
      setProblems([])
      const r = await setup.change(d.device, fields)
      setProblems(r.problems || [])
      if (!r.problems?.length) setSays(`${t('manage.saved')} ${r.restart.length ? t('add.restart', { keys: r.restart.join('; ') }) : t('edit.applied')}`)
      await again()
    })
  }
  return html`<form class="manage" onSubmit=${submit}>
    ${look.fields.map((f) => html`<${Field} key=${`${f.key} ${f.value}`} f=${f} />`)}
    ${look.fields.length > 0 && html`<p class="hint">${t(look.restart ? 'edit.later' : 'edit.about')}</p><button type="submit" class="plain" aria-disabled=${busy ? 'true' : null}>${t('edit.save')}</button>`}
    ${look.more.length > 0 && html`<p class="meta">${t('edit.more', { keys: look.more.join(', ') })} <a href="#config">${t('config.title')}</a></p>`}
    <div role="status">${says && html`<p>${says}</p>`}</div>${problems.length > 0 && html`<${Problems} list=${problems} />`}
    <p class="error" role="alert" lang="en">${error}</p></form>`
}

/** Removal asks before it removes a device, and names what refers to it. */
function Removal({ d, look, again }) {
  const [asks, setAsks] = useState(false)
  const [says, setSays] = useState('')
  const { attempt, busy, error, setError } = useAttempt()
  const box = useRef(null)
  const moved = useRef(false) // the pressed button has gone: the focus moves to the next one
  useEffect(() => {
    if (moved.current) box.current?.querySelector('button')?.focus({ preventScroll: true })
    moved.current = false
  }, [asks])
  const ask = (on) => async () => {
    moved.current = true
    setError('')
    if (on) await again()
    setAsks(on)
  }
  const remove = () => attempt(async () => {
    const r = await setup.remove(d.device)
    if (r.problems?.length) setError(r.problems.map((p) => `${p.path}: ${p.text}`).join('\n'))
    else if (r.restart.length) setSays(t('add.restart', { keys: r.restart.join('; ') }))
    else location.hash = '#home'
  })
  if (!asks) return html`<div ref=${box}><button type="button" class="plain" aria-label=${t('edit.removeof', { device: d.name })} onClick=${ask(true)}>${t('edit.remove')}</button></div>`
  const free = !look.refers.length && !look.in_use
  return html`<div class="removal" role="group" aria-label=${t('edit.removeof', { device: d.name })} ref=${box}>
    <p>${t(look.restart ? 'edit.surelater' : 'edit.sure', { device: d.name })}</p>
    ${look.last_of && html`<p>${t('edit.lastof', { area: look.last_of })}</p>`}
    ${look.refers.length > 0 && html`<p class="why">${t('edit.refers')}</p><${Problems} list=${look.refers} />`}
    ${look.in_use && html`<p class="why" lang="en">${look.in_use}</p>`}
    <p class="links"><button type="button" class="plain" onClick=${ask(false)}>${t('edit.keep')}</button>
      ${free && html` <button type="button" data-remove=${d.device} aria-disabled=${busy ? 'true' : null} onClick=${remove}>${t('edit.really', { device: d.name })}</button>`}</p>
    <div role="status">${says && html`<p>${says}</p>`}</div><p class="error" role="alert" lang="en">${error}</p></div>`
}

/** Driver says which driver a device has, and what it is for. Its texts come from the server. */
export function Driver({ d }) {
  const [look, setLook] = useState(null)
  useEffect(() => { setup.look(d.device).then(setLook, () => setLook({})) }, [d.id])
  return html`<dt>${t('edit.driver')}</dt><dd>${look ? html`<code>${look.driver || '–'}</code>${look.about && html` <span class="meta" lang="en">${look.about}</span>`}` : t('home.loading')}</dd>`
}

/** Edit is the settings and the removal of a device. */
export function Edit({ d }) {
  const [look, setLook] = useState(null)
  const [error, setError] = useState('')
  const again = async () => {
    try {
      setLook(await setup.look(d.device))
      setError('')
    } catch (err) {
      setError(err.message)
    }
  }
  useEffect(() => { again() }, [d.id])
  if (!look) return html`<p class=${error ? 'error' : 'empty'} lang=${error ? 'en' : null}>${error || t('home.loading')}</p>`
  return html`<${Settings} d=${d} look=${look} again=${again} /><hr /><${Removal} d=${d} look=${look} again=${again} />`
}
