// How the pages speak to the exchange. The browser is signed in by a cookie that
// scripts cannot read.

import { plain } from './dom.js'

export class Refused extends Error {
  constructor(code, body) {
    super(plain(body.error || `the exchange answered with HTTP status ${code}`))
    this.code = code
    this.why = body.why
    this.status = body.status // of the thread, where there is one
  }
}

/** signedOut reports whether an error says that this browser is not signed in, or not any more. */
export const signedOut = (err) => err instanceof Refused && err.code === 401

/** Away says that the exchange was not reached: the same may be sent again. */
export class Away extends Error {}

/** ended are the states that nothing comes after. */
export const ended = new Set(['completed', 'partial', 'failed', 'declined', 'cancelled', 'expired', 'superseded', 'delegated'])

const notNow = new Set([408, 429, 502, 503, 504]) // a proxy says some of them while the exchange starts

let under = new AbortController() // what is on its way, but for a stop

/** letGo gives up all that is on its way, so that the browser has a connection for a stop. */
export function letGo() {
  under.abort()
  under = new AbortController()
  window.stop() // pictures, and a page that is being left
}

const anyOf = (signals) => AbortSignal.any ? AbortSignal.any(signals) : signals[0]

async function call(method, path, body, options = {}) {
  let answer
  let text
  const signal = options.alone ? options.signal : anyOf([options.signal, under.signal].filter(Boolean))
  try {
    answer = await fetch(path, {
      method, credentials: 'same-origin', redirect: 'error',
      headers: body === undefined ? {} : { 'Content-Type': options.type || 'application/json' },
      body: body === undefined || options.type ? body : JSON.stringify(body),
      keepalive: options.keepalive, signal,
    })
    text = await answer.text()
  } catch (err) {
    throw new Away(err.name === 'AbortError' ? 'the page cancelled the request before the exchange answered; check the task, and try again' : 'the exchange is unreachable')
  }
  let value = {}
  try {
    value = JSON.parse(text || '{}')
  } catch {
    value = { error: /^\s*</.test(text) ? '' : text.slice(0, 200) } // not the page of a proxy
  }
  if (notNow.has(answer.status)) throw new Away(value.error || 'the exchange is temporarily unavailable')
  if (!answer.ok) throw new Refused(answer.status, value)
  return value
}

let base = ''

export const page = {
  who: () => call('GET', '/console/who'),
  signIn: (what) => call('POST', '/console/session', what),
  signOut: () => call('DELETE', '/console/session'),
  plan: (intent, signal) => call('POST', '/console/plan', { intent }, { signal }),
  /** planned is the plan of a request after what was answered to its questions. */
  planned: (request, answers) => call('POST', '/console/plan', { intent: request.intent, requires: (request.requires || []).map((c) => (typeof c === 'string' ? c : Object.keys(c)[0])), answers }),
  stop: (why, signal) => call('POST', '/console/stop', { why }, { keepalive: true, signal, alone: true }),
  /** release and arm take the code that the exchange asks for under confirm: code. */
  release: async (anyway) => call('POST', '/console/release', { anyway, ...(await again()) }),
  arm: async (what) => call('POST', '/console/arm', { ...what, ...(['arm', 'unlock'].includes(what.do) ? await again() : {}) }),
  refused: () => call('GET', '/console/refused'),
  pictures: () => call('GET', '/console/pictures'),
  notices: (what) => (what ? call('POST', '/console/notices', what) : call('GET', '/console/notices')),
  /** code is the code that confirms the question of a thread, or without one that lets something act again: {code, until}. */
  code: (ref) => call('POST', '/console/code', { ref }),
  invite: (who) => call('POST', '/console/invite', who),
}

let who = {}

/** again is the code that lets something act again, where the exchange asks for one. */
const again = async () => (who.confirm === 'code' ? { code: (await page.code('')).code } : {})

/** frees reports whether this browser may release a stop, arm and unlock: a person signed it in, at the place. */
export const frees = (me) => me.at_place && (me.person || me.confirm === 'script')

/** freeing tells where a stop is released, or what was disarmed is armed, if not in this browser. */
export function freeing(me, command) {
  if (me.at_place) return 'This browser signed in with a key, which a program may hold as well. Run messkit console in a terminal on this host and open its link.'
  const here = 'this page in a browser on the host'
  return `Check the devices, and then use on the host: ${{ page: here, code: `${command} --code CODE, or ${here}` }[me.confirm] || `${command}, or ${here}`}.`
}

/** begin finds out who is signed in: {actor, roles, exchange, here, at_place, confirm, person}. */
export async function begin() {
  who = await page.who()
  base = `/api/v1/exchanges/${encodeURIComponent(who.exchange)}/`
  return who
}

/** mayAsk reports whether somebody may ask for anything, and so for a hold. A stop may be pressed by everybody. */
export const mayAsk = (who) => who.roles.includes('requester') || who.roles.includes('operator')

const part = encodeURIComponent

export const exchange = {
  /** known reports whether it is known which exchange this is. */
  known: () => base !== '',
  list: (query) => call('GET', `${base}requests?${new URLSearchParams(query)}`).then((v) => v.threads),
  thread: (ref) => call('GET', `${base}requests/${part(ref)}`).then((v) => v.thread),
  ask: (request) => call('POST', `${base}requests`, request),
  say: (ref, ...items) => call('PATCH', `${base}requests/${part(ref)}`, { mess: items }),
  /** post sends a message that has an id of its own: sent twice, it counts once. */
  post: (id, ref, items) => call('POST', `${base}mess`, { id, re: [ref], MESS: items }),
  capabilities: () => call('GET', `${base}capabilities`).then((v) => v.capabilities),
  executors: () => call('GET', `${base}executors`).then((v) => v.executors),
  profile: (id, what) => call('PATCH', `${base}executors/${part(id)}`, what),
  forget: (id) => call('DELETE', `${base}executors/${part(id)}`),
  register: (who) => call('POST', `${base}register`, who),
  hold: (what) => call('POST', `${base}hold`, what),
  resume: (what) => call('POST', `${base}resume`, what),
  attachment: (ref, name) => `${base}requests/${part(ref)}/attachments/${part(name)}`,
  upload: (ref, name, type, data) => call('PUT', `${base}requests/${part(ref)}/attachments/${part(name)}`, data, { type }),
}
