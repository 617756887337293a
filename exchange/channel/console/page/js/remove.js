// The control that removes an offline executor or person from all lists, after a second press.

import { exchange } from './api.js'
import { html, useEffect, useRef, useState } from './html.js'
import { Said } from './said.js'
import { t } from './text/text.js'

/** Remove is the control for an offline executor. It is empty if the user may not remove it. */
export function Remove({ e, who }) {
  const [asks, setAsks] = useState(false)
  const [error, setError] = useState('')
  const box = useRef(null)
  const moved = useRef(false) // the pressed button has gone: the focus moves to the next one
  useEffect(() => {
    if (moved.current) box.current?.querySelector('button')?.focus({ preventScroll: true })
    moved.current = false
  }, [asks])
  if (e.live || !who?.roles.includes('operator')) return null
  const name = e.name || e.id
  const ask = (on) => () => {
    moved.current = true
    setAsks(on)
    setError('')
  }
  const remove = async (click) => {
    const button = click.currentTarget
    button.disabled = true
    try {
      await exchange.deregister(e.id)
    } catch (err) {
      setError(err.message)
    }
    button.disabled = false
  }
  if (!asks) return html`<div class="forget" ref=${box}><button type="button" class="plain" aria-label=${t('remove.of', { name })} onClick=${ask(true)}>${t('remove.button')}</button></div>`
  return html`<div class="forget" ref=${box}><p>${t(e.stopping ? 'remove.stopping' : 'remove.about')}</p>
    <button type="button" class="plain" aria-label=${t('remove.keepof', { name })} onClick=${ask(false)}>${t('remove.keep')}</button>${' '}
    <button type="button" class="plain" aria-label=${t('remove.allof', { name })} onClick=${remove}>${t('remove.all')}</button>
    ${error ? html`<p class="error" role="alert"><${Said} text=${error} /></p>` : null}</div>`
}
