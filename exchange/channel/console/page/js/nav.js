// The navigation between the views: tabs below the header, and on phones a bar at the bottom.

import { $ } from './dom.js'
import { Icon } from './home/icons.js'
import { html, render } from './html.js'
import { language, t } from './text/text.js'

const views = [['home', 'home'], ['tasks', 'list'], ['executors', 'rack'], ['people', 'people'], ['settings', 'settings']]

/** mayOpen reports whether a user may open a section. People are for operators, and a guest sees the home and its tasks. */
export function mayOpen(section, who) {
  if (['people', 'add', 'config'].includes(section)) return who.roles.includes('operator')
  return who.role !== 'guest' || ['home', 'tasks', 'settings', 'notices'].includes(section)
}

/** draw shows the navigation, with the current view marked. */
export function draw(current, who) {
  const nav = $('nav')
  nav.hidden = false
  nav.lang = language
  nav.setAttribute('aria-label', t('nav.label'))
  render(views.filter(([view]) => mayOpen(view === 'executors' ? 'devices' : view, who)).map(([view, icon]) => html`<a key=${view} href=${`#${view}`} aria-current=${view === current ? 'page' : null}><${Icon} name=${icon} /><span>${t(`nav.${view}`)}</span></a>`), nav)
}
