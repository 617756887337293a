// The executor in the program of the exchange: what is armed, and its devices with their lockouts.

import { exchange, mayReset, page } from '../api.js'
import { plain, taskLink, toWords } from '../dom.js'
import { html, useState } from '../html.js'
import { Said, said } from '../said.js'
import { Code, hint } from '../stop/reset.js'
import { age, clock, language, measure, named, t } from '../text/text.js'

/** Act is a button that arms, disarms, locks or unlocks. */
function Act({ what, label, name }) {
  const [error, setError] = useState('')
  const act = async (click) => {
    const button = click.currentTarget
    button.disabled = true
    setError('')
    try {
      await page.arm(typeof what === 'function' ? what(button) : what)
    } catch (err) {
      setError(err.message)
    }
    button.disabled = false
  }
  return html`<button type="button" class="plain" aria-label=${name} onClick=${act}>${label}</button>${error ? html`<p class="error" role="alert"><${Said} text=${error} /></p>` : null}`
}

/** Arming shows the disarmed risk classes and devices, and disarms. */
export function Arming({ here, who }) {
  const list = Object.entries(here.disarmed || {})
  return html`<div class="card"><h2>${t(list.length ? 'arm.off' : 'arm.on')}</h2>
    ${here.unknown ? html`<p class="error" lang="en">${here.unknown}</p>` : null}
    ${list.length ? html`<p>${t('arm.these')}</p><ul>${list.map(([what, why]) => html`<li key=${what}>${toWords(plain(what))}: ${plain(why) || t('stop.noreason')} ${mayReset(who) ? html`<${Act} what=${{ do: 'arm', what }} label=${t('arm.button', { what: toWords(plain(what)) })} />` : null}</li>`)}</ul>
      ${mayReset(who) ? null : html`<p class="hint">${hint(who, 'messkit arm')}</p>`}<${Code} who=${who} command="messkit arm" />`
      : html`<p>${t(here.stopped ? 'arm.stopped' : 'arm.all')}</p>`}
    <label for="disarm-what">${t('arm.class')}</label>
    <select id="disarm-what">${['', 'comfort', 'appliance', 'access', 'motion', 'irreversible'].map((c) => html`<option key=${c} value=${c}>${c ? named('risk', c) : t('arm.everything')}</option>`)}</select>
    <${Act} what=${(button) => ({ do: 'disarm', what: button.parentElement.querySelector('select').value, why: 'on the page' })} label=${t('arm.disarm')} /></div>`
}

/** stateWord returns a state of the server in the language of the page: "off", "40 % open", "level 38 %". */
function stateWord(text) {
  if (language === 'en') return text
  const [, opening] = /^([\d.]+) % open$/.exec(text) || []
  if (opening) return t('cover.at', { value: measure(Number(opening), '%') })
  const [, quantity, value, unit] = /^(\D+) (yes|no|-?[\d.]+)(?: (.+))?$/.exec(text) || []
  if (!quantity) return named('state', text, text)
  return `${named('quantity', quantity, quantity)} ${['yes', 'no'].includes(value) ? t(value) : measure(Number(value), unit)}`
}

/** stateTexts returns the last known states of a device. The page never asks a device. */
function stateTexts(d) {
  if (d.doing) return [named('state', plain(d.doing))]
  const known = (d.seen || []).filter((s) => s.text).map((s) => (s.told ? t('here.sent', { state: stateWord(s.text) }) : stateWord(s.text)))
  return known.length ? known : [d.seen ? t('here.acted') : d.reads ? t('value.never') : '']
}

function chipsOf(d) {
  const list = d.started ? stateTexts(d).map((text) => [text, '']) : [[t('here.notstarted'), 'warn']]
  if (d.started && d.failed) list.unshift([t('here.failed'), 'bad'])
  if (d.quarantine) list.push([t('here.quarantine'), 'bad'])
  if (d.locked) list.push([t('here.locked'), 'warn'])
  if (d.disarmed) list.push([t('here.disarmed'), 'warn'])
  if (d.safety) list.push([t('here.since', { state: d.safety === 'safe' ? t('here.safe') : t(d.safety === 'pending' ? 'stop.pending' : 'stop.isunsafe') }), d.safety === 'safe' ? 'good' : 'bad'])
  return [...new Map(list.filter(([text]) => text).map((one) => [one[0], one])).values()] // two readings can have the same words
}

function LocalDevice({ d, picture, who }) {
  const name = d.label || toWords(plain(d.name))
  const read = d.seen?.length && !d.doing ? t('here.asof', { time: clock(d.seen.map((s) => s.as_of).sort()[0]) }) : ''
  const lock = t(d.locked ? 'here.unlock' : 'here.lock')
  const may = who.roles.includes('operator') && (d.locked ? mayReset(who) : d.acts)
  return html`<li><div><h3>${name}</h3> ${chipsOf(d).map(([text, kind]) => html`<span key=${text} class="chip ${kind}">${text}</span> `)}
      <p class="meta">${[d.area && toWords(d.area), d.class && named('class', d.class), read].filter(Boolean).join(' · ')}</p>
      ${d.trouble ? html`<p class="error"><${Said} text=${d.trouble} /></p>` : d.failed ? html`<p class="error">${t('here.failedat', { time: clock(d.failed.at), why: d.failed.why })}</p>` : null}
      ${d.locked ? html`<p class="meta">${t('locked', { reason: said(d.locked) })}</p>` : null}
      ${picture ? html`<a href=${taskLink(picture.ref)}><img class="picture" src=${exchange.attachment(picture.ref, picture.name)} alt=${t('picture.of', { device: name })} /></a><p class="meta">${t('picture.age', { age: age(picture.at, Date.now()) })}</p>` : null}</div>
    ${may ? html`<${Act} what=${{ do: d.locked ? 'unlock' : 'lock', what: d.name, why: 'on the page' }} label=${lock} name=${`${lock}: ${name}`} />` : null}</li>`
}

/** LocalDevices lists the devices of the local executor, or says why there are none. */
export function LocalDevices({ state, pictures, who }) {
  const here = state.here
  const devices = here?.devices || []
  const machines = state.executors.filter((e) => !e.person)
  const none = () => {
    if (!who.roles.includes('operator')) return t('here.operators')
    if (here) return t(machines.some((e) => e.id === here.executor && e.live) ? 'here.none' : 'here.starting', { executor: here.executor })
    return t(machines.length ? 'here.others' : 'here.nobody')
  }
  return html`<ul id="local-devices" class="grid">${devices.length ? devices.map((d) => html`<${LocalDevice} key=${d.name} d=${d} who=${who} picture=${pictures.find((p) => p.executor === here.executor && p.device === d.name)} />`) : html`<li><p class="empty">${none()}</p></li>`}</ul>`
}
