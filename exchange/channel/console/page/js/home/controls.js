// The controls of a device, chosen by its verbs. They show the state that was read, never a wished
// one; a tap is a request to the server.

import { mayRequest } from '../api.js'
import { html, useEffect, useRef, useState } from '../html.js'
import { measure, named, t } from '../text/text.js'
import { can, isOn, reading, verbText } from './describe.js'
import { Icon } from './icons.js'
import { Lazy } from './lazy.js'
import { store } from './store.js'
import { tap } from './taps.js'

/** isBusy reports whether the page waits for the answer to a tap of a device. */
const isBusy = (d) => ['sending', 'doubt', 'lost'].includes(store.taps.get(d.id)?.phase)

/** Act is a button for a verb. A stop is never disabled. */
export function Act({ d, verb, args, icon, label, always, pressed }) {
  if (d.task?.verb === verb && d.task.status.startsWith('needs_')) return null // the tile asks the question
  const text = label || verbText(d, verb)
  return html`<button type="button" class="act" data-verb=${verb} aria-label=${t('control.of', { verb: text, device: d.name })} aria-pressed=${pressed}
    aria-disabled=${!always && isBusy(d) ? 'true' : null} title=${icon ? text : null} onClick=${() => { if (always || !isBusy(d)) tap(d.id, verb, args) }}>
    ${icon ? html`<${Icon} name=${icon} />` : text}</button>`
}

/** Power is the switch of a device whose state is known, else two buttons. */
function Power({ d }) {
  const on = isOn(d)
  if (on === null) return html`<div class="acts"><${Act} d=${d} verb="switch-on" /><${Act} d=${d} verb="switch-off" /></div>`
  return html`<button type="button" role="switch" class="switch" aria-checked=${String(on)} aria-label=${t('control.power', { device: d.name })} aria-disabled=${isBusy(d) ? 'true' : null}
    onClick=${() => { if (!isBusy(d)) tap(d.id, on ? 'switch-off' : 'switch-on') }}><span></span></button>`
}

/** range returns the range of a parameter: of the device if it has one, else of the verb. */
function range(d, verb, name) {
  const own = d.limits?.[name]
  const p = can(d, verb)?.parameters?.[name]
  return { min: own?.min ?? p?.min ?? 0, max: own?.max ?? p?.max ?? 100, unit: p?.unit || '' }
}

/** Slider sets a number when the user lets it go. Until the device reports it, the slider stays at the value that was read. Without a value it has no handle, and says so. */
function Slider({ d, verb, name, value, step = 1, format, convert = Number }) {
  const { min, max } = range(d, verb, name)
  const [draft, setDraft] = useState(null)
  const shown = draft ?? value ?? min
  const commit = (e) => {
    const wanted = convert(e.target.value)
    setDraft(null)
    if (isBusy(d) || wanted === value) return putBack(e.target, value ?? min)
    tap(d.id, verb, { [name]: wanted })
    putBack(e.target, value ?? min)
  }
  const unknown = value === undefined && draft === null
  return html`<label class="slider ${unknown ? 'unknown' : ''}"><span class="sr">${t('control.of', { verb: named('verb', verb), device: d.name })}</span>
    <input type="range" min=${min} max=${max} step=${step} value=${shown} data-verb=${verb} aria-valuetext=${unknown ? t('control.unknown') : format(shown)}
      onInput=${(e) => setDraft(Number(e.target.value))} onChange=${commit} />
    ${unknown ? html`<span class="novalue" aria-hidden="true">${t('control.unknown')}</span>` : null}${draft === null ? null : html`<output>${format(draft)}</output>`}</label>`
}

/** putBack puts the handle of a slider back to the value that was read. */
function putBack(input, value) {
  input.value = value
}

const percent = (n) => measure(n, '%')

function Brightness({ d }) {
  return html`<${Slider} d=${d} verb="set-brightness" name="level" value=${reading(d, 'level')?.value} format=${percent} />`
}

/** Cover has buttons to open, stop and close, and a position. That of a door has only those that change something. */
function Cover({ d }) {
  const at = reading(d, 'opening')?.value
  const blind = d.class === 'blind'
  const [open, closed] = [(d.doing || d.state) === 'open' && (at ?? 100) === 100, (d.doing || d.state) === 'closed']
  return html`<div class=${blind ? 'acts icons' : 'acts'}>
      ${can(d, 'open') && (blind || !open) && html`<${Act} d=${d} verb="open" icon=${blind ? 'up' : null} />`}
      ${can(d, 'stop-opening') && (blind || d.task || !open && !closed) && html`<${Act} d=${d} verb="stop-opening" icon="stop" always=${true} />`}
      ${can(d, 'close') && (blind || !closed) && html`<${Act} d=${d} verb="close" icon=${blind ? 'down' : null} />`}
    </div>
    ${can(d, 'set-opening') && blind && html`<${Slider} d=${d} verb="set-opening" name="opening" value=${at} format=${percent} />`}`
}

const settleDelay = 900 // ms after the last step until the page sends the temperature

/** Thermostat sends the wished temperature once, after the last step. */
function Thermostat({ d }) {
  const { min, max } = range(d, 'set-temperature', 'temperature')
  const target = reading(d, 'target')?.value
  const [draft, setDraft] = useState(null)
  const latest = useRef(null)
  latest.current = draft
  useEffect(() => {
    if (draft === null) return undefined
    const timer = setTimeout(() => {
      setDraft(null)
      if (latest.current !== target) tap(d.id, 'set-temperature', { temperature: latest.current })
    }, settleDelay)
    return () => clearTimeout(timer)
  }, [draft])
  const shown = draft ?? target
  const begin = Math.round(2 * (reading(d, 'temperature')?.value ?? 20)) / 2 // of the first step if nobody knows the wished temperature
  const step = (by) => () => { if (!isBusy(d)) setDraft(Math.min(max, Math.max(min, (shown ?? begin) + by))) }
  return html`<div class="acts stepper" data-verb="set-temperature">
    <button type="button" class="act" aria-label=${t('control.less', { device: d.name })} onClick=${step(-0.5)}><${Icon} name="minus" /></button>
    <output class=${draft === null ? '' : 'draft'}>${shown === undefined ? '–' : measure(shown, '°C')}</output>
    <button type="button" class="act" aria-label=${t('control.more', { device: d.name })} onClick=${step(0.5)}><${Icon} name="plus" /></button></div>`
}

function Lock({ d }) {
  const locked = d.state === 'locked' || reading(d, 'lock')?.value > 0
  return html`<div class="acts">${['unlock', 'lock'].filter((v) => can(d, v) && (v === 'unlock' ? locked || d.state !== 'unlocked' : !locked || d.state === 'unknown')).map((v) => html`<${Act} key=${v} d=${d} verb=${v} />`)}</div>`
}

/** Vacuum cleans everything or the chosen rooms. With page, it shows its map, but not to a guest. */
function Vacuum({ d, page }) {
  const rooms = can(d, 'vacuum-floor')?.parameters?.areas?.values || d.places || []
  const [chosen, setChosen] = useState([])
  const toggle = (room) => setChosen(chosen.includes(room) ? chosen.filter((r) => r !== room) : [...chosen, room])
  const doing = d.doing || d.state
  const verbs = [doing === 'cleaning' && 'pause-vacuum', doing === 'paused' && 'resume-vacuum', !['docked', 'idle'].includes(doing) && 'stop-vacuum', doing !== 'docked' && 'dock-vacuum'].filter((v) => v && can(d, v))
  const args = chosen.length && chosen.length < rooms.length ? { areas: chosen } : rooms.length ? { areas: rooms } : {}
  return html`${page && mayRequest(store.me) && html`<${Lazy} quiet=${true} load=${() => import('./map.js').then((m) => m.FloorMap)} d=${d} rooms=${rooms} chosen=${chosen} toggle=${toggle} />`}
    ${can(d, 'vacuum-floor') && rooms.length > 1 && html`<div class="chips" role="group" aria-label=${t('control.rooms', { device: d.name })}>
      ${rooms.map((r) => html`<button key=${r} type="button" class="chipbutton" aria-pressed=${String(chosen.includes(r))} onClick=${() => toggle(r)}>${chosen.includes(r) ? html`<${Icon} name="check" />` : null}${r}</button>`)}</div>`}
    <div class="acts">
      ${can(d, 'vacuum-floor') && doing !== 'cleaning' && html`<${Act} d=${d} verb="vacuum-floor" args=${args} />`}
      ${verbs.map((v) => html`<${Act} key=${v} d=${d} verb=${v} always=${v !== 'resume-vacuum'} />`)}</div>`
}

const colors = [['red', '#ff0000'], ['orange', '#ff8c00'], ['yellow', '#ffd700'], ['green', '#00c000'], ['blue', '#0040ff'], ['purple', '#9000ff']]

function Colors({ d }) {
  const send = (colour) => { if (!isBusy(d)) tap(d.id, 'set-colour', { colour }) }
  return html`<div class="chips" role="group" aria-label=${t('control.of', { verb: named('verb', 'set-colour'), device: d.name })}>
    ${colors.map(([name, value]) => html`<button key=${name} type="button" class="swatch ${name}" data-verb="set-colour" aria-label=${named('color', name)} title=${named('color', name)} onClick=${() => send(value)}></button>`)}
    <label class="swatch custom"><span class="sr">${t('control.custom', { device: d.name })}</span><input type="color" value=${d.colour || '#ffffff'} onChange=${(e) => send(e.target.value)} /></label></div>`
}

function Whites({ d }) {
  const { min, max } = range(d, 'set-white', 'kelvin')
  const at = (k) => ({ kelvin: Math.round(Math.min(max, Math.max(min, k))) })
  return html`<div class="acts">${[['warm', 2700], ['neutral', 4000], ['cold', 6500]].map(([name, k]) => html`<${Act} key=${name} d=${d} verb="set-white" args=${at(k)} label=${named('control', name)} />`)}</div>`
}

function Servo({ d }) {
  return html`<${Slider} d=${d} verb="move-servo" name="angle" value=${reading(d, 'angle')?.value} format=${(n) => t('control.angle', { value: n })} />`
}

const driveTime = '1s' // of one tap

function Rover({ d }) {
  const go = (verb, icon) => can(d, verb) && html`<${Act} d=${d} verb=${verb} args=${{ for: driveTime }} icon=${icon} />`
  return html`<div class="acts">${go('turn-left', 'left')}${go('drive-forward', 'up')}${go('drive-back', 'down')}${go('turn-right', 'right')}</div>`
}

/** files returns the known files of a printer. */
const files = (d) => can(d, 'print-start')?.parameters?.file?.values || d.places || []

const maxButtons = 4 // files with a button each; more files are a list

/** Files starts one of the files of a printer. A file that the printer does not list needs a request in words. */
function Files({ d }) {
  const list = files(d)
  if (!list.length) return html`<p class="meta">${t('control.nofiles', { device: d.name })}</p>`
  if (list.length <= maxButtons) return list.map((f) => html`<${Act} key=${f} d=${d} verb="print-start" args=${{ file: f }} label=${t('control.print', { file: f })} />`)
  const submit = (e) => {
    e.preventDefault()
    if (!isBusy(d)) tap(d.id, 'print-start', { file: new FormData(e.target).get('file') })
  }
  return html`<form class="other" onSubmit=${submit}><label>${t('control.file')}
      <select name="file">${list.map((f) => html`<option key=${f}>${f}</option>`)}</select></label>
    <button type="submit" class="act" data-verb="print-start" aria-label=${t('control.of', { verb: verbText(d, 'print-start'), device: d.name })} aria-disabled=${isBusy(d) ? 'true' : null}>${verbText(d, 'print-start')}</button></form>`
}

/** Print starts one of the files. */
function Print({ d }) {
  const busy = ['printing', 'paused'].includes(d.doing || d.state)
  const verbs = ['print-pause', 'print-resume', 'print-cancel'].filter((v) => can(d, v) && busy && (v !== 'print-resume' || (d.doing || d.state) === 'paused') && (v !== 'print-pause' || (d.doing || d.state) !== 'paused'))
  return html`<div class="acts">${!busy && can(d, 'print-start') && html`<${Files} d=${d} />`}
    ${verbs.map((v) => html`<${Act} key=${v} d=${d} verb=${v} always=${v !== 'print-resume'} />`)}</div>`
}

/** Other is a plain form for a verb: a field for each parameter, and a button. */
function Other({ d, verb }) {
  const fields = Object.entries(verb.parameters || {}).filter(([, p]) => p.needed)
  const submit = (e) => {
    e.preventDefault()
    if (isBusy(d)) return
    const data = new FormData(e.target)
    tap(d.id, verb.verb, Object.fromEntries(fields.map(([name, p]) => [name, p.type === 'number' ? Number(data.get(name)) : p.type === 'list' ? [data.get(name)] : data.get(name)])))
  }
  return html`<form class="other" onSubmit=${submit}>
    ${fields.map(([name, p]) => html`<label key=${name}>${named('quantity', name)}${p.unit ? ` (${p.unit})` : ''}
      ${p.values ? html`<select name=${name}>${p.values.map((v) => html`<option key=${v}>${v}</option>`)}</select>`
    : html`<input name=${name} required type=${p.type === 'number' ? 'number' : 'text'} step="any" min=${p.min} max=${p.max} placeholder=${p.type === 'duration' ? '30s' : null} />`}</label>`)}
    <button type="submit" class="act" data-verb=${verb.verb} aria-label=${t('control.of', { verb: verbText(d, verb.verb), device: d.name })} aria-disabled=${isBusy(d) ? 'true' : null}>${verbText(d, verb.verb)}</button></form>`
}

// The controls with the verbs that each of them has. tile: it is in the tile, else in the detail alone. title: its heading there, else that of its first verb.
const known = [
  { verbs: ['switch-on', 'switch-off'], tile: true, row: true, is: (d) => can(d, 'switch-on') && can(d, 'switch-off'), title: 'onoff', part: Power },
  { verbs: ['set-brightness'], tile: true, row: true, part: Brightness },
  { verbs: ['open', 'close', 'stop-opening', 'set-opening'], tile: true, is: (d) => can(d, 'open') || can(d, 'close'), title: 'cover', part: Cover },
  { verbs: ['set-temperature'], tile: true, part: Thermostat },
  { verbs: ['lock', 'unlock'], tile: true, is: (d) => can(d, 'lock') || can(d, 'unlock'), title: 'lock', part: Lock },
  { verbs: ['vacuum-floor', 'pause-vacuum', 'resume-vacuum', 'stop-vacuum', 'dock-vacuum'], tile: true, part: Vacuum },
  { verbs: ['drive-forward', 'drive-back', 'turn-left', 'turn-right'], tile: true, title: 'drive', part: Rover },
  { verbs: ['print-start', 'print-pause', 'print-resume', 'print-cancel'], tile: true, part: Print },
  { verbs: ['move-servo'], tile: true, part: Servo },
  { verbs: ['set-colour'], part: Colors },
  { verbs: ['set-white'], part: Whites },
]
const simple = ['take-photo', 'start-appliance', 'activate', 'pulse', 'switch-on', 'switch-off'] // a button in the tile

const applies = (c, d) => (c.is ? c.is(d) : can(d, c.verbs[0]))
const needsNothing = (v) => !Object.values(v.parameters || {}).some((p) => p.needed)

/** TileControls are the controls in a tile. */
export function TileControls({ d }) {
  const list = known.filter((c) => c.tile && applies(c, d))
  const [rows, blocks] = [list.filter((c) => c.row), list.filter((c) => !c.row)]
  const covered = new Set(list.flatMap((c) => c.verbs))
  const plain = d.verbs.filter((v) => simple.includes(v.verb) && !covered.has(v.verb) && needsNothing(v))
  return html`${rows.length > 0 && html`<div class="row">${rows.map((c) => html`<${c.part} key=${c.verbs[0]} d=${d} />`)}</div>`}
    ${blocks.map((c) => html`<${c.part} key=${c.verbs[0]} d=${d} />`)}
    ${plain.length > 0 && html`<div class="acts">${plain.map((v) => html`<${Act} key=${v.verb} d=${d} verb=${v.verb} />`)}</div>`}`
}

/** AllControls are all controls of a device: the known ones, and a form for each other verb. */
export function AllControls({ d }) {
  const list = known.filter((c) => applies(c, d))
  const covered = new Set(list.flatMap((c) => c.verbs))
  const others = d.verbs.filter((v) => !covered.has(v.verb))
  return html`${list.map((c) => html`<div class="control" key=${c.verbs[0]}><h3>${c.title ? named('control', c.title) : named('verb', c.verbs[0])}</h3><${c.part} d=${d} page=${true} /></div>`)}
    ${others.length > 0 && html`<div class="control">${list.length > 0 && html`<h3>${t('detail.more')}</h3>`}<div class="others">${others.map((v) => html`<${Other} key=${v.verb} d=${d} verb=${v} />`)}</div></div>`}`
}
