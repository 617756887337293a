// Sets the theme of this browser before the page is drawn. settings/view.js stores it.

document.documentElement.dataset.theme = localStorage.getItem('messkit-theme') || 'auto'
