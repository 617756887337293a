// The reset of a stop. The exchange allows it to a person on the host of the executor.

import { mayReset, page } from '../api.js'
import { releaseFocus } from '../dom.js'
import { html, useState } from '../html.js'
import { Said } from '../said.js'
import { clock, t } from '../text/text.js'

/** Reset says how to reset a stop: with a button for the local executor in an operator's browser on the host, else on the hosts of the executors. done(button) is called before a reset; the button is null unless it had the focus. */
export function Reset({ state, who, stopped, done }) {
  const mine = state.here?.stopped && who.roles.includes('operator')
  const others = stopped.some((e) => !mine || e.id !== state.here.executor)
  return html`${mine ? mayReset(who) ? html`<${ResetButton} done=${done} />` : html`<p>${t('reset.onhost')} ${hint(who, 'messkit clear')}</p>` : null}
    ${mine ? html`<${Code} who=${who} command="messkit clear" />` : null}
    ${others ? html`<p>${t(mine ? 'reset.others' : 'reset.command')} <code>messkit clear</code></p>` : null}`
}

/** hint explains how to run a command if this browser may not reset or arm. */
export function hint(who, command) {
  if (who.at_place) return t(who.link ? 'reset.link' : 'reset.key')
  const here = t('reset.here')
  return t('reset.use', { how: { page: here, code: t('reset.or', { command: `${command} --code CODE`, here }) }[who.confirm] || t('reset.or', { command, here }) })
}

/** ResetButton resets the stop. If devices may be unsafe, it names them first and requires a second press. */
function ResetButton({ done }) {
  const [refused, setRefused] = useState(null) // {message, anyway}
  const reset = async (e, anyway) => {
    const button = e.currentTarget
    done(document.activeElement === button ? button : null)
    const back = releaseFocus(button)
    button.disabled = true
    try {
      await page.resetStop(anyway)
    } catch (err) {
      setRefused({ message: err.message, anyway: err.code === 409 && !anyway })
      done(null)
      button.disabled = false
      back()
    }
  }
  return html`<div><button type="button" onClick=${(e) => reset(e, false)}>${t('reset.button')}</button>
    ${refused && html`<div class="refused" role="alert"><p><${Said} text=${refused.message} /></p>${refused.anyway ? html`<button type="button" onClick=${(e) => reset(e, true)}>${t('reset.anyway')}</button>` : null}</div>`}</div>`
}

/** Code is a button that shows the code for a command on the host, or nothing if the exchange has no codes or no person signed this browser in. */
export function Code({ who, command }) {
  const [text, setText] = useState('')
  if (who.confirm !== 'code' || !who.person || !who.roles.includes('operator')) return null
  const show = async () => {
    try {
      const { code, until } = await page.code('')
      setText(t('reset.code', { command, code, time: clock(until) }))
    } catch (err) {
      setText(err.message)
    }
  }
  return html`<div><button type="button" class="plain" onClick=${show}>${t('reset.show', { command })}</button><p class="meta" role="status">${text}</p></div>`
}
