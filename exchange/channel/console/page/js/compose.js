// What a person sends for a task: text, photos, a voice note, where she is, a yes
// or no, and the fields that the request asks for.

import { el, refill, toTop, words } from './dom.js'
import * as draft from './draft.js'
import * as outbox from './outbox.js'
import { fit } from './photo.js'

/** hints are what a request asks for: [type, spec]. */
export const hints = (request) => (request.response_hint || request.response_hints || []).map((h) => (typeof h === 'string' ? [h, ''] : Object.entries(h)[0]))

/** called is what people call a kind of content. */
const called = (type) => ({ text: 'text', image: 'a photo', audio: 'a voice note', location: 'your position', confirmation: 'yes or no' }[type] || words(type))

const boxes = new Map() // ref to the form, which outlives the cards that show it

/** box is the form for a task that one holds. name() is hers. What was put in stays while the task goes on. */
export function box(thread, request, name) {
  if (!boxes.has(thread.ref)) boxes.set(thread.ref, made(thread, request, name))
  const one = boxes.get(thread.ref)
  one.update(thread)
  return one.node
}

/** known tells to whom the tasks may be handed over. */
export function known(others) {
  for (const one of boxes.values()) one.known(others)
}

/** forget drops the forms of tasks that one does not hold any more, and what was kept for those that are over. */
export function forget(held, over) {
  for (const ref of boxes.keys()) if (!held.has(ref)) boxes.delete(ref)
  for (const ref of over) localStorage.removeItem(`draft-${ref}`)
  draft.drop(over, held).catch(() => {}) // the next time
}

function made(thread, request, name) {
  const files = []
  const asked = hints(request)
  const wants = (type) => asked.some(([t]) => t === type)
  const error = el('p', { className: 'error', role: 'alert' })
  const id = (part) => `${part}-${thread.ref}`

  const shown = el('ul', { className: 'meta added' })
  let at = null // where she is
  let taken = 0
  const add = (entry, f, label) => {
    const file = { entry, ...f }
    const src = entry === 'image' ? URL.createObjectURL(f.data) : ''
    const away = el('button', { type: 'button', className: 'plain', 'aria-label': `Remove ${label}` }, 'Remove')
    const li = el('li', {}, src ? el('img', { src, alt: '' }) : null, el('span', {}, label), away)
    away.onclick = () => {
      files.splice(files.indexOf(file), 1)
      URL.revokeObjectURL(src)
      li.remove()
      keep()
    }
    files.push(file)
    shown.append(li)
  }
  const named = (f) => `${f.entry === 'image' ? 'a photo' : 'a voice note'}, ${Math.ceil(f.data.size / 1024)} KB`
  let busy = 0 // what has to be there before it can be sent
  const first = async (act) => {
    busy++
    done.disabled = true
    await guarded(error, act)
    done.disabled = --busy > 0
  }
  const unkept = el('p', { className: 'meta', role: 'status' })
  const lost = (why) => { unkept.textContent = `The page could not save your draft: ${why}. You lose it if you close this page before you press Done.` }
  let there = null // when what was kept is there again
  const keep = () => there.then(() => draft.keep({ ref: thread.ref, files, at, taken, chosen: chosen() })).then(() => { unkept.textContent = '' }, (e) => lost(e.message))
  const text = el('textarea', { id: id('text'), rows: 3, value: localStorage.getItem(id('draft')) || '' })
  text.oninput = () => {
    try {
      if (text.value) localStorage.setItem(id('draft'), text.value)
      else localStorage.removeItem(id('draft'))
      unkept.textContent = ''
    } catch {
      lost('this phone has no free storage')
    }
  }
  const photo = el('input', { type: 'file', id: id('photo'), className: 'button', accept: 'image/*', capture: 'environment', multiple: '' })
  photo.onchange = () => first(photos)
  const photos = async () => {
    const faults = []
    for (const chosen of photo.files) {
      try {
        const f = { entry: 'image', name: `photo-${++taken}.jpg`, type: 'image/jpeg', data: await fit(chosen) }
        add('image', f, named(f))
      } catch (err) {
        faults.push(err.message)
      }
    }
    photo.value = ''
    keep()
    if (faults.length) throw new Error(faults.join(' '))
  }
  const where = el('p', { className: 'meta', role: 'status' })
  const place = el('button', { type: 'button', className: 'plain' }, 'Add my position')
  place.onclick = () => first(async () => {
    const { coords } = await new Promise((done, fail) => { navigator.geolocation.getCurrentPosition(done, (e) => fail(new Error(e.code === e.PERMISSION_DENIED ? 'The browser denies this page your position. Allow it in the settings of the browser.' : `Your position is unknown: ${e.message}`)), { timeout: 20000 }) })
    stands({ lat: coords.latitude, lng: coords.longitude, accuracy: coords.accuracy })
    keep()
  })
  const stands = (place) => {
    at = place
    where.textContent = `${at.lat.toFixed(5)}, ${at.lng.toFixed(5)}`
  }
  const note = voice(error, (f) => { add('audio', f, named({ entry: 'audio', ...f })); keep() })
  const yes = wants('confirmation') ? choice('Yes or no', ['yes', 'no'], id('yes')) : null
  const fields = asked.filter(([t, spec]) => t === 'structured' && spec && typeof spec === 'object').flatMap(([, spec]) => (Array.isArray(spec) ? spec.map((k) => [k, '']) : Object.entries(spec))).map(([k, kind]) => field(k, kind, id(`field-${k}`)))

  const content = () => {
    const list = []
    if (text.value.trim()) list.push(text.value.trim())
    files.forEach((f, i) => list.push({ [f.entry]: { upload: i } }))
    if (at) list.push({ location: at })
    if (yes?.value()) list.push({ confirmation: yes.value() === 'yes' })
    const values = Object.fromEntries(fields.map((f) => [f.key, f.value()]).filter(([, v]) => v !== ''))
    if (Object.keys(values).length) list.push({ structured: values })
    return list
  }
  const missing = () => {
    const has = { image: files.some((f) => f.entry === 'image'), audio: files.some((f) => f.entry === 'audio'), text: text.value.trim(), location: at, confirmation: yes?.value(), structured: fields.every((f) => f.value() !== '') }
    return asked.filter(([t]) => t in has && !has[t]).map(([t]) => (t === 'structured' ? fields.filter((f) => f.value() === '').map((f) => words(f.key)).join(', ') : called(t)))
  }
  const say = (title, ...items) => outbox.put(thread.ref, { title, items })
  const started = { title: 'Start', items: [{ status: { code: 'in_progress' } }] }
  let begun = false

  const done = el('button', { type: 'submit' }, 'Done')
  const begin = el('button', { type: 'button', className: 'plain', onclick: () => outbox.put(thread.ref, started) }, 'Start')
  const confirm = request.confirm_before ? more('Ask for confirmation', 'Your planned action', (q) => say('Question', { status: { code: 'needs_confirmation', action: q } }), id('confirm')) : null
  const form = el('form', { className: 'answers' },
    asked.length ? el('p', {}, 'Requested: ', asked.map(([t, spec]) => (t === 'structured' && fields.length ? fields.map((f) => words(f.key)).join(', ') : called(t) + (spec && typeof spec === 'string' ? ` (${spec})` : ''))).join(', ')) : null,
    el('label', { htmlFor: id('text') }, 'Your result'), text,
    photo, el('label', { htmlFor: id('photo'), className: 'button plain' }, 'Add a photo'),
    note?.node, place, where, shown, unkept, yes?.node, fields.map((f) => f.node),
    el('p', {}, done, begin))
  // What was chosen, by id or, of one of several, by name and value.
  const choices = () => [...form.elements].filter((e) => (e.type === 'radio' || e.id.startsWith('field-')) && e.type !== 'file')
  const key = (e) => (e.type === 'radio' ? `${e.name}=${e.value}` : e.id)
  const chosen = () => Object.fromEntries(choices().filter((e) => (e.type === 'radio' ? e.checked : e.value)).map((e) => [key(e), e.value]))
  form.onchange = () => keep()
  there = first(async () => {
    const old = await draft.of(thread.ref).catch(() => null)
    if (!old) return
    taken = Math.max(taken, old.taken || 0)
    for (const f of old.files) add(f.entry, f, named(f))
    if (old.at && !at) stands(old.at)
    for (const e of choices()) {
      if (!(key(e) in old.chosen)) continue
      if (e.type === 'radio') e.checked = true
      else e.value = old.chosen[key(e)]
    }
  })
  form.onsubmit = (e) => {
    e.preventDefault()
    if (note?.runs()) {
      error.textContent = 'Stop the recording first.'
      return
    }
    const list = content()
    const lacks = missing()
    if (list.length === 0 || lacks.length && form.dataset.sure !== lacks.join()) {
      error.textContent = list.length === 0 ? 'Enter a result first.' : `Missing: ${lacks.join(', ')}. Press Done again to send the result without them.`
      form.dataset.sure = lacks.join()
      return
    }
    done.disabled = true
    guarded(error, async () => {
      const known = files.some((f) => f.entry === 'image') ? { evidence: 'photographed' } : { message: `by ${name()}’s word` }
      const answer = { title: 'Result', items: [{ status: { code: 'completed', ...known } }, { response: { content: list } }], files: files.map(({ name, type, data }) => ({ name, type, data })) }
      const { kept } = await outbox.put(thread.ref, ...(begun ? [] : [started]), answer)
      toTop()
      if (!kept) return // what is kept of it goes when the task is over
      localStorage.removeItem(id('draft'))
      await draft.drop([thread.ref]).catch(() => {})
    }).then(() => { if (error.textContent) done.disabled = busy > 0 })
  }
  const { node: hand, offer } = handOver(say, id('hand'))
  const node = el('div', {}, form, error,
    more('Ask a question', 'Your question', (q) => say('Question', { status: { code: 'needs_input', questions: [{ field: 'answer', question: q }] } }), id('ask')),
    confirm,
    hand,
    more('I could not do it', 'Reason', (why) => say('Failure', { status: { code: 'failed', reason: { type: 'other', detail: why, effect: begun ? 'unknown' : 'none' } } }), id('fail')))
  const update = (now) => {
    begun = now.messages.some((m) => m.from === now.executor_id && m.mess.some((i) => i.status?.code === 'in_progress')) // an answer sets it back to work, and is no word of hers
    done.disabled = busy > 0
    begin.hidden = begun
    early()
  }
  const early = () => { // what has begun is not said to be untouched
    if (confirm) confirm.hidden = begun
    hand.hidden = begun || !hand.querySelector('option')
  }
  const known = (others) => {
    offer(others)
    early()
  }
  return { node, update, known }
}

async function guarded(error, act) {
  error.textContent = ''
  try {
    await act()
  } catch (err) {
    error.textContent = err.message
  }
}

/** more is something that is seldom said. What say promises to be false has not been said: the words stay. */
export function more(title, label, say, id) {
  const input = el('input', { id, required: '', maxlength: 500, autocomplete: 'off' })
  const form = el('form', {}, el('label', { htmlFor: id }, label), input, el('button', { type: 'submit', className: 'plain' }, title))
  form.onsubmit = (e) => {
    e.preventDefault()
    const said = input.value
    if (!said.trim()) return
    Promise.resolve(say(said.trim())).then((ok) => { if (ok !== false && input.value === said) form.reset() })
  }
  return el('details', {}, el('summary', {}, title), form)
}

/** handOver is the form with which a task is passed on; offer tells it to whom: who comes later is a choice, too. */
function handOver(say, id) {
  const to = el('select', { id, required: '' })
  const form = el('form', {}, el('label', { htmlFor: id }, 'To'), to, el('button', { type: 'submit', className: 'plain' }, 'Delegate: I have not started'))
  form.onsubmit = (e) => {
    e.preventDefault()
    say('Delegation', { status: { code: 'delegated', delegated_to: to.value, reason: { type: 'other', detail: 'delegated', effect: 'none' } } })
  }
  const offer = (others) => {
    const chosen = to.value
    refill(to, others.map((e) => el('option', { value: e.id }, `${e.name || e.id}${e.person ? '' : ' (robot)'}`)))
    if (others.some((e) => e.id === chosen)) to.value = chosen
  }
  return { node: el('details', {}, el('summary', {}, 'Delegate'), form), offer }
}

function choice(label, options, name) {
  const inputs = options.map((o) => el('input', { type: 'radio', name, value: o }))
  return { node: el('fieldset', { className: 'answers' }, el('legend', {}, label), inputs.map((i) => el('label', { className: 'check' }, i, i.value))), value: () => inputs.find((i) => i.checked)?.value || '' }
}

function field(key, kind, id) {
  const yesno = /^(bool|boolean|yes\/no)$/.test(kind)
  const input = yesno ? el('select', { id }, ['', 'yes', 'no'].map((o) => el('option', { value: o }, o))) : el('input', { id, autocomplete: 'off', type: /^(number|integer|float)$/.test(kind) ? 'number' : 'text', step: 'any' })
  const node = el('div', {}, el('label', { htmlFor: id }, words(key), kind && typeof kind === 'string' ? ` (${kind})` : ''), input)
  return { key, node, value: () => (input.value === '' ? '' : yesno ? input.value === 'yes' : input.type === 'number' ? Number(input.value) : input.value) }
}

const unheard = { NotFoundError: 'The browser finds no microphone.', NotAllowedError: 'The browser denies this page the microphone. Allow it in the settings of the browser.' }

/** voice records a note, where the browser can. */
function voice(error, add) {
  if (!navigator.mediaDevices?.getUserMedia || !globalThis.MediaRecorder) return null
  let recorder = null
  const button = el('button', { type: 'button', className: 'plain' }, 'Record a voice note')
  button.onclick = () => guarded(error, async () => {
    if (recorder) return recorder.stop()
    const sound = await navigator.mediaDevices.getUserMedia({ audio: true }).catch((e) => { throw new Error(unheard[e.name] || `The recording failed: ${e.message}`) })
    const parts = []
    recorder = new MediaRecorder(sound, { audioBitsPerSecond: 24000 })
    recorder.ondataavailable = (e) => parts.push(e.data)
    recorder.onstop = () => {
      for (const t of sound.getTracks()) t.stop()
      const type = recorder.mimeType.split(';')[0]
      recorder = null
      button.textContent = 'Record a voice note'
      const data = new Blob(parts, { type })
      add({ name: `voice.${type.endsWith('mp4') ? 'm4a' : type.endsWith('ogg') ? 'ogg' : 'webm'}`, type, data })
    }
    recorder.start()
    button.textContent = 'Stop recording'
  })
  return { node: button, runs: () => recorder !== null }
}

