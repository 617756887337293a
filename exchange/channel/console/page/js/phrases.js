// The words of a plan and of a request for a verb, in the language of the page, from the phrases of the
// server.

import { html } from './html.js'
import { Said, said } from './said.js'
import { language, measure, named, t } from './text/text.js'
import { seconds } from './thread.js'

const asList = (v) => (Array.isArray(v) ? v : [v])

/** places returns the names of places in words. */
const places = (list) => (asList(list).length ? asList(list).join(t('plan.and')) : t('plan.floors'))

/** texts has how the page shows the values that are no plain text. */
const texts = { temperature: (v) => (typeof v === 'number' ? measure(v, '°C') : v), areas: places, rooms: places, colour: (v) => named('color', v, v), quantity: (v) => named('quantity', v, v) }

/** valuesOf returns the values of a phrase for its text. */
const valuesOf = (p) => ({ ...Object.fromEntries(Object.entries(p.values || {}).map(([name, v]) => [name, texts[name] ? texts[name](v) : v])), device: p.device })

/** isFilled returns whether a phrase has all values of a text. */
const isFilled = (p, text) => [...text.matchAll(/\{(\w+)\}/g)].every(([, name]) => valuesOf(p)[name] !== undefined)

/** isKnown returns whether the page can say all phrases. If not, it shows the words of the server. An executor of another maker may send anything. */
const isKnown = (phrases) => Array.isArray(phrases) && phrases.length > 0 && phrases.every((p) => named('act', p?.code, '') && isFilled(p, named('act', p.code)) && isFilled(p, named('then', p.code, '')))

/** plain removes the article before a name that has its own, as in "the my lamp". */
const plain = (text) => text.replaceAll(/\bthe (the|my|our|a) /g, '$1 ')

/** action returns what one phrase does. */
const action = (p) => [p.after && t('plan.after', { time: seconds(p.after) }), t(`act.${p.code}`, valuesOf(p)), p.for && t('plan.for', { time: seconds(p.for) }), p.with && named('with', p.with)].filter(Boolean).join(' ')

/** actionText returns what phrases do. */
const actionText = (phrases) => plain(phrases.map(action).join(', '))

/** effectText returns the consequences of phrases. */
const effectText = (phrases) => plain(phrases.filter((p) => named('then', p.code, '')).map((p) => t(`then.${p.code}`, valuesOf(p))).join('; '))

/** actionWords returns what phrases do, or else the text of the server. */
export const actionWords = ({ phrases, action }) => (isKnown(phrases) ? actionText(phrases) : said(action))

/** Action shows what phrases do, or else the text of the server. */
export const Action = ({ phrases, text }) => (isKnown(phrases) ? html`<span>${actionText(phrases)}</span>` : html`<${Said} text=${text} />`)

/** titleText returns the words of a task: those of its request, or of the verb that somebody has tapped. */
export function titleText(x) {
  const p = x.asked
  if (!p || language === 'en') return x.intent
  const fits = (text) => text && isFilled(p, text)
  const isAct = fits(named('act', p.code, '')) && !/^#/.test(p.values?.colour || '') // such a color has no name
  if (!isAct && !fits(named('asked', p.code, ''))) return x.intent
  return plain([isAct ? t(`act.${p.code}`, valuesOf(p)) : t(`asked.${p.code}`, valuesOf(p)), p.for && t('plan.for', { time: seconds(p.for) })].filter(Boolean).join(' '))
}

/** offText returns what switches a device off again: {device, in, by, timer}, times in seconds. */
const offText = (o) => t(`off.${o.by}`, { device: o.device, time: seconds(o.in), timer: seconds(o.timer || 0) })

/** Effect shows the consequences of phrases, and what switches devices off again, or else the text of the server, which says both. */
export const Effect = ({ phrases, offs = [], text }) => (isKnown(phrases) && asList(offs).every((o) => named('off', o?.by, '')) ? html`<span>${[effectText(phrases), ...asList(offs).map(offText)].filter(Boolean).join('; ')}</span>` : html`<${Said} text=${text} />`)
