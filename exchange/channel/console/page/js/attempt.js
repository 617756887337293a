// What the forms of the page share: one action at a time, and why the last one failed.

import { useState } from './html.js'

/** useAttempt returns {attempt, busy, error, setError}. attempt calls act, unless an earlier one still runs; error is the text of the last failure, '' for none. */
export function useAttempt() {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const attempt = async (act) => {
    if (busy) return
    setBusy(true)
    setError('')
    try {
      await act()
    } catch (err) {
      setError(err.message)
    }
    setBusy(false)
  }
  return { attempt, busy, error, setError }
}
