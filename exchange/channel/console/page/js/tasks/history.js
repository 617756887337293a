// The ended tasks: with pictures, a search and filters. The list grows at its end by the pages of the exchange.

import { exchange } from '../api.js'
import { mayAsk } from '../ask.js'
import { clean, taskLink } from '../dom.js'
import { html, useEffect, useRef, useState } from '../html.js'
import { Problem } from '../parts.js'
import { titleText } from '../phrases.js'
import { byName, t } from '../text/text.js'
import { Head } from './row.js'
import { thumbnail } from './thumbnails.js'

const step = 30 // rows that the list grows by
const pageSize = 200 // tasks of a page of the exchange
const maxPages = 5 // that the page reads at once for a search
const groups = { all: ['completed', 'partial', 'failed', 'declined', 'cancelled', 'expired', 'superseded', 'delegated'], done: ['completed', 'partial'], failed: ['failed', 'expired'], declined: ['declined'], cancelled: ['cancelled'] }

/** older reads the older pages of the exchange. One reader is for one choice of status, person and device. */
function older(group, person, device) {
  let cursor = ''
  let over = false
  return {
    over: () => over,
    read: async () => {
      const page = await exchange.page([['limit', pageSize], ...groups[group].map((s) => ['status', s]), ...(person ? [['requestor', person]] : []), ...(device ? [['device', device]] : []), ...(cursor ? [['cursor', cursor]] : [])])
      cursor = page.cursor || ''
      over = !cursor
      return clean(page.threads)
    },
  }
}

/** History lists the ended tasks, of one device or of all. list has the newest ones, which the page follows; all says that there are no others. */
export function History({ list, all, device }) {
  const [words, setWords] = useState('')
  const [group, setGroup] = useState('all')
  const [person, setPerson] = useState('')
  const [shown, setShown] = useState(step)
  const [old, setOld] = useState([])
  const [error, setError] = useState('')
  const reader = useRef(null)
  const busy = useRef(false)
  const newest = new Set(list.map((x) => x.ref))
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean)
  const matches = (x) => groups[group].includes(x.status) && (!person || x.requestor_id === person) && parts.every((p) => `${x.intent} ${titleText(x)} ${x.requestor_id} ${x.executor_id || ''} ${x.ref}`.toLowerCase().includes(p))
  const found = [...list, ...old.filter((x) => !newest.has(x.ref))].filter(matches)
  const more = found.length > shown || !all && !reader.current?.over()
  const choose = (set) => (value) => {
    reader.current = null
    setOld([])
    setShown(step)
    set(value)
  }
  const grow = async () => {
    if (busy.current) return
    if (found.length > shown) return setShown(shown + step)
    busy.current = true
    setError('')
    try {
      reader.current ||= older(group, person, device)
      const one = reader.current
      let next = old
      for (let n = 0, hits = 0; n < maxPages && hits < step && !one.over(); n++) {
        const page = await one.read()
        hits += page.filter((x) => !newest.has(x.ref) && matches(x)).length
        next = [...next, ...page]
      }
      if (one === reader.current) {
        setOld(next)
        setShown(shown + step)
      }
    } catch (err) {
      setError(err)
    }
    busy.current = false
  }
  const people = [...new Set([...list, ...old].map((x) => x.requestor_id))].sort(byName)
  return html`<div class="filters"><label class="sr" for="task-search">${t('tasks.search')}</label>
      <input id="task-search" type="search" autocomplete="off" placeholder=${t('tasks.example')} onInput=${(e) => setWords(e.target.value)} />
      <label class="sr" for="task-status">${t('tasks.status')}</label>
      <select id="task-status" onChange=${(e) => choose(setGroup)(e.target.value)}>${Object.keys(groups).map((g) => html`<option key=${g} value=${g}>${t(`tasks.${g}`)}</option>`)}</select>
      ${people.length > 1 && html`<label class="sr" for="task-person">${t('tasks.person')}</label>
      <select id="task-person" onChange=${(e) => choose(setPerson)(e.target.value)}><option value="">${t('tasks.everybody')}</option>${people.map((p) => html`<option key=${p} value=${p}>${p}</option>`)}</select>`}</div>
    <ul id="recent" class="cards">${found.length ? found.slice(0, shown).map((x) => html`<${Row} key=${x.ref} x=${x} />`) : html`<li><p class="empty">${words || group !== 'all' || person || device ? t('tasks.nothing') : `${t('side.none')}${mayAsk() ? ` ${t('tasks.enter')}` : ''}`}</p></li>`}</ul>
    ${error && html`<${Problem} error=${error} />`}
    ${more && html`<${More} grow=${grow} count=${found.length + shown} />`}`
}

/** More is a button at the end of the list. The page presses it when it becomes visible. */
function More({ grow, count }) {
  const button = useRef(null)
  useEffect(() => {
    const seen = new IntersectionObserver((list) => { if (list.some((one) => one.isIntersecting)) grow() })
    seen.observe(button.current)
    return () => seen.disconnect()
  }, [count])
  return html`<button ref=${button} type="button" class="plain" id="task-more" onClick=${grow}>${t('tasks.more')}</button>`
}

function Row({ x }) {
  const node = useRef(null)
  const [picture, setPicture] = useState(null)
  useEffect(() => thumbnail(node.current, x, setPicture), [x.ref])
  return html`<li ref=${node}>${picture && html`<a class="thumb" href=${taskLink(x.ref)} tabindex="-1" aria-hidden="true"><img src=${`${exchange.attachment(x.ref, picture)}?fit=20KB`} alt="" /></a>`}<${Head} x=${x} /></li>`
}
