// A signed-in browser in a list.

import { html } from '../html.js'
import { age, clock, t } from '../text/text.js'

/** Browser is the row of a browser of an actor. out signs it out; without out the row has no button. */
export function Browser({ b, actor, out }) {
  const name = b.name || t('people.unknown_browser')
  return html`<li><div><strong>${name}</strong>${b.this ? html` <span class="chip good">${t('people.this')}</span>` : null}
    <p class="meta">${t('people.since', { time: clock(b.since), age: age(b.used, Date.now()) })}</p></div>
    ${out && html`<button type="button" class="plain" aria-label=${t('people.out_one', { browser: name, name: actor })} onClick=${out}>${t('people.out')}</button>`}</li>`
}
