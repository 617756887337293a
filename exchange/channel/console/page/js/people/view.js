// The People view: everybody who can sign in, with role, end date and browsers, and the invitations.

import { page } from '../api.js'
import { $ } from '../dom.js'
import { store } from '../home/store.js'
import { html, render, useEffect, useState } from '../html.js'
import { byName, language, t } from '../text/text.js'
import { Invitations, Invite } from './invite.js'
import { Person } from './person.js'

let shown = 0 // counts how often the view was opened
let me = null
let executors = [] // of the last state

/** areas returns the names of the areas of the home. */
const areas = () => [...new Set([...store.devices.values()].map((d) => d.area).filter(Boolean))].sort(byName)

function People({ round }) {
  const [read, setRead] = useState(null)
  const [error, setError] = useState('')
  const [note, setNote] = useState('')
  const load = async () => {
    try {
      setRead(await page.people())
      setError('')
    } catch (err) {
      setError(err.message)
    }
  }
  const act = async (what) => {
    try {
      setNote((await page.changePeople(what)).note || '')
      setError('')
      await load()
    } catch (err) {
      setError(err.message)
    }
  }
  useEffect(() => { load() }, [round])
  return html`<h1 id="people-title">${t('nav.people')}</h1>
    <p class="error" role="alert">${error}</p><p class="meta" role="status">${note}</p>
    ${read && html`<ul class="grid people">${read.people.map((p) => html`<${Person} key=${p.actor} p=${p} me=${me} executor=${executors.find((e) => e.id === p.actor)} areas=${areas()} act=${act} />`)}</ul>
      <${Invitations} list=${read.invitations} act=${act} />`}
    <${Invite} areas=${areas()} made=${load} />`
}

const draw = () => render(html`<${People} round=${shown} />`, $('people-view'))

/** show reads the people and shows them. */
export function show(who) {
  me = who
  $('people').lang = language
  shown++
  draw()
}

/** changed takes the executors of a new state: a helper is one of them. */
export function changed(state) {
  executors = state.executors
  draw()
}
