// Draws a QR code from its rows of dots.

const svg = (tag, attributes) => {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [k, v] of Object.entries(attributes)) node.setAttribute(k, v)
  return node
}

/** qrCode draws rows like "#.#" with the quiet zone of four dots that readers need. */
export function qrCode(rows, label) {
  const n = rows.length
  const d = rows.flatMap((row, y) => [...row].map((c, x) => (c === '#' ? `M${x + 4} ${y + 4}h1v1h-1z` : ''))).join('')
  const node = svg('svg', { viewBox: `0 0 ${n + 8} ${n + 8}`, class: 'dots', role: 'img', 'aria-label': label, 'shape-rendering': 'crispEdges' })
  node.append(svg('rect', { width: n + 8, height: n + 8, fill: '#fff' }), svg('path', { d, fill: '#000' }))
  return node
}
