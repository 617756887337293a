// The live picture of a camera. A camera of the exchange's own program sends its pictures in one
// response. For any other camera the page asks for single pictures.

import { Rejected, exchange, home, mayRequest } from '../api.js'
import { plain } from '../dom.js'
import { html, useEffect, useRef, useState } from '../html.js'
import { said } from '../said.js'
import { t } from '../text/text.js'
import { can } from './describe.js'
import { store } from './store.js'
import { tap } from './taps.js'
import { Picture } from './tile.js'

const longTime = 290000 // ms after which the end of a viewing is that of its time
const stillInterval = 10000 // ms between two requests for a picture
const stillTime = 300000 // ms after which the page asks whether somebody still watches

/** parts reads the pictures of a multipart response. Each part has a Content-Length. */
async function parts(reader, show) {
  let data = new Uint8Array(0)
  const text = new TextDecoder('latin1')
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const all = new Uint8Array(data.length + value.length)
    all.set(data)
    all.set(value, data.length)
    data = all
    for (;;) {
      const head = text.decode(data.subarray(0, 500))
      const end = head.indexOf('\r\n\r\n')
      const length = Number(/^content-length: (\d+)/im.exec(head)?.[1])
      if (end < 0 || !length || data.length < end + 4 + length) break
      const type = /^content-type: (image\/\w+)/im.exec(head)?.[1]
      show(new Blob([data.subarray(end + 4, end + 4 + length)], { type }))
      data = data.slice(end + 4 + length + 2)
    }
  }
}

/** endReason returns how a viewing has ended, from the note in its thread. */
async function endReason(address) {
  const ref = decodeURIComponent((address || '').split('/').at(-1))
  if (!ref) return ''
  const notes = (await exchange.thread(ref)).messages.flatMap((m) => m.mess).map((item) => item.note?.text).filter(Boolean)
  return plain(notes.at(-1) || '').split('it ended: ').at(-1)
}

/** watch shows a live picture in an image until signal aborts it. It returns why it has ended, '' after a time. */
async function watch(device, image, signal, shown) {
  const began = Date.now()
  const answer = await home.live(device, signal)
  let last = ''
  try {
    await parts(answer.body.getReader(), (blob) => {
      const url = URL.createObjectURL(blob)
      if (image.current) image.current.src = url
      if (last) URL.revokeObjectURL(last)
      last = url
      shown()
    })
  } finally {
    if (last) setTimeout(() => URL.revokeObjectURL(last), 1000)
  }
  if (Date.now() - began >= longTime) return ''
  return (await endReason(answer.headers.get('Location'))) || t('live.lost')
}

/** Live shows the live picture while it is on. */
function Live({ d, onEnd }) {
  const image = useRef(null)
  const [first, setFirst] = useState(false)
  useEffect(() => {
    const over = new AbortController()
    const hide = () => { if (document.hidden) onEnd('off', '') }
    document.addEventListener('visibilitychange', hide)
    watch(d.id, image, over.signal, () => setFirst(true)).then(
      (reason) => { if (!over.signal.aborted) onEnd(reason ? 'ended' : 'still', reason) },
      (err) => {
        if (over.signal.aborted) return
        onEnd(err instanceof Rejected && err.code === 404 ? 'stills' : 'ended', err.message)
      })
    return () => {
      over.abort()
      document.removeEventListener('visibilitychange', hide)
    }
  }, [d.id])
  return html`<div class="photo live"><img ref=${image} alt=${t('live.of', { device: d.name })} hidden=${!first} /></div>
    ${first ? null : html`<p class="empty" role="status">${t('live.asking')}</p>`}`
}

/** Stills asks for a picture at intervals while the page is visible. */
function Stills({ d, onEnd }) {
  const latest = useRef(d)
  latest.current = d
  useEffect(() => {
    const began = Date.now()
    const look = () => {
      if (Date.now() - began > stillTime) return onEnd('still', '')
      if (document.hidden || !store.live || latest.current.task) return undefined
      return tap(d.id, 'take-photo')
    }
    look()
    const timer = setInterval(look, stillInterval)
    return () => clearInterval(timer)
  }, [d.id])
  return html`<${Picture} d=${d} /><p class="meta">${t('live.stills')}</p>`
}

/** LivePicture is the last picture of a camera, or its live picture. A guest has no live picture. */
export function LivePicture({ d }) {
  const [phase, setPhase] = useState('off') // off, live, stills, still, ended
  const [reason, setReason] = useState('')
  const end = (next, why) => {
    setPhase(next)
    setReason(why)
  }
  if (!can(d, 'take-photo') || !mayRequest(store.me)) return html`<${Picture} d=${d} />`
  const isOn = phase === 'live' || phase === 'stills'
  const text = { still: t('live.still'), ended: t('live.ended', { reason: said(reason) }) }[phase]
  return html`${phase === 'live' ? html`<${Live} d=${d} onEnd=${end} />` : phase === 'stills' ? html`<${Stills} d=${d} onEnd=${end} />` : html`<${Picture} d=${d} />`}
    ${text ? html`<p role="status">${text}</p>` : null}
    <div class="acts"><button type="button" class="act" data-live=${phase} onClick=${() => end(isOn ? 'off' : 'live', '')}>${t(isOn ? 'live.end' : phase === 'still' ? 'live.continue' : 'live.start')}</button></div>
    <p class="meta">${t('live.about')}</p>`
}
