// The templates of the page, and the hooks of its components. Each text in a template loses hidden
// characters and characters that change the order of letters: all texts are foreign data.

import { html as template } from '../vendor/htm-preact-standalone.module.js'
import { plain } from './dom.js'

export { render, useEffect, useLayoutEffect, useReducer, useRef, useState } from '../vendor/htm-preact-standalone.module.js'

const isList = (v) => Array.isArray(v) && v.some((one) => typeof one === 'string' || Array.isArray(one))

/** shown returns a value of a template without hidden characters. */
const shown = (v) => (typeof v === 'string' ? plain(v) : isList(v) ? v.map(shown) : v)

/** html makes elements from a template. */
export const html = (parts, ...values) => template(parts, ...values.map(shown))
