// The texts of the page in the language of the user, with its numbers, units and times.

const languages = { en: 'English', de: 'Deutsch' }
const storageKey = 'messkit-language'
const unitsKey = 'messkit-units'

/** language is the setting of this browser, else the first of its languages that has texts: see theme.js. */
export const language = document.documentElement.lang
const { default: texts } = await import(`./${language}.js`)
const locale = (navigator.languages || []).find((l) => l.startsWith(language)) || language

/** languageNames lists the languages as [code, name]. */
export const languageNames = Object.entries(languages)

/** chooseLanguage stores the language of this browser, and loads the page in it. */
export function chooseLanguage(code) {
  store(storageKey, code)
}

/** languageSetting returns the stored language, or auto. */
export const languageSetting = () => localStorage.getItem(storageKey) || 'auto'

/** chooseUnits stores metric or imperial, and loads the page with these units. */
export function chooseUnits(name) {
  store(unitsKey, name)
}

/** unitsSetting returns the units of this browser. */
export const unitsSetting = () => localStorage.getItem(unitsKey) || 'metric'

const isImperial = unitsSetting() === 'imperial'

/** store keeps a setting, '' and auto for none, and loads the page again. */
function store(key, value) {
  if (value && value !== 'auto') localStorage.setItem(key, value)
  else localStorage.removeItem(key)
  location.reload()
}

/** t returns the text of a key. {name} stands for a value. With {count}, the key can have the forms .one and .other. */
export function t(key, values = {}) {
  const form = 'count' in values && (formatter(Intl.PluralRules).select(values.count) === 'one' ? 'one' : 'other')
  const text = texts[`${key}.${form}`] ?? texts[key]
  return (text ?? key).replaceAll(/\{(\w+)\}/g, (_, name) => (typeof values[name] === 'number' ? number(values[name]) : values[name] ?? ''))
}

/** named returns the text of a word of a kind, such as a verb, or else the word itself. Names are open: a driver may have its own. */
export const named = (kind, word, otherwise = String(word).replaceAll(/[_-]/g, ' ')) => texts[`${kind}.${word}`] ?? otherwise

/** switchText returns the text of a switch: On or Off. */
export const switchText = (on) => named('state', on ? 'on' : 'off')

const made = new Map() // formatters by their options: a browser takes longer to make one than to use it a hundred times

/** formatter returns an object of Intl for the language of the user. It makes it at the first use. */
function formatter(kind, options = {}) {
  const key = kind.name + JSON.stringify(options)
  if (!made.has(key)) made.set(key, new kind(locale, options))
  return made.get(key)
}

/** number formats a number with at most one decimal. */
export const number = (n) => formatter(Intl.NumberFormat, { maximumFractionDigits: 1 }).format(n)

const units = { '°C': 'celsius', '%': 'percent', percent: 'percent', s: 'second', min: 'minute', h: 'hour' }

/** measure formats a value with its unit. Temperatures are in degrees Celsius, and appear as the browser's setting says. */
export function measure(value, unit) {
  if (unit === '°C' && isImperial) return formatter(Intl.NumberFormat, { style: 'unit', unit: 'fahrenheit', unitDisplay: 'short', maximumFractionDigits: 1 }).format(value * 1.8 + 32)
  if (units[unit]) return formatter(Intl.NumberFormat, { style: 'unit', unit: units[unit], unitDisplay: 'short', maximumFractionDigits: 1 }).format(value)
  return unit ? `${number(value)}\u00a0${unit}` : number(value)
}

/** age formats how long ago a time was. now is the time at the server. */
export function age(at, now) {
  const seconds = Math.round((now - new Date(at)) / 1000)
  const relative = formatter(Intl.RelativeTimeFormat, { style: 'short' })
  if (seconds < 60) return relative.format(-Math.max(0, seconds), 'second')
  if (seconds < 3600) return relative.format(-Math.round(seconds / 60), 'minute')
  if (seconds < 86400) return relative.format(-Math.round(seconds / 3600), 'hour')
  return relative.format(-Math.round(seconds / 86400), 'day')
}

/** clock formats a time, with its day unless that is today, and with its second if that matters. */
export function clock(at, toSecond = false) {
  const when = new Date(at)
  const today = when.toDateString() === new Date().toDateString()
  return formatter(Intl.DateTimeFormat, { timeStyle: toSecond ? 'medium' : 'short', ...(today ? {} : { dateStyle: 'short' }) }).format(when)
}

/** byName compares two names. */
export const byName = (a, b) => formatter(Intl.Collator, { numeric: true }).compare(a, b)

/** weekdays returns the short names of the days, Sunday first. */
export const weekdays = () => [4, 5, 6, 7, 8, 9, 10].map((day) => formatter(Intl.DateTimeFormat, { weekday: 'short', timeZone: 'UTC' }).format(Date.UTC(1970, 0, day)))
