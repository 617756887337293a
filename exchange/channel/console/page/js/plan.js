// Elements for the plan of a request, before it is sent and while it runs.

import { el, foldedText, toWords } from './dom.js'
import { timeText } from './times.js'

const evidenceTexts = { dispatched: 'messkit sends the command, and cannot verify its effect', acknowledged: 'the device acknowledges the command', read_back: 'messkit reads the state back', photographed: 'an image shows the result' }
const effectTexts = { query: 'read-only', idempotent: 'idempotent', once: 'not repeatable' }

/** planNodes returns a plan, a question or a rejection. It omits texts that the confirmation form repeats, and the required confirmation of a confirmed plan. */
export function planNodes(out, confirmation, confirmed) {
  if (out.plan) return plan(out.plan, confirmation, confirmed)
  if (out.question) return [el('p', {}, `Question: ${questionText(out.question)}`), out.question.options?.length ? el('p', { className: 'meta' }, out.question.options.join(' · ')) : null]
  if (out.refusal) return [foldedText(`No device here can do this: ${out.refusal.reason}`)]
  return []
}

/** questionText returns a question without the options at its end: the form lists them. */
export function questionText(q) {
  const [, head, tail] = /^(.+?): (.+)\?$/.exec(q.question || '') || []
  if (!tail || !q.options?.length) return q.question
  const rest = q.options.toSorted((a, b) => b.length - a.length).reduce((text, o) => text.replaceAll(o, ''), tail)
  return /^[\s,]*(or)?[\s,]*$/.test(rest) ? `${head}?` : q.question
}

/** planClass returns the CSS class of a preview. */
export const planClass = (out) => (out.plan ? (out.plan.confirm?.startsWith('refused') ? 'no' : '') : out.question ? 'asks' : 'no')

function plan(p, confirmation, confirmed) {
  const off = p.off_in ? ` messkit switches it off within ${durationText(p.off_in)}.` : ''
  const refused = !confirmed && p.confirm?.startsWith('refused') // first, because the plan cannot run
  const first = el('p', { className: refused ? '' : 'meta' }, `${confirmed ? 'Confirmed.' : sentence(p.confirm)}${refused ? '' : off}`)
  return [
    refused ? first : null,
    p.summary === confirmation?.action && !p.for ? null : el('p', {}, el('strong', {}, p.summary), p.for && !/\bfor \d/.test(p.summary) ? ` for ${durationText(p.for)}` : ''),
    el('p', { className: 'meta' }, [p.device, `risk: ${p.risk}`, effectTexts[p.effect] || p.effect, p.not_before ? `not before ${timeText(p.not_before)}` : ''].filter(Boolean).join(' · ')),
    p.steps?.length ? el('ol', {}, p.steps.map((s) => el('li', {}, `${s.summary} (${s.device})`))) : null,
    p.consequences && p.consequences !== confirmation?.consequences ? el('p', { className: 'meta' }, p.consequences) : null,
    refused ? null : first,
    (p.needs || []).map((n) => el('p', { className: 'meta' }, `Condition: ${n}.`)),
    p.evidence ? el('p', { className: 'meta' }, `Evidence: ${evidenceTexts[p.evidence] || toWords(p.evidence)}.`) : null,
  ]
}

const sentence = (s) => (s ? s[0].toUpperCase() + s.slice(1) + '.' : '')

function durationText(n) {
  if (n % 3600 === 0) return `${n / 3600} h`
  if (n % 60 === 0) return `${n / 60} min`
  return `${Math.round(n)} s`
}
