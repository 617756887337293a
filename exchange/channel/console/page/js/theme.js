// Runs before the page is drawn: it sets the theme of this browser, which settings/view.js stores, and
// the language. It begins to load what the script of the page needs first, beside that script: the texts
// and, unless a link signs this browser in, who has signed in.

document.documentElement.dataset.theme = localStorage.getItem('messkit-theme') || 'auto'

const wanted = [localStorage.getItem('messkit-language'), ...(navigator.languages || [navigator.language])]
document.documentElement.lang = wanted.map((l) => String(l || '').slice(0, 2)).find((l) => ['en', 'de'].includes(l)) || 'en'

/** load begins to load a file. */
function load(properties) {
  document.head.append(Object.assign(document.createElement('link'), properties))
}

load({ rel: 'modulepreload', href: `/console/js/text/${document.documentElement.lang}.js` })
if (!/^#[A-Z2-7]{26}$/.test(location.hash)) load({ rel: 'preload', as: 'fetch', crossOrigin: 'anonymous', href: '/console/who' })
