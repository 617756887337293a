// What changes comes over one stream. While nobody looks at the page it is
// closed: a browser has few connections to one host, and the stop button needs
// one.

let source = null
let handlers = null
let heard = 0 // when something has come
const silence = 40000 // ms; the exchange gives a sign of life every 15 s

setInterval(() => {
  if (!source || !handlers || Date.now() - heard < silence) return
  hangUp()
  handlers.line(false, 'nothing heard for a while')
  connect()
}, 5000)

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
  heard = Date.now()
  let met = false
  s.addEventListener('hello', () => {
    heard = Date.now()
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
    s.addEventListener(name, (e) => {
      heard = Date.now()
      handlers[name]?.(JSON.parse(e.data))
    })
  }
}
