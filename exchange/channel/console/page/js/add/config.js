// The view that edits the configuration file, with the problems at their lines.

import { setup } from '../api.js'
import { $ } from '../dom.js'
import { Icon } from '../home/icons.js'
import { exact, html, render, useEffect, useRef, useState } from '../html.js'
import { language, t } from '../text/text.js'

const checkDelay = 700 // ms after the last key

/** Lines shows the numbers of the lines, and marks those with a problem. */
function Lines({ text, problems, box }) {
  const wrong = new Set(problems.map((p) => p.line))
  return html`<pre class="lines" aria-hidden="true" ref=${box}>${text.split('\n').map((_, i) => (wrong.has(i + 1) ? html`<b>!${i + 1}${'\n'}</b>` : `${i + 1}\n`))}</pre>`
}

/** Problems lists the problems. Each leads to its place. */
function Problems({ list, go }) {
  return html`<ul class="problems">${list.map((p, i) => html`<li key=${i}><${Icon} name="alert" /><div>
    ${p.line > 0 ? html`<button type="button" class="plain" onClick=${() => go(p.line, p.column)}>${t('config.line', { line: String(p.line) })}</button>` : null}
    ${p.column > 0 ? html`<span class="meta">${t('config.column', { column: String(p.column) })}</span> ` : null}
    <span>${p.path ? html`<code>${p.path}</code>: ` : null}${p.text}</span></div></li>`)}</ul>`
}

function Config() {
  const [doc, setDoc] = useState(null)
  const [text, setText] = useState('')
  const [problems, setProblems] = useState([])
  const [says, setSays] = useState('')
  const [error, setError] = useState('')
  const area = useRef(null)
  const numbers = useRef(null)
  const latest = useRef('')
  latest.current = text
  const attempt = async (act) => {
    setError('')
    try {
      return await act()
    } catch (err) {
      setError(err.message)
      return null
    }
  }
  const load = () => attempt(async () => {
    const d = await setup.config()
    setDoc(d)
    setText(d.text)
    setProblems([])
  })
  useEffect(() => { load() }, [])
  useEffect(() => {
    if (!doc || text === doc.text) return undefined
    const timer = setTimeout(() => attempt(async () => {
      const answer = await setup.check(text)
      if (latest.current === text) setProblems(answer.problems)
    }), checkDelay)
    return () => clearTimeout(timer)
  }, [text])
  const go = (line, column = 1) => {
    const lines = text.split('\n')
    const start = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0)
    const before = [...lines[line - 1]].slice(0, column - 1).join('') // a column counts characters, an offset counts units
    area.current.focus()
    area.current.setSelectionRange(start + before.length, start + lines[line - 1].length)
    area.current.scrollTop = (line - 4) * parseFloat(getComputedStyle(area.current).lineHeight)
  }
  const save = () => attempt(async () => {
    setSays('')
    const r = await setup.save(text, doc.revision)
    setProblems(r.problems || [])
    if (r.problems?.length) return
    setSays(`${t('config.saved')} ${r.restart.length ? t('add.restart', { keys: r.restart.join('; ') }) : t('config.applied')}`)
    setDoc(await setup.config())
  })
  const restore = (e) => attempt(async () => {
    const name = e.target.value
    e.target.value = ''
    if (!name) return
    setText((await setup.backup(name)).text)
    setSays(t('config.restored', { backup: name }))
  })
  const changed = doc && text !== doc.text
  return html`<h1 id="config-title" tabindex="-1">${t('config.title')}</h1>
    ${!doc ? html`<p class="empty">${error || t('config.loading')}</p>` : html`
    <p class="hint">${t(doc.exists ? 'config.file' : 'config.new', { file: doc.file })}</p>
    <div class="editor"><${Lines} text=${text} problems=${problems} box=${numbers} />
      <textarea id="config-text" ref=${area} aria-label=${t('config.text')} aria-invalid=${problems.length ? 'true' : null} aria-describedby="config-problems" spellcheck="false" autocapitalize="off" autocomplete="off" wrap="off" rows="24" value=${exact(text)}
        onInput=${(e) => { setText(e.target.value); setSays('') }} onScroll=${(e) => { numbers.current.scrollTop = e.target.scrollTop }}></textarea></div>
    <div id="config-problems" role="status">${problems.length ? html`<p>${t('config.problems', { count: problems.length })}</p><${Problems} list=${problems} go=${go} />` : says && html`<p class="good">${says}</p>`}</div>
    <p class="error" role="alert">${error}</p>
    <p><button type="button" id="config-save" aria-disabled=${changed && !problems.length ? null : 'true'} onClick=${() => { if (changed && !problems.length) save() }}>${t('config.save')}</button>
      ${changed && html` <button type="button" class="plain" onClick=${load}>${t('config.discard')}</button>`}</p>
    ${doc.backups.length > 0 && html`<label for="config-backups">${t('config.backups')}</label><select id="config-backups" onChange=${restore}><option value="">${t('config.choose')}</option>${doc.backups.map((b) => html`<option key=${b} value=${b}>${b}</option>`)}</select>`}`}`
}

/** show draws the view anew. */
export function show() {
  const at = $('config')
  at.lang = language
  render(null, at)
  render(html`<${Config} />`, at)
  $('config-title').focus({ preventScroll: true })
}
