// The fields of an access: role, end date, areas of a guest.

import { html } from '../html.js'
import { t } from '../text/text.js'

const guestDays = 2 // of a new guest

/** localText formats a time for a field of the type datetime-local. */
function localText(at) {
  const d = new Date(at)
  return new Date(d - d.getTimezoneOffset() * 60000).toISOString().slice(0, 16)
}

/** emptyAccess is the access of a form at its beginning. */
export const emptyAccess = () => ({ role: 'resident', until: '', areas: null, entry: false })

/** accessOf returns the access of a person for a form. */
export const accessOf = (p) => ({ role: p.role, until: p.until ? localText(p.until) : '', areas: p.areas || null, entry: Boolean(p.entry) })

/** toSend returns the access of a form as the server takes it. */
export function toSend({ role, until, areas, entry }) {
  const dated = ['guest', 'resident', 'viewer'].includes(role) && until
  return { role, ...(dated ? { until: new Date(until).toISOString() } : {}), ...(role === 'guest' ? { ...(areas ? { areas } : {}), entry } : {}) }
}

/** AccessFields has the fields. id makes their ids unique, and roles lists the possible roles. */
export function AccessFields({ id, value, change, roles, areas }) {
  const set = (more) => change((now) => ({ ...now, ...more })) // two changes may come before the next drawing
  const setRole = (role) => set({ role, until: role === 'guest' && !value.until ? localText(Date.now() + guestDays * 86400000) : value.until })
  const toggle = (area, on) => change((now) => ({ ...now, areas: on ? [...now.areas, area] : now.areas.filter((a) => a !== area) }))
  const isGuest = value.role === 'guest'
  const list = [...new Set([...areas, ...(value.areas || [])])]
  return html`<label for=${`${id}-role`}>${t('people.role')}</label>
    <select id=${`${id}-role`} value=${value.role} onChange=${(e) => setRole(e.target.value)} aria-describedby=${`${id}-about`}>${roles.map((r) => html`<option key=${r} value=${r} selected=${r === value.role}>${t(`role.${r}`)}</option>`)}</select>
    <p class="hint" id=${`${id}-about`}>${t(`about.${value.role}`)}</p>
    ${['guest', 'resident', 'viewer'].includes(value.role) && html`<label for=${`${id}-until`}>${t(isGuest ? 'people.until' : 'people.maybe_until')}</label>
      <input id=${`${id}-until`} type="datetime-local" required=${isGuest} value=${value.until} onInput=${(e) => set({ until: e.target.value })} />`}
    ${isGuest && html`<fieldset class="areas-choice"><legend>${t('people.areas')}</legend>
      <label class="check"><input type="checkbox" checked=${!value.areas} onChange=${(e) => set({ areas: e.target.checked ? null : list })} />${t('people.all_areas')}</label>
      ${value.areas && list.map((a) => html`<label class="check" key=${a}><input type="checkbox" checked=${value.areas.includes(a)} onChange=${(e) => toggle(a, e.target.checked)} />${a}</label>`)}</fieldset>
      <label class="check"><input type="checkbox" checked=${value.entry} onChange=${(e) => set({ entry: e.target.checked })} />${t('people.entry')}</label>`}`
}
