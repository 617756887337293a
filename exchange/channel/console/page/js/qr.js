// A QR code.

import { html } from './html.js'

/** Dots draws a QR code with its quiet zone of four dots. */
export function Dots({ rows, label }) {
  const n = rows.length + 8
  const d = rows.flatMap((row, y) => [...row].map((c, x) => (c === '#' ? `M${x + 4} ${y + 4}h1v1h-1z` : ''))).join('')
  return html`<svg viewBox=${`0 0 ${n} ${n}`} class="dots" role="img" aria-label=${label} shape-rendering="crispEdges"><rect width=${n} height=${n} fill="#fff" /><path d=${d} fill="#000" /></svg>`
}
