// The recorder for voice notes.

import { html, useRef, useState } from '../html.js'
import { t } from '../text/text.js'

const microphoneErrors = { NotFoundError: 'voice.none', NotAllowedError: 'voice.denied' }

/** canRecord reports whether the browser can record. */
export const canRecord = Boolean(navigator.mediaDevices?.getUserMedia && globalThis.MediaRecorder)

/** Voice is a button that records. take gets each voice note, {name, type, data}; recording.current is true meanwhile. */
export function Voice({ recording, take, fail }) {
  const recorder = useRef(null)
  const [runs, setRuns] = useState(false)
  const set = (on) => {
    recording.current = on
    setRuns(on)
  }
  const begin = async () => {
    fail(null)
    try {
      const sound = await navigator.mediaDevices.getUserMedia({ audio: true })
      const parts = []
      const one = new MediaRecorder(sound, { audioBitsPerSecond: 24000 })
      one.ondataavailable = (e) => parts.push(e.data)
      one.onstop = () => {
        for (const track of sound.getTracks()) track.stop()
        const type = one.mimeType.split(';')[0]
        recorder.current = null
        set(false)
        take({ name: `voice.${type.endsWith('mp4') ? 'm4a' : type.endsWith('ogg') ? 'ogg' : 'webm'}`, type, data: new Blob(parts, { type }) })
      }
      recorder.current = one
      one.start()
      set(true)
    } catch (err) {
      fail(microphoneErrors[err.name] ? t(microphoneErrors[err.name]) : t('voice.failed', { error: err.message }))
    }
  }
  return html`<button type="button" class="plain" onClick=${() => (recorder.current ? recorder.current.stop() : begin())}>${t(runs ? 'voice.stop' : 'voice.record')}</button>`
}
