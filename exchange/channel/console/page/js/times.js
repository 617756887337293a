// Times, in one form wherever they stand: 22:13 of today, and else with the day,
// 2026-11-22 22:13, as the exchange writes them in its sentences.

import { el } from './dom.js'

const two = (n) => String(n).padStart(2, '0')
const minute = (at) => `${two(at.getHours())}:${two(at.getMinutes())}`
const day = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`

/** exact tells a time of day to the second. */
export const exact = (when) => `${minute(new Date(when))}:${two(new Date(when).getSeconds())}`

/** since tells a time, with its day unless that is today; '' where it is none. */
export function since(when) {
  const at = new Date(when)
  if (Number.isNaN(at.getTime())) return ''
  return day(at) === day(new Date()) ? minute(at) : `${day(at)} ${minute(at)}`
}

/** age tells a time as people do. */
function age(when) {
  const seconds = (Date.now() - new Date(when)) / 1000
  if (Math.abs(seconds) < 45) return 'just now'
  return seconds > 0 && seconds < 3600 ? `${Math.round(seconds / 60)} min ago` : since(when)
}

/** ago is an element that tells the age of something, and goes on telling it. */
export const ago = (when) => el('time', { datetime: when }, age(when))

/** grow tells all ages anew. */
function grow() {
  for (const node of document.querySelectorAll('time[datetime]')) {
    const now = age(node.getAttribute('datetime'))
    if (node.textContent !== now) node.textContent = now
  }
}

setInterval(grow, 15000)
document.addEventListener('visibilitychange', grow) // a page that nobody looks at has no timers to rely on
