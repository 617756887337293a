// The bell: how many notices this user has not read. Their list loads when somebody opens it.

import { page } from './api.js'
import { $ } from './dom.js'
import { Icon } from './home/icons.js'
import { html, render } from './html.js'
import { language, t } from './text/text.js'

let view = null // the list, from its first use
let count = { unread: 0, version: 0 }

/** draw shows the bell with the count. */
function draw() {
  const bell = $('bell')
  bell.hidden = false
  bell.lang = language
  bell.className = count.unread ? 'bell some' : 'bell'
  bell.setAttribute('aria-label', count.unread ? t('bell.unread', { count: count.unread }) : t('bell.title'))
  render(html`<${Icon} name="bell" />${count.unread > 0 && html`<span aria-hidden="true">${count.unread > 99 ? '99+' : count.unread}</span>`}`, bell)
}

/** take shows a new count. The list reads itself again if it is open. */
function take(next) {
  const isNew = next.version !== count.version
  count = next
  draw()
  if (isNew && !$('notices').hidden) view?.refresh()
}

/** changed takes the count of a new state. An exchange without notices sends none. */
export function changed(state) {
  if (state.bell) take(state.bell)
}

/** load shows the list. */
export async function load() {
  view ||= await import('./bell/view.js')
  view.show(take)
}

/** opened marks the notices of a task as read: the user looks at it. */
export function opened(ref) {
  if (count.unread) page.bell({ ref }).then((answer) => take(answer.count), () => {}) // the count stays, and the next look marks them
}
