// What changes comes over one stream. While nobody looks at the page it is
// closed: a browser has few connections to one host, and the stop button needs
// one.

let source = null
let handlers = null

/** follow calls handlers by the name of the event, and handlers.line(connected). */
export function follow(on) {
  handlers = on
  document.addEventListener('visibilitychange', () => (document.hidden ? hangUp() : connect()))
  connect()
}

export function hangUp() {
  source?.close()
  source = null
}

export function connect() {
  if (source || !handlers || document.hidden) return
  const s = new EventSource('/console/events')
  source = s
  let met = false
  s.addEventListener('hello', () => {
    handlers.line(true)
    if (met || s !== source) return
    met = true
    handlers.reset()
  })
  s.onerror = () => {
    handlers.line(false)
    if (s.readyState !== EventSource.CLOSED || s !== source) return
    source = null
    setTimeout(connect, 3000)
  }
  for (const name of ['state', 'thread', 'offer', 'withdrawn', 'reset']) {
    s.addEventListener(name, (e) => handlers[name]?.(JSON.parse(e.data)))
  }
}
