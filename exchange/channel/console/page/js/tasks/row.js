// One task in a list.

import { taskLink, truncate } from '../dom.js'
import { store } from '../home/store.js'
import { html } from '../html.js'
import { Age, Chip } from '../parts.js'
import { titleText } from '../phrases.js'
import { t } from '../text/text.js'
import { isEnded } from '../tasks.js'

export const maxTitle = 200 // characters of an intent in a list

/** hasLateChange reports whether a task changed more than a minute after its request. */
const hasLateChange = (x) => new Date(x.updated_at) - new Date(x.created_at) > 60000

/** Head shows the words, the status, the persons and the times of a task. times is the number of equal ones. */
export function Head({ x, times = 1 }) {
  return html`<a href=${taskLink(x.ref)} aria-current=${x.ref === store.task ? 'true' : null}>${truncate(titleText(x), maxTitle)}</a>
    <p class="meta"><${Chip} code=${x.status} /> ${x.executor_id || t(isEnded(x) ? 'tasks.noexecutor' : 'tasks.notyet')} · ${t('tasks.by', { name: x.requestor_id })} ${times > 1 ? html`· ${t('tasks.times', { number: times })} <${Age} at=${x.updated_at} />` : html`<${Age} at=${x.created_at} />${hasLateChange(x) ? html` · ${t('tasks.changed')} <${Age} at=${x.updated_at} />` : null}`}</p>`
}
