// The tile of a device: what it is, its state, what happens to it, and its controls.

import { Answer } from '../answer.js'
import { exchange } from '../api.js'
import { taskLink } from '../dom.js'
import { html, memo } from '../html.js'
import { said } from '../said.js'
import { age, clock, t } from '../text/text.js'
import { TileControls } from './controls.js'
import { ageText, isOn, note, reading, shortName, stateText } from './describe.js'
import { classIcon, Icon } from './icons.js'
import { isConfirmed, mayOperate, now, store, useStore } from './store.js'
import { isFresh, isMine, shownTap } from './taps.js'

/** hasPicture reports whether a device makes pictures. */
export const hasPicture = (d) => d.class === 'camera' || d.verbs.some((v) => v.verb === 'take-photo')

/** pictureOf returns the last picture of a device, or undefined. */
const pictureOf = (d) => store.pictures.find((one) => one.executor === d.executor && one.device === d.device)

/** Picture shows the last picture of a device. */
export function Picture({ d }) {
  const p = pictureOf(d)
  if (!p) return html`<div class="nopicture"><${Icon} name="camera" /><span>${t('picture.none')}</span></div>`
  return html`<a class="photo" href=${taskLink(p.ref)}><img src=${exchange.attachment(p.ref, p.name)} alt=${t('picture.of', { device: d.name })} loading="lazy" /></a>`
}

/** Trouble says why a device does not work. */
export function Trouble({ d }) {
  const lines = [
    !d.reachable && [t(store.executors.get(d.executor)?.live === false ? 'unreachable' : 'failing', { time: d.unreachable?.since ? clock(d.unreachable.since) : '–' }), said(d.unreachable?.reason)],
    d.locked && [t('locked', { reason: said(d.locked) })],
    d.stopped && [t(isConfirmed(d.executor) ? 'stopped' : 'unconfirmed')], // the top of the page has the reasons of a stop and a drain
    d.drained && [t('drained')],
  ].filter(Boolean)
  return lines.map(([head, why]) => html`<p class="trouble" key=${head}>${head}${why ? html`<span class="why">${why}</span>` : null}</p>`)
}

/** Note shows what happens to a device, with its form if this page has asked for it. */
export function Note({ d }) {
  const n = note(d)
  const waits = n?.ref && store.waiting.find((w) => w.ref === n.ref)
  const here = waits && isMine(n.ref)
  return html`<div class="note ${n?.kind || ''}" role="status" data-phase=${store.taps.get(d.id)?.phase}>
    ${n && html`<p>${n.kind === 'busy' ? html`<span class="spin" aria-hidden="true"></span>` : n.kind === 'good' ? html`<${Icon} name="check" />` : n.kind === 'warn' || n.kind === 'bad' ? html`<${Icon} name="alert" />` : null}<span>${n.text}</span></p>
      ${here ? html`<${Answer} thread=${waits} me=${store.me} />` : waits ? html`<a class="more" href="#home/needs">${t('task.answer')}</a>` : n.ref && n.kind !== 'good' ? html`<a class="more" href=${taskLink(n.ref)}>${t('task.show')}</a>` : null}`}
  </div>`
}

/** useDevice returns a device, and draws its tile when something has changed that the tile shows. */
function useDevice(id) {
  const [d] = useStore(() => {
    const [it, one] = [store.devices.get(id), store.taps.get(id)]
    if (!it) return [it]
    const waits = store.waiting.find((w) => w.ref === it.task?.ref || w.ref === one?.ref)
    return [it, one?.phase, shownTap(it), it.last && isFresh(it.last), waits, pictureOf(it), store.executors.get(it.executor)?.live, it.stopped && isConfirmed(it.executor), store.minutes]
  })
  return d
}

/** Tile is a device on the Home view. */
export const Tile = memo(({ id }) => {
  const d = useDevice(id)
  if (!d) return null
  const wide = isWide(d)
  const picture = hasPicture(d)
  const p = picture && pictureOf(d)
  const text = [stateText(d), p ? t('picture.age', { age: age(p.at, now()) }) : '', ageText(d)].filter(Boolean).join(' · ')
  return html`<li class="tile ${isOn(d) ? 'on' : ''} ${wide ? 'wide' : ''} ${d.reachable ? '' : 'away'}" data-device=${d.id}>
    ${picture && html`<${Picture} d=${d} />`}
    <div class="head"><span class="round"><${Icon} name=${d.reachable ? stateIcon(d) : 'away'} /></span>
      <div><h3><a href=${`#device=${encodeURIComponent(d.id)}`} aria-label=${t('detail.open', { device: d.name })}>${shortName(d)}</a></h3><p class="state">${text}</p></div></div>
    <${Trouble} d=${d} />
    <${Note} d=${d} />
    ${mayOperate() && html`<div class="controls"><${TileControls} d=${d} /></div>`}</li>`
})

/** isWide reports whether a tile takes two columns. */
export const isWide = (d) => hasPicture(d) || d.verbs.some((v) => v.verb === 'vacuum-floor' || v.verb === 'drive-forward')

const stateIcon = (d) => (d.class === 'lock' && (d.state === 'unlocked' || reading(d, 'lock')?.value === 0) ? 'unlock' : classIcon(d.class))
