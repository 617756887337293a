// Registers the service worker, which stores the page for offline use.

import { t } from './text/text.js'

const scripts = globalThis.trustedTypes?.createPolicy('messkit', { createScriptURL: (s) => (s === '/sw.js' ? s : '') })

// A tap on a notice shows its task in this page.
navigator.serviceWorker?.addEventListener('message', (e) => { if (/^#[a-z]+(\/[^/]*)?$/.test(e.data?.open)) location.hash = e.data.open })

/** register registers the service worker. It returns the reason of a failure, or ''. */
export async function register() {
  if (!navigator.serviceWorker) return t('offline.http')
  try {
    await navigator.serviceWorker.register(scripts ? scripts.createScriptURL('/sw.js') : '/sw.js')
    return ''
  } catch {
    return t('offline.certificate')
  }
}
