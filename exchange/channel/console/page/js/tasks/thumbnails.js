// The picture that a list shows of an ended task besides its summary. The page reads the task when its
// row is visible.

import { exchange } from '../api.js'

const maxReads = 2 // at the same time: a browser has few connections to a host

const known = new Map() // the name of the picture of a task, '' for none, by ref
const waiting = [] // rows whose task is not read yet: {ref, take}
let reading = 0

const seen = new IntersectionObserver((list) => {
  for (const one of list) if (one.isIntersecting) one.target.read?.()
}, { rootMargin: '100px' })

/** thumbnail calls take with the name of the first picture of a task, when its row becomes visible. The returned function ends that. */
export function thumbnail(node, task, take) {
  if (!task.executor_id) return
  node.read = () => {
    seen.unobserve(node)
    if (known.has(task.ref)) return take(known.get(task.ref))
    waiting.push({ ref: task.ref, take })
    next()
  }
  seen.observe(node)
  return () => {
    seen.unobserve(node)
    const at = waiting.findIndex((one) => one.take === take)
    if (at >= 0) waiting.splice(at, 1)
  }
}

async function next() {
  if (reading >= maxReads || !waiting.length) return
  const { ref, take } = waiting.shift()
  reading++
  try {
    const thread = await exchange.thread(ref)
    known.set(ref, thread.attachments?.find((a) => /^image\//.test(a.mime || a.mime_type || a.type || '') || /\.(jpe?g|png|webp|gif)$/i.test(a.name))?.name || '')
    take(known.get(ref))
  } catch {
    // the row stays without a picture
  }
  reading--
  next()
}
