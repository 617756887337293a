// What every page does: its language, and a focus that is never lost.

import { $ } from './dom.js'
import { t } from './text/text.js'

/** prepare gives the parts of the page outside of its components their language. */
export function prepare() {
  document.querySelector('.skip').textContent = t('page.skip')
  $('line').textContent = t('line.none')
}

/** keepFocus moves the focus from an element that has gone to the part of the page around it. */
export function keepFocus(main) {
  let last = null // the focused element
  let around = null
  document.addEventListener('focusin', (e) => {
    last = main.contains(e.target) ? e.target : null // the rest of the page moves its focus itself
    around = last?.parentElement.closest('[tabindex]')
  })
  new MutationObserver(() => {
    if (!last || last.isConnected || document.activeElement !== document.body) return
    last = null
    ;(around?.isConnected ? around : main).focus({ preventScroll: true })
  }).observe(main, { childList: true, subtree: true })
}
