// One task: its state, its result or its question, its plan and its messages.

import { Answer } from '../answer.js'
import { terminalStatuses, exchange, mayRequest, page } from '../api.js'
import { Content, Late, Reason, Timeline } from '../content.js'
import { randomId, taskLink, truncate } from '../dom.js'
import { store } from '../home/store.js'
import { html, useEffect, useLayoutEffect, useRef, useState } from '../html.js'
import { Act, Age, Chip, Problem } from '../parts.js'
import { titleText } from '../phrases.js'
import { Plan, planClass } from '../plan.js'
import { Said, said } from '../said.js'
import { showAlert } from '../stop.js'
import { invalidate, mayAnswer } from '../tasks.js'
import { measure, named, t } from '../text/text.js'
import { finalResponse, itemsOf, lastStatus, remainingText, requestOf } from '../thread.js'
import { Course } from './course.js'
import { repeat, repeatable } from './repeat.js'
import { maxTitle } from './row.js'

const unsuccessful = new Set(['partial', 'failed', 'declined', 'cancelled', 'expired'])
const executorRoles = { completed: 'tasks.completedby', partial: 'tasks.partlyby', declined: 'tasks.declinedby' }
const maxAnswers = 16

/** Detail shows a task, {ref, thread} or {ref, error}. A newly opened one gets the focus. */
export function Detail({ shown }) {
  const top = useRef(null)
  const ref = shown?.ref
  useLayoutEffect(() => {
    if (!ref) return
    const box = top.current.parentElement
    box.scrollTo({ top: 0, behavior: 'instant' }) // it has the scroll position of the task before
    box.focus({ preventScroll: true }) // the page has scrolled
  }, [ref])
  const back = html`<p class="back" ref=${top}><a href="#tasks">‹ ${t('tasks.back')}</a></p>`
  if (!shown) return null
  if (shown.error) return html`${back}<h1 id="detail-title">${shown.ref}</h1><${Problem} error=${shown.error} />`
  return html`${back}<${Thread} key=${ref} x=${shown.thread} />`
}

function Thread({ x }) {
  const isOver = terminalStatuses.has(x.status)
  const answers = mayAnswer(x) && ['needs_input', 'needs_confirmation'].includes(x.status)
  const again = () => invalidate(x.ref)
  return html`<h1 id="detail-title">${truncate(titleText(x), 2 * maxTitle)}</h1>
    <p class="meta"><${Chip} code=${x.status} /> ${x.ref} · ${t('tasks.by', { name: x.requestor_id })} <${Age} at=${x.created_at} />${x.executor_id ? ` · ${executorRole(x)}` : ''}</p>
    <${Progress} x=${x} /><${Result} x=${x} />
    ${answers ? html`<div class="card"><${Answer} thread=${x} me=${store.me} title=${titleText(x)} done=${again} /></div>` : null}
    <${Planned} x=${x} asking=${answers} />
    ${!isOver && mayAnswer(x) ? html`<${Act} key="cancel" label=${t('tasks.cancel')} act=${() => cancel(x, again)} />` : null}
    ${isOver && mayRequest(store.me) && repeatable(x) ? html`<${Act} key="repeat" label=${t('tasks.repeat')} act=${async () => { location.hash = taskLink(await repeat(x)) }} />` : null}
    <h2>${t('tasks.messages')}</h2><${Timeline} thread=${x} me=${store.me.actor} without=${finalResponse(x)} />`
}

/** executorRole describes the part of the executor in a task. The exchange itself sets in_progress after an answer, so that the executor may not have started. */
const executorRole = (x) => t(executorRoles[x.status] || (x.status === 'in_progress' && lastStatus(x, 'in_progress')?.from === x.executor_id ? 'tasks.progressat' : 'tasks.claimedby'), { name: x.executor_id })

/** Result is the response, or the reason of an unsuccessful end. */
function Result({ x }) {
  const got = finalResponse(x)
  const end = unsuccessful.has(x.status) ? lastStatus(x, x.status) : null
  if (!got && !(end?.message || end?.reason || end?.suggestion)) return null
  const message = got && x.messages.find((m) => m.mess.some((i) => i.response === got))
  return html`<div class="result">${end?.message ? html`<p><${Said} text=${end.message} /></p>` : null}${end && html`<${Reason} status=${end} />`}${end?.suggestion ? html`<p><${Said} text=${end.suggestion} /></p>` : null}
    ${got && html`<${Late} response=${got} at=${message.ts} />`}${(got?.content || []).map((c) => html`<${Content} thread=${x.ref} one=${c} own=${true} />`)}${got?.notes ? html`<p class="meta"><${Said} text=${got.notes} /></p>` : null}</div>`
}

function Progress({ x }) {
  const now = lastStatus(x, 'in_progress')
  if (x.status !== 'in_progress' || !now) return null
  const hasPart = Number.isFinite(now.progress_pct)
  return html`<div><progress max="100" value=${hasPart ? now.progress_pct : null} aria-label=${t('content.progress')}></progress>
    <p class="meta">${[hasPart ? measure(Math.round(now.progress_pct), '%') : named('status', 'in_progress'), said(now.message), remainingText(now.eta)].filter(Boolean).join(' · ')}</p></div>`
}

/** Planned shows the plan of a task without the texts of the form above it. A running plan has a digest, and the page shows no other plan for it. */
function Planned({ x, asking }) {
  const [out, setOut] = useState(null)
  useEffect(() => {
    let isOver = false
    if (store.me.here && mayRequest(store.me)) planOf(x).then((found) => { if (!isOver) setOut(found) }, () => {}) // there is no plan to show
    return () => { isOver = true }
  }, [x])
  const begun = digestOf(x) && x.status !== 'needs_confirmation'
  const course = html`<${Course} x=${x} plan=${begun ? out?.plan : null} />`
  if (begun || terminalStatuses.has(x.status)) return course
  if (!out) return null
  const asks = lastStatus(x, 'needs_confirmation')
  return html`<div class=${`preview ${planClass(out)}`}><p class="meta">${t(digestOf(x) ? 'plan.title' : 'plan.words')}</p>
    <${Plan} out=${out} confirmation=${asking ? asks : null} confirmed=${asks && x.status !== 'needs_confirmation' && asks.from === x.executor_id} /></div>`
}

const digestOf = (x) => lastStatus(x, 'in_progress')?.action_hash || lastStatus(x, 'needs_confirmation')?.action_hash

/** planOf returns the plan of a task, with the answers to its questions, or null if another plan runs. */
async function planOf(x) {
  const answers = itemsOf(x).map((i) => i.reply?.answers || (i.answer ? { [lastStatus(x, 'needs_input')?.questions?.[0]?.field || 'answer']: i.answer.value } : null)).filter(Boolean)
  const request = requestOf(x)
  const out = await page.planWithAnswers(request.intent ? request : { intent: x.intent }, answers.slice(0, maxAnswers))
  if (!out.plan && (x.executor_id || lastStatus(x, 'declined'))) return null // the messages contain its question or rejection
  return digestOf(x) && out.plan?.digest !== digestOf(x) ? null : out
}

async function cancel(x, done) {
  try {
    await exchange.post(randomId(), x.ref, [{ cancel: {} }])
    done()
  } catch (err) {
    if (terminalStatuses.has(err.status)) showAlert(`${t('late.cancel', { intent: truncate(titleText(x), 100), status: named('status', err.status) })}${err.status === 'completed' ? ` ${t('late.effects')}` : ''}`) // the button disappears
    throw err
  }
}
