// The templates of the page, and the hooks of its components. Each text in a template loses hidden
// characters and characters that change the order of letters: all texts are foreign data. A test finds
// a component that uses the library directly.

import { h, html as template } from '../vendor/htm-preact-standalone.module.js'
import { plain } from './dom.js'

export { render, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from '../vendor/htm-preact-standalone.module.js'

/** Exact keeps a text in a template as it is. */
class Exact {
  constructor(text) {
    this.text = text
  }
}

/** exact returns a value for a field whose text the page sends back, so that no hidden character gets lost. */
export const exact = (text) => new Exact(text)

const isList = (v) => Array.isArray(v) && v.some((one) => typeof one === 'string' || Array.isArray(one))

/** shown returns a value of a template without hidden characters. */
const shown = (v) => (typeof v === 'string' ? plain(v) : v instanceof Exact ? v.text : isList(v) ? v.map(shown) : v)

/** html makes elements from a template. */
export const html = (parts, ...values) => template(parts, ...values.map(shown))

/** memo returns a component that its parent draws again only with other properties. */
export function memo(component) {
  return function Memo(props) {
    this.shouldComponentUpdate = (next) => Object.keys({ ...this.props, ...next }).some((name) => this.props[name] !== next[name])
    return h(component, props)
  }
}
