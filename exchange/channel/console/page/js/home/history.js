// The charts of a device: its readings of the last 24 hours or 30 days.

import { home } from '../api.js'
import { html, useEffect, useState } from '../html.js'
import { measure, named, t } from '../text/text.js'
import { readingText } from './describe.js'
import { now } from './store.js'

const minute = 60000 // ms
const spans = { day: 24 * 60 * minute - minute, month: 30 * 24 * 60 * minute } // ms
const [width, height, edge] = [320, 56, 3] // of a chart
const hidden = new Set(['working', 'reached']) // a chart shows them only if they change

/** line returns the path of the last values: level until the next point, and a gap where a reading is missing. */
function line(points, step, x, y) {
  let path = ''
  let before = null
  for (const [at, last] of points) {
    const isNext = before !== null && at - before <= 2 * step
    path += isNext ? `H${x(at)}V${y(last)}` : `M${x(at)} ${y(last)}`
    before = at
  }
  return before === null ? path : `${path}H${x(before + step)}`
}

function Chart({ q, from, to, step }) {
  const [low, high] = [Math.min(...q.points.map((p) => p[2])), Math.max(...q.points.map((p) => p[3]))]
  const x = (at) => Number((Math.min(Math.max((at - from) / (to - from), 0), 1) * width).toFixed(1))
  const y = (v) => Number((high > low ? edge + (1 - (v - low) / (high - low)) * (height - 2 * edge) : height / 2).toFixed(1))
  const last = q.points.at(-1)[1]
  const isTruth = !q.unit && low >= 0 && high <= 1
  const value = (v) => (isTruth ? readingText({ quantity: q.quantity, value: v }) : measure(v, q.unit))
  const text = low === high ? t('history.same', { value: value(last) }) : isTruth ? t('history.now', { value: value(last) }) : t('history.range', { value: value(last), min: value(low), max: value(high) })
  return html`<figure class="chart"><figcaption>${named('quantity', q.quantity)} <span class="meta">${text}</span></figcaption>
    <svg viewBox=${`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label=${`${named('quantity', q.quantity)}: ${text}`}><path d=${line(q.points, step, x, y)} /></svg></figure>`
}

/** History is the charts of a device. */
export function History({ d }) {
  const [span, setSpan] = useState('day')
  const [read, setRead] = useState(null) // {list, step, from, to} or {error}
  useEffect(() => {
    let isOver = false
    const look = async () => {
      const to = now()
      const from = to - spans[span]
      try {
        const h = await home.history(d.id, new Date(from).toISOString())
        const step = h.step.startsWith('1h') ? 60 * minute : minute
        if (!isOver) setRead({ list: h.quantities.filter((q) => q.points.length && !(hidden.has(q.quantity) && q.points.every((p) => p[2] === p[3] && p[1] === q.points[0][1]))), step, from, to })
      } catch (err) {
        if (!isOver) setRead({ error: err.message })
      }
    }
    look()
    const timer = setInterval(look, minute)
    return () => {
      isOver = true
      clearInterval(timer)
    }
  }, [d.id, span])
  const button = (name, text) => html`<button type="button" class="chipbutton" aria-pressed=${String(span === name)} onClick=${() => setSpan(name)}>${text}</button>`
  return html`<div class="row">${button('day', t('history.day'))}${button('month', t('history.month'))}</div>
    ${read?.error ? html`<p class="error">${read.error}</p>` : read?.list.map((q) => html`<${Chart} key=${`${q.quantity} ${q.unit}`} q=${q} from=${read.from} to=${read.to} step=${read.step} />`)}
    ${read?.list && !read.list.length && html`<p class="empty">${t('history.none')}</p>`}`
}
