// Repeats an ended task: a new request with the same words and the same structured intent. The exchange
// and the executor decide about it anew, with all confirmations.

import { exchange } from '../api.js'
import { randomId } from '../dom.js'

const ids = new Map() // the id of the new request by ref, until the exchange has answered

/** repeatable returns the request of a task, or null if a copy would mean something else: it has a time or a file of its own. */
export function repeatable(thread) {
  const request = thread.messages.flatMap((m) => m.mess).find((i) => i.request)?.request
  if (!request?.intent || request.constraints?.timing || JSON.stringify(request.context || []).includes('"file"')) return null
  return request
}

/** repeat makes the request of a task again, and returns the ref of the new task. A second call after a lost answer makes no second task. */
export async function repeat(thread) {
  const { id: _, needed_by: until, ...request } = repeatable(thread)
  if (until) request.needed_by = new Date(Date.now() + Math.max(60000, new Date(until) - new Date(thread.created_at))).toISOString()
  if (!ids.has(thread.ref)) ids.set(thread.ref, { id: `web-${randomId().slice(0, 8)}`, request })
  const again = ids.get(thread.ref)
  try {
    const { ref } = await exchange.create({ ...again.request, id: again.id })
    ids.delete(thread.ref)
    return ref
  } catch (err) {
    if (err.code) ids.delete(thread.ref) // the exchange has refused it
    throw err
  }
}
