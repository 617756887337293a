// Registers the service worker, which stores the page for offline use.

const scripts = globalThis.trustedTypes?.createPolicy('messkit', { createScriptURL: (s) => (s === '/sw.js' ? s : '') })

// A tap on a notice shows its task in this page.
navigator.serviceWorker?.addEventListener('message', (e) => { if (/^#[a-z]+(\/[^/]*)?$/.test(e.data?.open)) location.hash = e.data.open })

/** register registers the service worker. It returns the reason of a failure, or ''. */
export async function register() {
  if (!navigator.serviceWorker) return 'Without HTTPS the browser cannot store this page for offline use: open it while you are connected. The phone stores your input in any case.'
  try {
    await navigator.serviceWorker.register(scripts ? scripts.createScriptURL('/sw.js') : '/sw.js')
    return ''
  } catch {
    return 'The browser does not trust the certificate of this exchange, and so cannot store this page for offline use: open it while you are connected. The phone stores your input in any case.'
  }
}
