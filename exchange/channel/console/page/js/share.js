// The windows of a browser share one event stream: a browser has six connections to one host, and the
// stop button needs one. One window reads the stream, and passes each event on to the others. Without
// Web Locks, which a browser has over HTTPS and on the host of the exchange, each window reads its own, and
// the exchange ends the oldest one when there are more than four.

import { randomId } from './dom.js'

const own = randomId()

/**
 * join takes part in the stream with a name. lead(pass) reads it in this window, and returns a function
 * that ends that; pass gives an event to the other windows, and is null if each window reads its own. take
 * gets an event of another window, and snapshot returns the events for a window that has just joined. With force, this window reads the stream
 * in place of a window that is silent. join returns a function that leaves.
 */
export function join(name, { lead, take, snapshot, force }) {
  if (!navigator.locks || !globalThis.BroadcastChannel) return lead(null)
  const channel = new BroadcastChannel(name)
  const over = new AbortController()
  let end = null // ends the reading of this window
  let release = null
  const stop = () => {
    end?.()
    end = null
    release?.()
  }
  const hold = () => new Promise((done) => {
    if (over.signal.aborted || end) return done()
    release = done
    end = lead((event) => channel.postMessage({ event }))
  })
  const wait = (options) => navigator.locks.request(name, options, hold).catch(() => { // this window leaves, or another one reads in its place
    stop()
    if (!over.signal.aborted) wait({ signal: over.signal })
  })
  channel.onmessage = ({ data: { joins, to, event } }) => {
    if (joins && end) for (const one of snapshot()) channel.postMessage({ to: joins, event: one })
    if (event && !end && (!to || to === own)) take(event)
  }
  channel.postMessage({ joins: own })
  wait(force ? { steal: true } : { signal: over.signal })
  return () => {
    over.abort()
    stop()
    channel.close()
  }
}
