// A list of any length: only the visible rows are in the document.

import { html, useEffect, useLayoutEffect, useRef, useState } from '../html.js'
import { t } from '../text/text.js'

const spare = 6 // rows beyond each end, so that Tab finds the next one
const [rowHeight, headHeight] = [4.5, 2.5] // rem, as in app.css

/** VirtualList shows items, {row} or {area, count}. keyOf names a row, and draw draws its content. The arrow keys, Home and End move between the links of rows. */
export function VirtualList({ id, label, items, keyOf, draw }) {
  const box = useRef(null)
  const [view, setView] = useState({ top: 0, height: 800 })
  const [wanted, setWanted] = useState(-1) // position of the row that gets the focus
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize)
  const tops = [0]
  for (const item of items) tops.push(tops.at(-1) + (item.row ? rowHeight : headHeight) * rem)
  const look = () => { if (box.current) setView({ top: box.current.scrollTop, height: box.current.clientHeight }) }
  useEffect(() => {
    look()
    const resized = new ResizeObserver(look)
    resized.observe(box.current)
    return () => resized.disconnect()
  }, [])
  useLayoutEffect(() => {
    if (wanted < 0) return
    const link = box.current.querySelector(`[data-at="${wanted}"] a`)
    if (!link) return
    link.focus({ preventScroll: true })
    setWanted(-1)
  })
  let first = tops.findIndex((top) => top > view.top) - 1 - spare
  let last = tops.findIndex((top) => top >= view.top + view.height)
  first = Math.max(0, first)
  last = Math.min(items.length, (last < 0 ? items.length : last) + spare)
  const rows = items.flatMap((item, i) => (item.row ? [i] : []))
  const move = (e) => {
    const at = Number(e.target.closest('[data-at]')?.dataset.at ?? -1)
    if (at < 0 || e.target.tagName !== 'A') return
    const here = rows.indexOf(at)
    const next = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: rows.length - 1 }[e.key]
    if (next === undefined || rows[next] === undefined) return
    e.preventDefault()
    const to = rows[next]
    if (tops[to] < box.current.scrollTop) box.current.scrollTop = tops[to]
    if (tops[to + 1] > box.current.scrollTop + view.height) box.current.scrollTop = tops[to + 1] - view.height
    look()
    setWanted(to)
  }
  const shown = items.slice(first, last)
  return html`<div class="vlist" ref=${box} onScroll=${look} onKeyDown=${move} tabindex="0" role="region" aria-label=${label}>
    <ul id=${id} role="list">
      ${first > 0 && html`<${Gap} height=${tops[first]} />`}
      ${shown.map((item, i) => (item.row
        ? html`<li key=${keyOf(item.row)} class="vrow" data-at=${first + i} aria-setsize=${rows.length} aria-posinset=${rows.indexOf(first + i) + 1}>${draw(item.row)}</li>`
        : html`<li key=${`area ${item.area}`} class="vhead"><h2>${item.area || t('area.none')} <small>${item.count}</small></h2></li>`))}
      ${last < items.length && html`<${Gap} height=${tops.at(-1) - tops[last]} />`}
    </ul></div>`
}

/** Gap takes the place of rows that are not in the document. */
function Gap({ height }) {
  const node = useRef(null)
  useLayoutEffect(() => { node.current.style.height = `${height}px` }) // the policy allows no style in an attribute
  return html`<li ref=${node} role="presentation" aria-hidden="true"></li>`
}
