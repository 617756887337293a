// Parts of the view that the page loads when they are first needed.

import { html, useEffect, useState } from '../html.js'
import { t } from '../text/text.js'

/** Lazy shows a component that the page loads when it is first needed. With quiet, it says nothing until then. */
export function Lazy({ load, quiet, ...props }) {
  const [part, setPart] = useState(null)
  useEffect(() => { load().then((view) => setPart(() => view), () => setPart(() => () => !quiet && html`<p class="error" role="alert">${t('detail.nopart')}</p>`)) }, [])
  return part ? html`<${part} ...${props} />` : !quiet && html`<p class="empty">${t('home.loading')}</p>`
}
