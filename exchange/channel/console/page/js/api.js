// The client of the HTTP API for the pages. A cookie that scripts cannot read authenticates
// the browser.

import { plain, randomId } from './dom.js'
import { t } from './text/text.js'

export class Rejected extends Error {
  constructor(code, body) {
    super(plain(body.error || t('api.status', { code: String(code) })))
    this.code = code
    this.why = body.why
    this.status = body.status // of the thread, where there is one
  }
}

/** signedOut reports whether an error means that this browser has no valid session. */
export const signedOut = (err) => err instanceof Rejected && err.code === 401

/** Unreachable is the error for a request without an answer: the caller may send it again. aborted: the page itself has ended the request, for a stop. */
export class Unreachable extends Error {
  constructor(message, aborted = false) {
    super(message)
    this.aborted = aborted
  }
}

/** terminalStatuses are the statuses that end a thread. */
export const terminalStatuses = new Set(['completed', 'partial', 'failed', 'declined', 'cancelled', 'expired', 'superseded', 'delegated'])

const retryStatuses = new Set([408, 429, 502, 503, 504]) // a proxy sends some of them while the exchange starts

let pending = new AbortController() // aborts all open requests except a stop

/** abortPending aborts all open requests, so that the browser has a free connection for a stop. */
export function abortPending() {
  pending.abort()
  pending = new AbortController()
  window.stop() // images, and an open navigation
}

const anyOf = (signals) => AbortSignal.any ? AbortSignal.any(signals) : signals[0]

async function call(method, path, body, options = {}) {
  let answer
  let text
  const key = options.key || (method === 'POST' && !options.alone && randomId()) // a browser repeats a request by itself; a stop needs none, and waits for none
  const signal = options.alone ? options.signal : anyOf([options.signal, pending.signal].filter(Boolean))
  try {
    answer = await fetch(path, {
      method, credentials: 'same-origin', redirect: 'error',
      headers: { ...(body === undefined ? {} : { 'Content-Type': options.type || 'application/json' }), ...(key ? { 'Idempotency-Key': key } : {}) },
      body: body === undefined || options.type ? body : JSON.stringify(body),
      keepalive: options.keepalive, signal,
    })
    text = await answer.text()
  } catch (err) {
    const aborted = err.name === 'AbortError'
    throw new Unreachable(t(aborted ? 'api.aborted' : 'api.unreachable'), aborted)
  }
  let value = {}
  try {
    value = JSON.parse(text || '{}')
  } catch {
    value = { error: /^\s*</.test(text) ? '' : text.slice(0, 200) } // not the page of a proxy
  }
  if (retryStatuses.has(answer.status)) throw new Unreachable(value.error || t('api.unavailable'))
  if (!answer.ok) throw new Rejected(answer.status, value)
  return value
}

let base = ''

export const page = {
  who: () => call('GET', '/console/who'),
  signIn: (what) => call('POST', '/console/session', what),
  signOut: () => call('DELETE', '/console/session'),
  plan: (intent, signal) => call('POST', '/console/plan', { intent }, { signal }),
  /** planWithAnswers returns the plan of a request with the answers to its questions. */
  planWithAnswers: (request, answers) => call('POST', '/console/plan', { intent: request.intent, requires: (request.requires || []).map((c) => (typeof c === 'string' ? c : Object.keys(c)[0])), answers }),
  stop: (why, signal) => call('POST', '/console/stop', { why }, { keepalive: true, signal, alone: true }),
  /** resetStop and arm send the code that the exchange requires with confirm: code. */
  resetStop: async (anyway) => call('POST', '/console/release', { anyway, ...(await actingCode()) }),
  arm: async (what) => call('POST', '/console/arm', { ...what, ...(['arm', 'unlock'].includes(what.do) ? await actingCode() : {}) }),
  deniedRequests: () => call('GET', '/console/refused'),
  lastImages: () => call('GET', '/console/pictures'),
  notifications: (what) => (what ? call('POST', '/console/notices', what) : call('GET', '/console/notices')),
  /** bell returns {notices, count}. what marks some as read before: {read: [ids]}, {ref} or {all: true}. */
  bell: (what) => (what ? call('POST', '/console/bell', what) : call('GET', '/console/bell')),
  /** code returns the code that confirms the question of a thread, as {code, until}. Without a ref, the code resets a stop, arms or releases a lockout. */
  code: (ref) => call('POST', '/console/code', { ref }),
  invite: (who) => call('POST', '/console/invite', who),
  people: () => call('GET', '/console/people'),
  changePeople: (what) => call('POST', '/console/people', what),
  browsers: () => call('GET', '/console/browsers'),
  endBrowsers: (which) => call('POST', '/console/browsers', which),
}

/** setup changes the configuration of the program, for operators. A change sends the code that the exchange requires with confirm: code. */
export const setup = {
  config: () => call('GET', '/console/config'),
  check: (text) => call('POST', '/console/config', { do: 'check', text }),
  backup: (backup) => call('POST', '/console/config', { do: 'backup', backup }),
  save: async (text, revision) => call('POST', '/console/config', { do: 'save', text, revision, ...(await actingCode()) }),
  quiet: () => call('GET', '/console/quiet'),
  setQuiet: async (hours) => call('POST', '/console/quiet', { hours, ...(await actingCode()) }),
  search: (at) => call('POST', '/console/search', at),
  found: () => call('GET', '/console/search'),
  add: async (found, name, area) => call('POST', '/console/device', { found, name, area, ...(await actingCode()) }),
  /** look returns the settings of a device that change can set, and what refers to it. */
  look: (device) => call('POST', '/console/device', { do: 'look', device }),
  /** test uses a device without an effect. */
  test: (device) => call('POST', '/console/device', { do: 'test', device }),
  hide: async (device, hidden) => call('POST', '/console/device', { do: 'hide', device, hidden, ...(await actingCode()) }),
  change: async (device, fields) => call('POST', '/console/device', { do: 'change', device, fields, ...(await actingCode()) }),
  remove: async (device) => call('POST', '/console/device', { do: 'remove', device, ...(await actingCode()) }),
  describe: async (device, name, area) => call('POST', '/console/device', { device, name, area, ...(await actingCode()) }),
}

let who = {}

/** actingCode returns {code} if the exchange requires a code to reset, arm or release a lockout, else {}. */
const actingCode = async () => (who.confirm === 'code' ? { code: (await page.code('')).code } : {})

/** mayReset reports whether this browser may reset a stop, arm and release a lockout: a person signed it in, and it runs on the host. */
export const mayReset = (me) => me.at_place && (me.person || me.confirm === 'script')

/** loadIdentity returns the signed-in actor: {actor, roles, exchange, here, at_place, confirm, person, notices}. */
export async function loadIdentity() {
  who = await page.who()
  base = `/api/v1/exchanges/${encodeURIComponent(who.exchange)}/`
  return who
}

/** mayRequest reports whether an actor may create requests and drain orders. Every actor may stop. */
export const mayRequest = (who) => who.roles.includes('requester') || who.roles.includes('operator')

const part = encodeURIComponent

/** siteRef names a thread of a site, which the exchange of this page reads in a copy. */
export const siteRef = (site, ref) => `${site}//${ref}`

/** threadPath returns the path of a thread of this exchange, or of one that siteRef has named. */
function threadPath(ref) {
  const at = ref.indexOf('//')
  return at < 0 ? `${base}requests/${part(ref)}` : `${siteBase(ref.slice(0, at))}requests/${part(ref.slice(at + 2))}`
}

const siteBase = (site) => `/api/v1/exchanges/${part(site)}/`

/** sites reads the uplinks {sites, centre}, and the newest threads of a site. */
export const sites = {
  uplinks: () => call('GET', '/api/v1/sites'),
  list: (site, limit) => call('GET', `${siteBase(site)}requests?limit=${limit}`).then((v) => v.threads),
}

export const exchange = {
  /** isKnown reports whether the page knows the id of its exchange. */
  isKnown: () => base !== '',
  list: (query) => exchange.page(query).then((v) => v.threads),
  /** page returns one page of a list: {threads, cursor}. The last page has no cursor. */
  page: (query) => call('GET', `${base}requests?${new URLSearchParams(query)}`),
  thread: (ref) => call('GET', threadPath(ref)).then((v) => v.thread),
  create: (request) => call('POST', `${base}requests`, request),
  send: (ref, ...items) => call('PATCH', `${base}requests/${part(ref)}`, { mess: items }),
  /** post sends a message with an id: the exchange counts a repeated message once. */
  post: (id, ref, items) => call('POST', `${base}mess`, { id, re: [ref], MESS: items }),
  capabilities: () => call('GET', `${base}capabilities`).then((v) => v.capabilities),
  executors: () => call('GET', `${base}executors`).then((v) => v.executors),
  profile: (id, what) => call('PATCH', `${base}executors/${part(id)}`, what),
  deregister: (id) => call('DELETE', `${base}executors/${part(id)}`),
  register: (who) => call('POST', `${base}register`, who),
  hold: (what) => call('POST', `${base}hold`, what),
  resume: (what) => call('POST', `${base}resume`, what),
  attachment: (ref, name) => `${threadPath(ref)}/attachments/${part(name)}`,
  upload: (ref, name, type, data) => call('PUT', `${base}requests/${part(ref)}/attachments/${part(name)}`, data, { type }),
}

const actTimeout = 10000 // ms until an act has no answer

export const home = {
  read: () => call('GET', '/api/v1/home'),
  /** history returns the readings of a device since a time. */
  history: (device, from) => call('GET', `/api/v1/devices/${part(device)}/history?from=${part(from)}`),
  /** map returns the map of a robot: a picture with rooms. */
  map: (device) => call('GET', `/api/v1/devices/${part(device)}/map`),
  /** tasks returns the last tasks of a device. */
  tasks: (device) => call('GET', `/api/v1/devices/${part(device)}/tasks`).then((v) => v.tasks),
  /** live returns the response with the live picture of a camera. */
  live: async (device, signal) => {
    const answer = await fetch(`/api/v1/devices/${part(device)}/live`, { credentials: 'same-origin', redirect: 'error', signal: anyOf([signal, pending.signal]) })
    if (!answer.ok) throw new Rejected(answer.status, await answer.json())
    return answer
  },
  /** act asks for an act of a device. The exchange carries it out once for each key. */
  act: (device, verb, args, key) => call('POST', `/api/v1/devices/${part(device)}/${part(verb)}`, args, { key, signal: AbortSignal.timeout?.(actTimeout) }),
}
