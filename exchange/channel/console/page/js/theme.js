// Runs before the page is drawn: it sets the theme of this browser, which settings/view.js stores, and
// the language, whose texts it begins to load beside the script of the page.

document.documentElement.dataset.theme = localStorage.getItem('messkit-theme') || 'auto'

const wanted = [localStorage.getItem('messkit-language'), ...(navigator.languages || [navigator.language])]
document.documentElement.lang = wanted.map((l) => String(l || '').slice(0, 2)).find((l) => ['en', 'de'].includes(l)) || 'en'

const texts = document.createElement('link')
texts.rel = 'modulepreload'
texts.href = `/console/js/text/${document.documentElement.lang}.js`
document.head.append(texts)
