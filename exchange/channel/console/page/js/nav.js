// The navigation between the views: tabs below the header, and on phones a bar at the bottom.

import { html, render } from '../vendor/htm-preact-standalone.module.js'
import { $ } from './dom.js'
import { Icon } from './home/icons.js'
import { language, t } from './text/text.js'

const views = [['home', 'home'], ['tasks', 'list'], ['executors', 'rack'], ['people', 'people'], ['settings', 'settings']]

/** draw shows the navigation, with the current view marked. */
export function draw(current) {
  const nav = $('nav')
  nav.hidden = false
  nav.lang = language
  nav.setAttribute('aria-label', t('nav.label'))
  render(views.map(([view, icon]) => html`<a key=${view} href=${`#${view}`} aria-current=${view === current ? 'page' : null}><${Icon} name=${icon} /><span>${t(`nav.${view}`)}</span></a>`), nav)
}
