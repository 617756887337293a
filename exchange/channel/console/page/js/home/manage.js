// The name and the area of a device, and whether Home shows it. An operator may change them.

import { setup } from '../api.js'
import { useAttempt } from '../attempt.js'
import { html, useState } from '../html.js'
import { t } from '../text/text.js'
import { store } from './store.js'

/** mayManage reports whether this user may change the configuration of a device: an operator, for a device of this program. */
export const mayManage = (d) => Boolean(store.me?.executor) && (!d || d.executor === store.me.executor)

/** Manage gives a device another name and another area. The device keeps running. */
export function Manage({ d }) {
  const [says, setSays] = useState('')
  const { attempt, busy, error, setError } = useAttempt()
  const submit = (e) => {
    e.preventDefault()
    const f = new FormData(e.target)
    return attempt(async () => {
      setSays('')
      const r = await setup.describe(d.device, f.get('name').trim(), f.get('area').trim())
      if (r.problems?.length) setError(r.problems.map((p) => p.text).join('\n'))
      else setSays(t('manage.saved'))
    })
  }
  const hide = () => attempt(async () => {
    setSays('')
    await setup.hide(d.device, !d.hidden)
    setSays(t(d.hidden ? 'hidden.isshown' : 'hidden.ishidden'))
  })
  const areas = [...new Set([...store.devices.values()].map((one) => one.area).filter(Boolean))].sort()
  return html`<form class="manage" onSubmit=${submit}>
    <label for="manage-name">${t('add.name')}</label><input id="manage-name" name="name" required maxlength="60" autocomplete="off" defaultValue=${d.name} />
    <label for="manage-area">${t('add.area')}</label><input id="manage-area" name="area" maxlength="60" autocomplete="off" list="manage-areas" defaultValue=${d.area || ''} />
    <datalist id="manage-areas">${areas.map((a) => html`<option key=${a} value=${a} />`)}</datalist>
    <button type="submit" class="plain" aria-disabled=${busy ? 'true' : null}>${t('manage.save')}</button>
    <button type="button" class="plain" data-hide=${d.device} aria-disabled=${busy ? 'true' : null} onClick=${hide}>${t(d.hidden ? 'hidden.bring' : 'hidden.leave')}</button>
    <p role="status">${says}</p><p class="error" role="alert">${error}</p></form>`
}
