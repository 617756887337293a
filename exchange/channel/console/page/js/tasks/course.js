// What was planned and what was done, step by step, from the plan and the messages of a task.

import { terminalStatuses } from '../api.js'
import { valueText } from '../content.js'
import { html } from '../html.js'
import { Chip } from '../parts.js'
import { Action } from '../phrases.js'
import { Said } from '../said.js'
import { clock, language, named, t } from '../text/text.js'
import { finalResponse, itemsOf, lastStatus, reasonOf } from '../thread.js'
import { argsText, deviceName } from './steps.js'

const asList = (v) => (Array.isArray(v) ? v : [])

/** firstWith returns the first status of a thread that has a field. */
const firstWith = (x, field) => itemsOf(x).map((i) => i.status).find((s) => s?.[field])

/** plannedSteps returns the steps {device, capability, args, summary}: those of the plan with the digest that the task has, else those that its executor has named. */
export function plannedSteps(x, plan) {
  if (plan) return plan.steps?.length ? plan.steps : [plan]
  const uses = asList(firstWith(x, 'uses')?.uses)
  const begin = itemsOf(x).map((i) => i.status).find((s) => s?.code === 'in_progress' && s.action_hash)
  const words = [...asList(begin?.completed), ...asList(begin?.remaining)]
  if (words.length && words.length === uses.length) return uses.map((u, i) => ({ ...u, summary: words[i] }))
  return uses.length ? uses : words.map((summary) => ({ summary }))
}

/** resultOf returns the values that the response of a task has for a device, or null. */
function resultOf(x, device) {
  const rows = (finalResponse(x)?.content || []).map((c) => c?.structured).flatMap((v) => [v, ...Object.values(v || {})].filter(Array.isArray).flat())
  const own = rows.filter((r) => r?.device === device)
  return own.length === 1 ? Object.entries(own[0]).filter(([name]) => name !== 'device') : null
}

/** outcomeOf returns what the messages say about a step: {kind, status}. kind is done, part, not, unknown or open. */
function outcomeOf(x, step, count) {
  const end = terminalStatuses.has(x.status) ? lastStatus(x, x.status) : null
  const report = end || lastStatus(x, 'in_progress')
  const [done, left] = [asList(report?.completed), asList(report?.remaining)]
  if (x.status === 'completed') return { kind: end?.evidence === 'unknown' ? 'unknown' : 'done', status: end }
  if (count > 1 && done.includes(step.summary)) return { kind: 'done', status: end }
  if (!end) return { kind: 'open', status: null }
  const effect = end.reason?.effect
  if (effect === 'none' || !lastStatus(x, 'in_progress') && effect !== 'unknown') return { kind: 'not', status: end }
  if (count > 1 && done.length && left.includes(step.summary)) return { kind: 'not', status: end }
  return { kind: count === 1 && (effect === 'partial' || x.status === 'partial') ? 'part' : 'unknown', status: end }
}

const chips = { done: 'completed', part: 'partial', not: 'failed', unknown: 'held', open: 'pending' }

function Outcome({ x, step, count }) {
  const { kind, status } = outcomeOf(x, step, count)
  const { kind: type, detail } = reasonOf(status || {})
  const values = kind === 'done' && step.device && resultOf(x, step.device)
  const parts = kind === 'part' ? [['course.ready', status.completed], ['course.left', status.remaining]].filter(([, list]) => asList(list).length).map(([key, list]) => t(key, { names: list.join(', ') })) : []
  const why = kind === 'done' || kind === 'open' || language === 'en' ? '' : named('reason', type, '')
  return html`<${Chip} code=${chips[kind]} label=${t(`course.${kind}`)} />
    ${kind === 'done' && status?.evidence ? html`<p class="meta">${named('evidence', status.evidence)}</p>` : null}
    ${values ? html`<p>${values.map(([name, v]) => `${named('quantity', name)}: ${valueText(v, name)}`).join(' · ')}</p>` : null}
    ${parts.map((text) => html`<p>${text}</p>`)}
    ${why ? html`<p>${why}</p>` : null}${kind === 'done' || kind === 'open' || !detail ? null : html`<p class="meta"><${Said} text=${detail} /></p>`}`
}

/** Step is the planned side of a step. */
function Step({ step }) {
  const value = argsText(step.args)
  return html`${step.device ? html`<strong>${deviceName(step.device)}</strong> ` : null}${step.capability ? named('verb', step.capability) : null}${value ? html` <b>${value}</b>` : null}${step.summary ? html`<p class="meta"><${Action} phrases=${step.phrases} text=${step.summary} /></p>` : null}`
}

/** Course shows the plan beside the course of a task, or nothing if no message names a step. */
export function Course({ x, plan }) {
  const steps = plannedSteps(x, plan)
  if (!steps.length) return null
  const receipt = terminalStatuses.has(x.status) && lastStatus(x, x.status)?.receipt
  return html`<h2>${t('course.title')}</h2><table class="course"><thead><tr><th scope="col">${t('course.planned')}</th><th scope="col">${t('course.happened')}</th></tr></thead>
    <tbody>${steps.map((step) => html`<tr><td data-label=${t('course.planned')}><${Step} step=${step} /></td><td data-label=${t('course.happened')}><${Outcome} x=${x} step=${step} count=${steps.length} /></td></tr>`)}</tbody></table>
    ${receipt?.started ? html`<p class="meta">${t('course.times', { from: clock(receipt.started, true), to: clock(receipt.ended, true) })}</p>` : null}`
}
