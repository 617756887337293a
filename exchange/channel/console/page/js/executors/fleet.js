// The rows of the fleet: each executor with what it needs, the most urgent first.

import { toWords, plain } from '../dom.js'
import { said } from '../said.js'
import { whyText } from '../stop/why.js'
import { age, byName, clock, language, measure, named, t } from '../text/text.js'
import { drainText } from './drain.js'

const lowBattery = 20 // percent

/** idsOf returns the ids of the capabilities of an executor. */
export const idsOf = (e) => (e.capabilities || []).map((c) => (typeof c === 'string' ? c : Object.keys(c)[0]))

/** capabilityText returns the name of a capability in the language of the page. */
export const capabilityText = (id) => (language === 'en' ? toWords(id) : named('verb', id))

/** areasOf returns the areas in which an executor can do something. */
export const areasOf = (e) => [...new Set((e.capabilities || []).flatMap((c) => (typeof c === 'string' ? [] : Object.values(c)[0]?.areas || [])))].sort(byName)

/** helpOf lists what an executor needs, the most urgent first: {rank, text}. newest is the newest version of messkit in the fleet. */
export function helpOf(e, newest) {
  const unsafe = (e.stopped?.devices || []).filter((d) => d.state === 'unsafe')
  const failing = e.failing || []
  const old = newest && e.software?.startsWith('messkit ') && e.software !== newest
  return [
    unsafe.length && { rank: 0, text: t('help.unsafe', { devices: unsafe.slice(0, 3).map((d) => toWords(plain(d.device))).join(', '), count: unsafe.length }) },
    e.stopping && { rank: 1, text: t('help.stopping') },
    e.stopped && { rank: 2, text: t('help.stopped', { why: whyText(e.stopped.why) }) },
    !e.live && { rank: 3, text: t('help.offline', { time: clock(e.last_seen) }) },
    e.disarmed && { rank: 4, text: t('help.disarmed', { why: typeof e.disarmed === 'string' ? e.disarmed : JSON.stringify(e.disarmed) }) },
    failing.length && { rank: 5, text: failing.length === 1 ? t('help.failing', { device: toWords(plain(failing[0].device)), why: said(failing[0].why), time: clock(failing[0].at) }) : t('help.failings', { devices: failing.slice(0, 3).map((f) => toWords(plain(f.device))).join(', '), count: failing.length }) },
    e.battery && !e.battery.charging && e.battery.percent <= lowBattery && { rank: 6, text: t('help.battery', { level: measure(e.battery.percent, '%') }) },
    e.on_hold && { rank: 7, text: t('help.drained', { why: drainText(e) }) },
    old && { rank: 8, text: t('help.old', { version: e.software, newest }) },
  ].filter(Boolean)
}

const versionOf = (software) => software.slice('messkit '.length).split(/[.-]/).map((n) => Number.parseInt(n, 10) || 0)

function compareVersions(a, b) {
  const [x, y] = [versionOf(a), versionOf(b)]
  for (let i = 0; i < Math.max(x.length, y.length); i++) if ((x[i] || 0) !== (y[i] || 0)) return (x[i] || 0) - (y[i] || 0)
  return 0
}

/** newestOf returns the newest version of messkit among executors, or ''. */
export const newestOf = (list) => list.map((e) => e.software || '').filter((s) => /^messkit v?\d/.test(s)).sort(compareVersions).at(-1) || ''

/** rowsOf returns a row for each executor that is no person: {e, name, help, areas, text}. The urgent ones are first. */
export function rowsOf(executors) {
  const machines = executors.filter((e) => !e.person)
  const newest = newestOf(machines)
  return machines.map((e) => {
    const [help, areas, name] = [helpOf(e, newest), areasOf(e), e.name || e.id]
    return { e, name, help, areas, text: [name, e.id, ...areas, ...idsOf(e).flatMap((c) => [toWords(c), capabilityText(c)]), e.software || '', ...help.map((h) => h.text)].join(' ').toLowerCase() }
  }).sort((a, b) => (a.help[0]?.rank ?? 99) - (b.help[0]?.rank ?? 99) || byName(a.name, b.name))
}

/** found returns the rows that have all words, and need help if only those are wanted. */
export function found(rows, words, needHelp) {
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean)
  return rows.filter((r) => (!needHelp || r.help.length) && parts.every((p) => r.text.includes(p)))
}

/** grouped returns the items of the list: rows, with a heading before each area if they are grouped. A row with several areas is in its first. */
export function grouped(rows, byArea) {
  if (!byArea) return rows.map((row) => ({ row }))
  const areas = new Map()
  for (const row of rows) areas.set(row.areas[0] || '', [...(areas.get(row.areas[0] || '') || []), row])
  return [...areas].sort(([a], [b]) => Number(!a) - Number(!b) || byName(a, b)).flatMap(([area, list]) => [{ area, count: list.length }, ...list.map((row) => ({ row }))])
}

/** aboutText describes an executor that needs no help. */
export const aboutText = ({ e, areas }) => [
  e.live ? t('fleet.online') : t('fleet.offline', { age: age(e.last_seen, Date.now()) }), loadText(e), e.software, batteryText(e), areas.slice(0, 3).join(', '),
].filter(Boolean).join(' · ')

/** loadText counts the tasks that an executor has. */
export const loadText = (e) => (e.claims ? t('fleet.tasks', { count: e.claims }) : '')

/** batteryText returns the charge of the battery, '' if the executor reports none. */
export const batteryText = (e) => (e.battery ? t(e.battery.charging ? 'fleet.charging' : 'fleet.battery', { level: measure(e.battery.percent, '%') }) : '')
