// The quiet hours of the safety policy, for operators: when devices may not act.

import { setup } from '../api.js'
import { clean } from '../dom.js'
import { html, useEffect, useState } from '../html.js'
import { t } from '../text/text.js'

const night = ['22:00', '07:00']

/** QuietHours shows and changes the quiet hours of devices that have none of their own. */
export function QuietHours() {
  const [read, setRead] = useState(null)
  const [hours, setHours] = useState(null) // [from, to] in the form; null for none
  const [result, setResult] = useState(null)
  const [error, setError] = useState('')
  const take = (q) => {
    setRead(q)
    setHours(q.hours ? q.hours.split('-') : null)
  }
  useEffect(() => { setup.quiet().then((q) => take(clean(q)), (err) => setError(err.message)) }, [])
  const set = (next) => {
    setHours(next)
    setResult(null)
  }
  const save = async (e) => {
    e.preventDefault()
    try {
      const made = clean(await setup.setQuiet(hours ? hours.join('-') : ''))
      if (made.problems?.length) throw new Error(made.problems[0].text)
      take(clean(await setup.quiet()))
      setResult(made)
      setError('')
    } catch (err) {
      setResult(null)
      setError(err.message)
    }
  }
  const devices = Object.entries(read?.devices || {})
  const field = (i, label) => html`<div><label for=${`policy-${i}`}>${label}</label><input id=${`policy-${i}`} type="time" required value=${hours[i]} onInput=${(e) => set(hours.with(i, e.target.value))} /></div>`
  return html`<form id="policy-quiet" class="card" onSubmit=${save}><h2>${t('settings.quiet')}</h2><p>${t('policy.about')}</p><p class="error" role="alert">${error}</p>
    ${read && html`<label class="check"><input id="policy-on" type="checkbox" checked=${hours !== null} onChange=${(e) => set(e.target.checked ? night : null)} />${t('policy.on')}</label>
      ${hours && html`<div class="pair">${field(0, t('quiet.from'))}${field(1, t('quiet.to'))}</div>`}
      ${read.hours !== read.in_use && html`<p class="meta">${t('policy.inuse', { hours: read.in_use || t('policy.none') })}</p>`}
      ${devices.length > 0 && html`<p class="meta">${t('policy.own', { list: devices.map(([name, h]) => `${name} ${h}`).join(', ') })}</p>`}
      <button type="submit" class="plain">${t('quiet.save')}</button>
      <p class="meta" role="status">${result && [result.backup ? t('add.written', { file: result.file, backup: result.backup }) : t('add.began', { file: result.file }), result.restart.length > 0 && t('policy.restart')].filter(Boolean).join(' ')}</p>`}</form>`
}
