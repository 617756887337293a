// Shows what a request would do, before it is sent, and the plan of one that runs.

import { el, folded, words } from './dom.js'

const knows = { dispatched: 'it is known to be sent, and no more', acknowledged: 'the device says that it has taken it', read_back: 'its state is read from it afterwards', photographed: 'a picture shows it' }
const effects = { query: 'only looks', idempotent: 'can be done again', once: 'happens once' }

/** outcome shows a plan, a question or a refusal; a plan without what a confirmation beside it says in the same words. */
export function outcome(out, beside) {
  if (out.plan) return plan(out.plan, beside)
  if (out.question) return [el('p', {}, `Would ask: ${asking(out.question)}`), out.question.options?.length ? el('p', { className: 'meta' }, out.question.options.join(' · ')) : null]
  if (out.refusal) return [folded(`No robot here would do it: ${out.refusal.reason}`)]
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

function plan(p, beside) {
  const off = p.off_in ? ` It is switched off again within ${seconds(p.off_in)}.` : ''
  return [
    p.summary === beside?.action && !p.for ? null : el('p', {}, el('strong', {}, p.summary), p.for ? ` for ${seconds(p.for)}` : ''),
    el('p', { className: 'meta' }, [p.device, `risk: ${p.risk}`, effects[p.effect] || p.effect, p.not_before ? `not before ${new Date(p.not_before).toLocaleString()}` : ''].filter(Boolean).join(' · ')),
    p.steps?.length ? el('ol', {}, p.steps.map((s) => el('li', {}, `${s.summary} (${s.device})`))) : null,
    p.consequences && p.consequences !== beside?.consequences ? el('p', { className: 'meta' }, p.consequences) : null,
    el('p', { className: 'meta' }, `${sentence(p.confirm)}${off}`),
    (p.needs || []).map((n) => el('p', { className: 'meta' }, `Needs ${n}.`)),
    p.evidence ? el('p', { className: 'meta' }, `How it will be known: ${knows[p.evidence] || words(p.evidence)}.`) : null,
  ]
}

const sentence = (s) => (s ? s[0].toUpperCase() + s.slice(1) + '.' : '')

function seconds(n) {
  if (n % 3600 === 0) return `${n / 3600} h`
  if (n % 60 === 0) return `${n / 60} min`
  return `${Math.round(n)} s`
}
