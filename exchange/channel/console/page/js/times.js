// Times in the form of the exchange's own texts: 22:13 for today, else with the day, 2026-11-22
// 22:13.

import { el } from './dom.js'
import { t } from './text/text.js'

const pad = (n) => String(n).padStart(2, '0')
const minute = (at) => `${pad(at.getHours())}:${pad(at.getMinutes())}`
const day = (at) => `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`

/** clockText formats a time of day to the second. */
export const clockText = (when) => `${minute(new Date(when))}:${pad(new Date(when).getSeconds())}`

/** timeText formats a time, with its day unless that is today. It returns '' for an invalid time. */
export function timeText(when) {
  const at = new Date(when)
  if (Number.isNaN(at.getTime())) return ''
  return day(at) === day(new Date()) ? minute(at) : `${day(at)} ${minute(at)}`
}

/** ageText formats a time as its age if it is recent. */
function ageText(when) {
  const seconds = (Date.now() - new Date(when)) / 1000
  if (Math.abs(seconds) < 45) return t('age.now')
  return seconds > 0 && seconds < 3600 ? t('age.minutes', { minutes: Math.round(seconds / 60) }) : timeText(when)
}

/** agoNode returns an element that shows the age of a time and keeps it current. */
export const agoNode = (when) => el('time', { datetime: when }, ageText(when))

/** updateAges updates all shown ages. */
function updateAges() {
  for (const node of document.querySelectorAll('time[datetime]')) {
    const now = ageText(node.getAttribute('datetime'))
    if (node.textContent !== now) node.textContent = now
  }
}

setInterval(updateAges, 15000)
document.addEventListener('visibilitychange', updateAges) // browsers delay the timers of a hidden page
