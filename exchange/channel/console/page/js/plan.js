// The plan of a request, before it is sent and while it runs.

import { useStore } from './home/store.js'
import { html } from './html.js'
import { Folded } from './parts.js'
import { Action, Effect } from './phrases.js'
import { Said, optionText, said, sentenceText } from './said.js'
import { clock, named, t } from './text/text.js'
import { stepText } from './tasks/steps.js'
import { seconds } from './thread.js'

/** questionText returns a question without the options at its end: the form lists them. */
export function questionText(q) {
  const text = said(q.question)
  const [, head, tail] = /^(.+?): (.+)\?$/.exec(text || '') || []
  if (!tail || !q.options?.length) return text
  const rest = q.options.map(optionText).toSorted((a, b) => b.length - a.length).reduce((left, o) => left.replaceAll(o, ''), tail)
  return /^[\s,]*(or|oder)?[\s,]*$/.test(rest) ? `${head}?` : text
}

/** questionLang returns the language of a shown question. */
export const questionLang = (q) => (sentenceText(q.question) === null ? 'en' : null)

/** planClass returns the CSS class of a preview. */
export const planClass = (out) => (out.plan ? (out.plan.confirm_by === 'refused' ? 'no' : '') : out.question ? 'asks' : 'no')

/** Plan shows a plan, a question or a rejection. It omits texts that the confirmation form repeats, and the required confirmation of a confirmed plan. */
export function Plan({ out, confirmation, confirmed }) {
  useStore()
  if (out.plan) return html`<${Steps} p=${out.plan} confirmation=${confirmation} confirmed=${confirmed} />`
  if (out.question) return html`<p>${t('plan.question')} <span lang=${questionLang(out.question)}>${questionText(out.question)}</span></p>${out.question.options?.length ? html`<p class="meta">${out.question.options.map(optionText).join(' · ')}</p>` : null}`
  return out.refusal ? html`<div><p>${t('plan.impossible', { reason: '' })}</p><${Folded} text=${out.refusal.reason} /></div>` : null
}

/** first says who must confirm a plan, and when the device goes off again. */
function First({ p, confirmed, refused }) {
  if (refused) return html`<p>${t('plan.refused')} <${Said} text=${p.confirm.replace(/^refused: /, '')} /></p>`
  const off = p.off_in ? ` ${t('plan.off', { time: seconds(p.off_in) })}` : ''
  return html`<p class="meta">${confirmed ? t('plan.confirmed') : named('confirm', p.confirm_by)}${off}</p>`
}

function Steps({ p, confirmation, confirmed }) {
  const refused = !confirmed && p.confirm_by === 'refused' // first, because the plan cannot run
  const first = html`<${First} p=${p} confirmed=${confirmed} refused=${refused} />`
  const line = [p.device, t('plan.risk', { risk: named('risk', p.risk) }), named('repeat', p.effect), p.not_before ? t('plan.notbefore', { time: clock(p.not_before) }) : '']
  return html`${refused ? first : null}
    ${p.summary === confirmation?.action && !p.for ? null : html`<p><strong><${Action} phrases=${p.phrases} text=${p.summary} /></strong>${p.for && !p.phrases?.length && !/\bfor \d/.test(p.summary) ? ` ${t('plan.for', { time: seconds(p.for) })}` : ''}</p>`}
    <p class="meta">${line.filter(Boolean).join(' · ')}</p>
    ${p.steps?.length ? html`<ol>${p.steps.map((s) => html`<li>${stepText(s)} <span class="meta"><${Action} phrases=${s.phrases} text=${s.summary} /></span></li>`)}</ol>` : null}
    ${p.consequences && p.consequences !== confirmation?.consequences ? html`<p class="meta"><${Effect} phrases=${p.phrases} text=${p.consequences} /></p>` : null}
    ${refused ? null : first}
    ${(p.needs || []).map((n) => html`<p class="meta">${t('plan.condition')} <${Said} text=${n} /></p>`)}
    ${p.evidence ? html`<p class="meta">${t('plan.evidence')} ${named('proof', p.evidence)}.</p>` : null}`
}
