// The test of a device: a reading without an effect, and a short act that the user asks for.

import { setup } from '../api.js'
import { useAttempt } from '../attempt.js'
import { html, useEffect, useState } from '../html.js'
import { optionText } from '../said.js'
import { clock, measure, named, t } from '../text/text.js'
import { Act } from './controls.js'
import { asks, can } from './describe.js'
import { mayOperate } from './store.js'
import { Note } from './tile.js'

const trialTime = '10s' // of a trial that switches on: long enough to read the device back

/** Result is the result of a reading, in words. Its text comes from the server. */
function Result({ r }) {
  const key = !r.ok ? 'trial.fails' : r.doubt ? 'trial.doubt' : 'trial.works'
  const about = [r.evidence && named('evidence', r.evidence), clock(r.at), measure(Math.round(r.took * 10) / 10, 's')].filter(Boolean).join(' · ')
  return html`<p class=${r.ok ? (r.doubt ? 'warn' : 'good') : 'error'} data-test=${!r.ok ? 'fails' : r.doubt ? 'doubt' : 'works'}>${t(key)} <span lang=${optionText(r.text) === r.text ? 'en' : null}>${optionText(r.text)}</span></p><p class="meta">${about}</p>`
}

/** Trial tests a device. With now, it reads the device at once. A switch has a trial that is a request like every tap. */
export function Trial({ d, now }) {
  const [result, setResult] = useState(null)
  const { attempt, busy, error } = useAttempt()
  const test = () => attempt(() => setup.test(d.device).then(setResult, (err) => {
    setResult(null)
    throw err
  }))
  useEffect(() => { if (now) test() }, [d.id])
  const short = mayOperate() && can(d, 'switch-on')?.parameters?.for
  return html`<div class="trial"><div class="acts">
      <button type="button" class="act" aria-disabled=${busy ? 'true' : null} aria-label=${t('trial.testof', { device: d.name })} onClick=${test}>${t(busy ? 'trial.busy' : 'trial.test')}</button>
      ${short && html`<${Act} d=${d} verb="switch-on" args=${{ for: trialTime }} label=${asks(d, 'switch-on') ? t('asks', { verb: t('trial.short') }) : t('trial.short')} />`}</div>
    <div role="status">${result && html`<${Result} r=${result} />`}</div><p class="error" role="alert" lang="en">${error}</p>
    ${!now && short && html`<${Note} d=${d} />`}<p class="hint">${t(short ? 'trial.about' : 'trial.reads')}</p></div>`
}
