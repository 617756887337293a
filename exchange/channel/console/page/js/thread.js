// What the messages of a thread say.

import { terminalStatuses } from './api.js'
import { clock, named, t } from './text/text.js'

/** itemsOf returns the items of all messages, the oldest first. */
export const itemsOf = (thread) => thread.messages.flatMap((m) => m.mess)

/** requestOf returns the request of a thread. */
export const requestOf = (thread) => itemsOf(thread).find((i) => i.request)?.request || {}

/** lastStatus returns the last status of a thread with a code, or null. */
export function lastStatus(thread, code) {
  for (const m of thread.messages.toReversed()) {
    for (const item of m.mess) if (item.status?.code === code) return { ...item.status, ref: m.ref, from: m.from, received: m.received }
  }
  return null
}

/** finalResponse returns the response of an ended task, or null. */
export const finalResponse = (thread) => (terminalStatuses.has(thread.status) ? itemsOf(thread).findLast((i) => i.response?.content?.length)?.response : null)

/** reasonOf returns the reason of a status: {kind, detail, effect}. The kind has a text of the page, or is ''. */
export function reasonOf(status) {
  const r = status.reason
  if (!r) return { kind: '', detail: '', effect: '' }
  if (typeof r === 'string') return { kind: '', detail: r, effect: '' }
  return { kind: r.type || '', detail: r.detail || '', effect: r.effect ? t('task.effect', { effect: named('effect', r.effect) }) : '' }
}

/** duration formats PT1H30M as 1 h 30 min. */
export function duration(text) {
  const m = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/.exec(text)
  if (!m?.slice(1).some(Boolean)) return text
  return [m[1] && t('time.days', { count: Number(m[1]) }), m[2] && `${m[2]} h`, m[3] && `${m[3]} min`, m[4] && `${Math.round(m[4] * 10) / 10} s`].filter(Boolean).join(' ')
}

/** seconds formats a number of seconds. */
export function seconds(n) {
  if (n % 3600 === 0) return `${n / 3600} h`
  return n % 60 === 0 ? `${n / 60} min` : `${Math.round(n)} s`
}

/** remainingText returns the remaining time of a task. */
export function remainingText(eta) {
  if (!eta) return ''
  if (eta.startsWith('P')) return t('time.left', { time: duration(eta) })
  return Number.isNaN(Date.parse(eta)) ? '' : t('time.until', { time: clock(eta) })
}

/** lateTime returns the time of a state that arrived late, or ''. An unset clock gives no time. */
export function lateTime(response, receivedAt) {
  return !response.clock && new Date(receivedAt) - new Date(response.completed_at) > 5000 ? response.completed_at : ''
}
