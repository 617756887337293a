// The sign-in of a browser with a key.

import { page } from './api.js'
import { $ } from './dom.js'
import { html, render, useLayoutEffect, useRef, useState } from './html.js'
import { Problem } from './parts.js'
import { t } from './text/text.js'

/** show asks for a key. It calls done after the sign-in. error is that of a link, or null. */
export function show(error, done) {
  $('signin').hidden = false
  render(html`<${SignIn} first=${error} done=${done} />`, $('signin'))
}

function SignIn({ first, done }) {
  const [error, setError] = useState(first)
  const key = useRef(null)
  useLayoutEffect(() => key.current.focus(), [])
  const submit = async (e) => {
    e.preventDefault()
    try {
      await page.signIn({ key: key.current.value.trim() })
    } catch (err) {
      setError(err)
      return
    }
    $('signin').hidden = true
    render(null, $('signin'))
    done()
  }
  return html`<h1 id="signin-title">${t('signin.title')}</h1>
    <form id="signin-form" class="card" onSubmit=${submit}><label for="key">${t('signin.key')}</label>
      <input ref=${key} id="key" type="password" autocomplete="current-password" required />
      <p class="hint">${t('signin.file')} <code>operator.key</code>. ${t('signin.link')} <code>messkit console</code></p>
      <button type="submit">${t('signin.title')}</button><${Problem} error=${error} /></form>`
}
