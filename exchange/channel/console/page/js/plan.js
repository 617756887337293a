// Shows what a request would do, before it is sent, and the plan of one that runs.

import { el, folded, words } from './dom.js'
import { since } from './times.js'

const knows = { dispatched: 'messkit sends the command, and cannot verify its effect', acknowledged: 'the device acknowledges the command', read_back: 'messkit reads the state back', photographed: 'an image shows the result' }
const effects = { query: 'read-only', idempotent: 'idempotent', once: 'not repeatable' }

/** outcome shows a plan, a question or a refusal; a plan without what a confirmation beside it says in the same words, and without who must confirm what is confirmed. */
export function outcome(out, beside, confirmed) {
  if (out.plan) return plan(out.plan, beside, confirmed)
  if (out.question) return [el('p', {}, `Question: ${asking(out.question)}`), out.question.options?.length ? el('p', { className: 'meta' }, out.question.options.join(' · ')) : null]
  if (out.refusal) return [folded(`No device here can do this: ${out.refusal.reason}`)]
  return []
}

/** asking is a question without the choices that it ends with: they stand below it. */
export function asking(q) {
  const [, head, tail] = /^(.+?): (.+)\?$/.exec(q.question || '') || []
  if (!tail || !q.options?.length) return q.question
  const rest = q.options.toSorted((a, b) => b.length - a.length).reduce((text, o) => text.replaceAll(o, ''), tail)
  return /^[\s,]*(or)?[\s,]*$/.test(rest) ? `${head}?` : q.question
}

/** kind is the class that a preview has. */
export const kind = (out) => (out.plan ? (out.plan.confirm?.startsWith('refused') ? 'no' : '') : out.question ? 'asks' : 'no')

function plan(p, beside, confirmed) {
  const off = p.off_in ? ` messkit switches it off within ${seconds(p.off_in)}.` : ''
  const refused = !confirmed && p.confirm?.startsWith('refused') // that comes first: the rest will not be
  const first = el('p', { className: refused ? '' : 'meta' }, `${confirmed ? 'Confirmed.' : sentence(p.confirm)}${refused ? '' : off}`)
  return [
    refused ? first : null,
    p.summary === beside?.action && !p.for ? null : el('p', {}, el('strong', {}, p.summary), p.for && !/\bfor \d/.test(p.summary) ? ` for ${seconds(p.for)}` : ''),
    el('p', { className: 'meta' }, [p.device, `risk: ${p.risk}`, effects[p.effect] || p.effect, p.not_before ? `not before ${since(p.not_before)}` : ''].filter(Boolean).join(' · ')),
    p.steps?.length ? el('ol', {}, p.steps.map((s) => el('li', {}, `${s.summary} (${s.device})`))) : null,
    p.consequences && p.consequences !== beside?.consequences ? el('p', { className: 'meta' }, p.consequences) : null,
    refused ? null : first,
    (p.needs || []).map((n) => el('p', { className: 'meta' }, `Condition: ${n}.`)),
    p.evidence ? el('p', { className: 'meta' }, `Evidence: ${knows[p.evidence] || words(p.evidence)}.`) : null,
  ]
}

const sentence = (s) => (s ? s[0].toUpperCase() + s.slice(1) + '.' : '')

function seconds(n) {
  if (n % 3600 === 0) return `${n / 3600} h`
  if (n % 60 === 0) return `${n / 60} min`
  return `${Math.round(n)} s`
}
