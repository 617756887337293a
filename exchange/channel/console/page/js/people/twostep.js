// A button that acts at the second press.

import { html, useEffect, useRef, useState } from '../html.js'
import { t } from '../text/text.js'

/** TwoStep is a button that explains itself before it acts. name completes the label for a screen reader. */
export function TwoStep({ label, name, text, act }) {
  const [asks, setAsks] = useState(false)
  const first = useRef(null)
  const moved = useRef(false)
  useEffect(() => {
    if (moved.current) first.current?.focus()
  }, [asks])
  const ask = (on) => {
    moved.current = true
    setAsks(on)
  }
  const done = async () => {
    await act()
    setAsks(false)
  }
  if (!asks) return html`<button type="button" class="plain" ref=${first} aria-label=${`${label}: ${name}`} onClick=${() => ask(true)}>${label}</button>`
  return html`<span class="twostep" role="group" aria-label=${`${label}: ${name}`}><span class="meta">${text}</span>
    <button type="button" class="plain" ref=${first} onClick=${() => ask(false)}>${t('people.keep')}</button> <button type="button" class="plain" onClick=${done}>${label}</button></span>`
}
