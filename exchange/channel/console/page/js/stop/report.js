// What a stop has done: which devices are safe and which are not, and which executors did not confirm
// it or could not be reached.

import { exchange } from '../api.js'
import { plain, toWords } from '../dom.js'
import { html } from '../html.js'
import { Remove } from '../remove.js'
import { age, clock, t } from '../text/text.js'
import { Reset } from './reset.js'
import { reasonText, whyText } from './why.js'

const maxNamed = 4 // devices or executors

export const nameOf = (e) => e.name || e.id

/** reportOf returns what a state says about stops: {me, over, stopped, silent, others}. me is the order to this person; over means that no other stop is active. */
export function reportOf(state, who) {
  const list = state.executors.filter((e) => e.stopped || e.stopping)
  const stopped = list.filter((e) => e.stopped && !e.person)
  const me = list.find((e) => e.person && e.id === who.actor)
  const silent = list.filter((e) => e !== me && !stopped.includes(e))
  const over = !stopped.length && !silent.some((e) => !e.person && e.live) && state.executors.some((e) => !e.person && e.live)
  return { me, over, stopped, silent, others: [...stopped, ...silent] }
}

const devicesOf = (e) => e.stopped?.devices || []

/** nameList names the executors of a list. */
export function nameList(list) {
  const names = list.slice(0, maxNamed).map(nameOf).join(', ')
  return list.length > maxNamed ? t('stop.andmore', { names, count: list.length - maxNamed }) : names
}

/** Headline is one line: the order to this person, the stop with its reason, or the missing confirmations. */
export function Headline({ report: { me, over, stopped, others } }) {
  if (me) return html`<p><strong>${t(over ? 'stop.order' : 'stop.now')}</strong> ${me.stop_order ? reasonText(me.stop_order.why) : ''}</p>`
  if (!stopped.length) return html`<p><strong>${t('stop.title')}</strong> ${t('stop.unconfirmed', { names: nameList(others), count: others.length })}</p>`
  const unsafe = stopped.flatMap(devicesOf).filter((d) => d.state === 'unsafe').length
  return html`<p><strong>${t('stop.stopped')} </strong>${unsafe ? html`<strong>${t('stop.unsafe', { count: unsafe })} </strong>` : null}${whyText(stopped[0].stopped.why)}</p>`
}

/** Report shows the result of a stop for each executor, how to reset the stop, and its reset. */
export function Report({ report, state, who, resetDone }) {
  const { me, over, stopped, silent, others } = report
  const said = me ? '' : whyText(stopped[0]?.stopped.why) // in the headline
  const lines = others.map((e) => html`<div key=${e.id}><p><strong>${nameOf(e)}: </strong>${stateOf(e, said)}</p><${Remove} e=${e} who=${who} /></div>`)
  return html`${me && html`<${PersonOrder} me=${me} over=${over} />`}
    <${Attention} stopped=${stopped} silent=${silent} />
    ${lines.length > 1 ? html`<details><summary id="stopped-each">${summary(stopped, silent)}</summary>${lines}</details>` : lines}
    <${Reset} state=${state} who=${who} stopped=${stopped} done=${resetDone} />`
}

/** Attention names what may still act: devices that are not safe, and executors that could not be reached. It repeats no single line. */
function Attention({ stopped, silent }) {
  if (stopped.length + silent.length < 2) return null
  const not = stopped.flatMap((e) => devicesOf(e).filter((d) => d.state !== 'safe').map((d) => (stopped.length > 1 ? `${deviceText(d)} (${nameOf(e)})` : deviceText(d))))
  const away = silent.filter((e) => !e.person && !e.live)
  const few = (list) => (list.length > maxNamed ? t('stop.andmore', { names: list.slice(0, maxNamed).join(', '), count: list.length - maxNamed }) : list.join(', '))
  return html`${not.length > 0 && html`<p>${t('stop.notsafe', { names: few(not) })}</p>`}
    ${away.length > 0 && html`<p>${t('stop.unreached', { names: few(away.map((e) => `${nameOf(e)} (${t('stop.contact', { age: age(e.last_seen, Date.now()) })})`)) })}</p>`}`
}

/** summary counts safe devices and missing confirmations. */
function summary(stopped, silent) {
  const devices = stopped.flatMap(devicesOf)
  return [devices.length ? safeText(devices) : '', silent.length ? t('stop.silent', { count: silent.length }) : ''].filter(Boolean).join(' · ')
}

const safeText = (devices) => t('stop.safe', { safe: devices.filter((d) => d.state === 'safe').length, all: devices.length })

// A guest gets no name of a device that it does not see.
const deviceText = (d) => `${d.device ? toWords(plain(d.device)) : t('stop.otherdevice')} ${t(d.state === 'pending' ? 'stop.pending' : 'stop.isunsafe')}`

/** stateOf returns the state of an executor, with the reason of its stop if that is not said above. */
function stateOf(e, said) {
  if (!e.stopped) {
    const ordered = e.stop_order?.at ? `, ${t('stop.ordered', { age: age(e.stop_order.at, Date.now()) })}` : ''
    return e.person ? `${t('stop.person')}${ordered}` : e.live ? `${t('stop.silentone')}${ordered}; ${t('stop.later')}` : `${t('stop.silentone')}, ${t('stop.heartbeat', { age: age(e.last_seen, Date.now()) })}; ${t('stop.later')}`
  }
  const devices = devicesOf(e)
  const rest = devices.filter((d) => d.state !== 'safe').sort((a, b) => Number(a.state === 'pending') - Number(b.state === 'pending')) // unsafe before pending
  const named = rest.slice(0, maxNamed).map(deviceText).join(', ')
  const why = whyText(e.stopped.why)
  return [why === said ? '' : why, safeText(devices), rest.length > maxNamed ? t('stop.andmore', { names: named, count: rest.length - maxNamed }) : named].filter(Boolean).join(' · ')
}

/** PersonOrder shows a person the order to stop, with its author and reason, until she confirms that she has stopped. */
function PersonOrder({ me, over }) {
  const o = me.stop_order
  const order = o ? t('stop.by', { why: reasonText(o.why), by: o.by, time: clock(o.at) }) : ''
  const confirm = async (e) => {
    const button = e.target
    button.disabled = true
    button.parentElement.querySelector('[role=alert]')?.remove()
    try {
      const now = (await exchange.executors()).find((x) => x.id === me.id)
      await exchange.profile(me.id, { stopped: { orders: (now?.stopping || []).map((s) => s.id) } })
    } catch (err) {
      const alert = document.createElement('p')
      alert.role = 'alert'
      alert.textContent = err.message
      button.after(alert)
      button.disabled = false
    }
  }
  return html`<div><p>${t(over ? 'stop.wasorder' : 'stop.mustorder', { order })}</p><button type="button" onClick=${confirm}>${t('stop.ihave')}</button></div>`
}
