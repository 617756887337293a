// The map of a vacuum: its picture, and a button for each room.

import { home } from '../api.js'
import { html, useEffect, useState } from '../html.js'
import { age, t } from '../text/text.js'
import { Icon } from './icons.js'
import { now } from './store.js'

const readInterval = 3000 // ms between two maps while the robot moves
const moving = new Set(['cleaning', 'returning'])

const percent = (part, whole) => `${Math.round((1000 * part) / whole) / 10}%`

/** place puts a button on the middle of its room. The policy of the page permits no attribute for that. */
function place(button, r, m) {
  if (!button) return
  button.style.left = percent(r.x + r.width / 2, m.width)
  button.style.top = percent(r.y + r.height / 2, m.height)
  button.style.maxWidth = percent(r.width, m.width)
}

/** Room is the button of a room, in its middle. */
function Room({ r, m, chosen, toggle }) {
  return html`<button type="button" class="chipbutton" data-room=${r.name} aria-pressed=${String(chosen)} onClick=${toggle} ref=${(button) => place(button, r, m)}>${chosen && html`<${Icon} name="check" />`}${r.name}</button>`
}

/** FloorMap shows the map of a device. A tap on a room chooses it. It is empty for a device without a map. */
export function FloorMap({ d, rooms, chosen, toggle }) {
  const [m, setMap] = useState(null)
  const [error, setError] = useState('')
  const state = d.doing || d.state
  useEffect(() => {
    let timer = 0
    let isOver = false
    const read = async () => {
      if (!document.hidden) {
        try {
          const next = await home.map(d.id)
          if (isOver) return
          setMap(next)
          setError('')
        } catch (err) {
          if (isOver || err.code === 404) return
          setError(err.message)
        }
      }
      if (moving.has(state)) timer = setTimeout(read, readInterval)
    }
    read()
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [d.id, state])
  if (!m) return error ? html`<p class="error" lang="en">${error}</p>` : null
  const known = m.rooms.filter((r) => rooms.includes(r.name))
  return html`<div class="floormap" role="group" aria-label=${t('map.of', { device: d.name })}><img src=${`data:${m.mime};base64,${m.image}`} width=${m.width} height=${m.height} alt=${t('map.alt', { rooms: m.rooms.map((r) => r.name).join(', ') })} />
    ${known.map((r) => html`<${Room} key=${r.name} r=${r} m=${m} chosen=${chosen.includes(r.name)} toggle=${() => toggle(r.name)} />`)}</div>
    <p class="meta">${age(m.at, now())}${error && html` <span class="error" lang="en">${error}</span>`}</p>`
}
