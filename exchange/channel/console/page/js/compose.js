// The form for the result of a task: text, photos, a voice note, a position, yes or no, and
// the fields of the request.

import { el, refill, toTop, toWords } from './dom.js'
import * as draft from './draft.js'
import * as outbox from './outbox.js'
import { fit } from './photo.js'

/** hints returns the response hints of a request as [type, spec]. */
export const hints = (request) => (request.response_hint || request.response_hints || []).map((h) => (typeof h === 'string' ? [h, ''] : Object.entries(h)[0]))

/** contentName returns the name of a content type for people. */
const contentName = (type) => ({ text: 'text', image: 'a photo', audio: 'a voice note', location: 'your position', confirmation: 'yes or no' }[type] || toWords(type))

const forms = new Map() // by ref; a form outlives the cards that show it

/** taskForm returns the form of a claimed task. It keeps its input while the task is open. name() returns the name of the person. */
export function taskForm(thread, request, name) {
  if (!forms.has(thread.ref)) forms.set(thread.ref, buildForm(thread, request, name))
  const one = forms.get(thread.ref)
  one.update(thread)
  return one.node
}

/** setDelegates sets the executors to which a person can delegate tasks. */
export function setDelegates(others) {
  for (const one of forms.values()) one.setDelegates(others)
}

/** dropForms removes the forms of tasks that the person no longer holds, and the drafts of ended tasks. */
export function dropForms(held, over) {
  for (const ref of forms.keys()) if (!held.has(ref)) forms.delete(ref)
  for (const ref of over) localStorage.removeItem(`draft-${ref}`)
  draft.remove(over, held).catch(() => {}) // the next call tries again
}

function buildForm(thread, request, name) {
  const files = []
  const asked = hints(request)
  const wants = (type) => asked.some(([t]) => t === type)
  const error = el('p', { className: 'error', role: 'alert' })
  const id = (part) => `${part}-${thread.ref}`

  const addedList = el('ul', { className: 'meta added' })
  let position = null // {lat, lng, accuracy}
  let photoCount = 0
  const addFile = (entry, f, label) => {
    const file = { entry, ...f }
    const src = entry === 'image' ? URL.createObjectURL(f.data) : ''
    const removeButton = el('button', { type: 'button', className: 'plain', 'aria-label': `Remove ${label}` }, 'Remove')
    const li = el('li', {}, src ? el('img', { src, alt: '' }) : null, el('span', {}, label), removeButton)
    removeButton.onclick = () => {
      files.splice(files.indexOf(file), 1)
      URL.revokeObjectURL(src)
      li.remove()
      saveDraft()
    }
    files.push(file)
    addedList.append(li)
  }
  const fileLabel = (f) => `${f.entry === 'image' ? 'a photo' : 'a voice note'}, ${Math.ceil(f.data.size / 1024)} KB`
  let pendingWork = 0 // operations that must end before the result is complete
  const runBlocking = async (act) => {
    pendingWork++
    doneButton.disabled = true
    await guarded(error, act)
    doneButton.disabled = --pendingWork > 0
  }
  const draftStatus = el('p', { className: 'meta', role: 'status' })
  const showDraftError = (why) => { draftStatus.textContent = `The page could not save your draft: ${why}. You lose it if you close this page before you press Done.` }
  let draftLoaded = null // resolves when the form has the stored draft
  const saveDraft = () => draftLoaded.then(() => draft.save({ ref: thread.ref, files, at: position, taken: photoCount, chosen: chosen() })).then(() => { draftStatus.textContent = '' }, (e) => showDraftError(e.message))
  const text = el('textarea', { id: id('text'), rows: 3, value: localStorage.getItem(id('draft')) || '' })
  text.oninput = () => {
    try {
      if (text.value) localStorage.setItem(id('draft'), text.value)
      else localStorage.removeItem(id('draft'))
      draftStatus.textContent = ''
    } catch {
      showDraftError('this phone has no free storage')
    }
  }
  const photo = el('input', { type: 'file', id: id('photo'), className: 'button', accept: 'image/*', capture: 'environment', multiple: '' })
  photo.onchange = () => runBlocking(photos)
  const photos = async () => {
    const faults = []
    for (const chosen of photo.files) {
      try {
        const f = { entry: 'image', name: `photo-${++photoCount}.jpg`, type: 'image/jpeg', data: await fit(chosen) }
        addFile('image', f, fileLabel(f))
      } catch (err) {
        faults.push(err.message)
      }
    }
    photo.value = ''
    saveDraft()
    if (faults.length) throw new Error(faults.join(' '))
  }
  const positionText = el('p', { className: 'meta', role: 'status' })
  const positionButton = el('button', { type: 'button', className: 'plain' }, 'Add my position')
  positionButton.onclick = () => runBlocking(async () => {
    const { coords } = await new Promise((resolve, fail) => { navigator.geolocation.getCurrentPosition(resolve, (e) => fail(new Error(e.code === e.PERMISSION_DENIED ? 'The browser denies this page your position. Allow it in the settings of the browser.' : `Your position is unknown: ${e.message}`)), { timeout: 20000 }) })
    setPosition({ lat: coords.latitude, lng: coords.longitude, accuracy: coords.accuracy })
    saveDraft()
  })
  const setPosition = (found) => {
    position = found
    positionText.textContent = `${position.lat.toFixed(5)}, ${position.lng.toFixed(5)}`
  }
  const note = voice(error, (f) => { addFile('audio', f, fileLabel({ entry: 'audio', ...f })); saveDraft() })
  const yesNo = wants('confirmation') ? choice('Yes or no', ['yes', 'no'], id('yes')) : null
  const fields = asked.filter(([t, spec]) => t === 'structured' && spec && typeof spec === 'object').flatMap(([, spec]) => (Array.isArray(spec) ? spec.map((k) => [k, '']) : Object.entries(spec))).map(([k, kind]) => field(k, kind, id(`field-${k}`)))

  const content = () => {
    const list = []
    if (text.value.trim()) list.push(text.value.trim())
    files.forEach((f, i) => list.push({ [f.entry]: { upload: i } }))
    if (position) list.push({ location: position })
    if (yesNo?.value()) list.push({ confirmation: yesNo.value() === 'yes' })
    const values = Object.fromEntries(fields.map((f) => [f.key, f.value()]).filter(([, v]) => v !== ''))
    if (Object.keys(values).length) list.push({ structured: values })
    return list
  }
  const missing = () => {
    const has = { image: files.some((f) => f.entry === 'image'), audio: files.some((f) => f.entry === 'audio'), text: text.value.trim(), location: position, confirmation: yesNo?.value(), structured: fields.every((f) => f.value() !== '') }
    return asked.filter(([t]) => t in has && !has[t]).map(([t]) => (t === 'structured' ? fields.filter((f) => f.value() === '').map((f) => toWords(f.key)).join(', ') : contentName(t)))
  }
  const sendStatus = (title, ...items) => outbox.put(thread.ref, { title, items })
  const startMessage = { title: 'Start', items: [{ status: { code: 'in_progress' } }] }
  let hasStarted = false

  const doneButton = el('button', { type: 'submit' }, 'Done')
  const startButton = el('button', { type: 'button', className: 'plain', onclick: () => outbox.put(thread.ref, startMessage) }, 'Start')
  const confirmDetails = request.confirm_before ? detailsForm('Ask for confirmation', 'Your planned action', (q) => sendStatus('Question', { status: { code: 'needs_confirmation', action: q } }), id('confirm')) : null
  const form = el('form', { className: 'answers' },
    asked.length ? el('p', {}, 'Requested: ', asked.map(([t, spec]) => (t === 'structured' && fields.length ? fields.map((f) => toWords(f.key)).join(', ') : contentName(t) + (spec && typeof spec === 'string' ? ` (${spec})` : ''))).join(', ')) : null,
    el('label', { htmlFor: id('text') }, 'Your result'), text,
    photo, el('label', { htmlFor: id('photo'), className: 'button plain' }, 'Add a photo'),
    note?.node, positionButton, positionText, addedList, draftStatus, yesNo?.node, fields.map((f) => f.node),
    el('p', {}, doneButton, startButton))
  // The chosen values: by id, or for a radio button by name and value.
  const choices = () => [...form.elements].filter((e) => (e.type === 'radio' || e.id.startsWith('field-')) && e.type !== 'file')
  const key = (e) => (e.type === 'radio' ? `${e.name}=${e.value}` : e.id)
  const chosen = () => Object.fromEntries(choices().filter((e) => (e.type === 'radio' ? e.checked : e.value)).map((e) => [key(e), e.value]))
  form.onchange = () => saveDraft()
  draftLoaded = runBlocking(async () => {
    const old = await draft.load(thread.ref).catch(() => null)
    if (!old) return
    photoCount = Math.max(photoCount, old.taken || 0)
    for (const f of old.files) addFile(f.entry, f, fileLabel(f))
    if (old.at && !position) setPosition(old.at)
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
    const missingParts = missing()
    if (list.length === 0 || missingParts.length && form.dataset.sure !== missingParts.join()) {
      error.textContent = list.length === 0 ? 'Enter a result first.' : `Missing: ${missingParts.join(', ')}. Press Done again to send the result without them.`
      form.dataset.sure = missingParts.join()
      return
    }
    doneButton.disabled = true
    guarded(error, async () => {
      const evidence = files.some((f) => f.entry === 'image') ? { evidence: 'photographed' } : { message: `by ${name()}’s word` }
      const answer = { title: 'Result', items: [{ status: { code: 'completed', ...evidence } }, { response: { content: list } }], files: files.map(({ name, type, data }) => ({ name, type, data })) }
      const { kept } = await outbox.put(thread.ref, ...(hasStarted ? [] : [startMessage]), answer)
      toTop()
      if (!kept) return // the draft stays until the end of the task
      localStorage.removeItem(id('draft'))
      await draft.remove([thread.ref]).catch(() => {})
    }).then(() => { if (error.textContent) doneButton.disabled = pendingWork > 0 })
  }
  const { node: delegateNode, setOptions } = delegateForm(sendStatus, id('hand'))
  const node = el('div', {}, form, error,
    detailsForm('Ask a question', 'Your question', (q) => sendStatus('Question', { status: { code: 'needs_input', questions: [{ field: 'answer', question: q }] } }), id('ask')),
    confirmDetails,
    delegateNode,
    detailsForm('I could not do it', 'Reason', (why) => sendStatus('Failure', { status: { code: 'failed', reason: { type: 'other', detail: why, effect: hasStarted ? 'unknown' : 'none' } } }), id('fail')))
  const update = (now) => {
    hasStarted = now.messages.some((m) => m.from === now.executor_id && m.mess.some((i) => i.status?.code === 'in_progress')) // the exchange itself sets in_progress after an answer
    doneButton.disabled = pendingWork > 0
    startButton.hidden = hasStarted
    showChoices()
  }
  const showChoices = () => { // a started task may have effects, so the person cannot delegate it as untouched
    if (confirmDetails) confirmDetails.hidden = hasStarted
    delegateNode.hidden = hasStarted || !delegateNode.querySelector('option')
  }
  const setDelegates = (others) => {
    setOptions(others)
    showChoices()
  }
  return { node, update, setDelegates }
}

async function guarded(error, act) {
  error.textContent = ''
  try {
    await act()
  } catch (err) {
    error.textContent = err.message
  }
}

/** detailsForm returns a folded form with one text field. The text stays if sendStatus resolves to false. */
export function detailsForm(title, label, sendStatus, id) {
  const input = el('input', { id, required: '', maxlength: 500, autocomplete: 'off' })
  const form = el('form', {}, el('label', { htmlFor: id }, label), input, el('button', { type: 'submit', className: 'plain' }, title))
  form.onsubmit = (e) => {
    e.preventDefault()
    const answer = input.value
    if (!answer.trim()) return
    Promise.resolve(sendStatus(answer.trim())).then((ok) => { if (ok !== false && input.value === answer) form.reset() })
  }
  return el('details', {}, el('summary', {}, title), form)
}

/** delegateForm returns the form that delegates a task, and a function that sets the executors to choose from. */
function delegateForm(sendStatus, id) {
  const to = el('select', { id, required: '' })
  const form = el('form', {}, el('label', { htmlFor: id }, 'To'), to, el('button', { type: 'submit', className: 'plain' }, 'Delegate: I have not started'))
  form.onsubmit = (e) => {
    e.preventDefault()
    sendStatus('Delegation', { status: { code: 'delegated', delegated_to: to.value, reason: { type: 'other', detail: 'delegated', effect: 'none' } } })
  }
  const setOptions = (others) => {
    const chosen = to.value
    refill(to, others.map((e) => el('option', { value: e.id }, `${e.name || e.id}${e.person ? '' : ' (robot)'}`)))
    if (others.some((e) => e.id === chosen)) to.value = chosen
  }
  return { node: el('details', {}, el('summary', {}, 'Delegate'), form), setOptions }
}

function choice(label, options, name) {
  const inputs = options.map((o) => el('input', { type: 'radio', name, value: o }))
  return { node: el('fieldset', { className: 'answers' }, el('legend', {}, label), inputs.map((i) => el('label', { className: 'check' }, i, i.value))), value: () => inputs.find((i) => i.checked)?.value || '' }
}

function field(key, kind, id) {
  const yesno = /^(bool|boolean|yes\/no)$/.test(kind)
  const input = yesno ? el('select', { id }, ['', 'yes', 'no'].map((o) => el('option', { value: o }, o))) : el('input', { id, autocomplete: 'off', type: /^(number|integer|float)$/.test(kind) ? 'number' : 'text', step: 'any' })
  const node = el('div', {}, el('label', { htmlFor: id }, toWords(key), kind && typeof kind === 'string' ? ` (${kind})` : ''), input)
  return { key, node, value: () => (input.value === '' ? '' : yesno ? input.value === 'yes' : input.type === 'number' ? Number(input.value) : input.value) }
}

const microphoneErrors = { NotFoundError: 'The browser finds no microphone.', NotAllowedError: 'The browser denies this page the microphone. Allow it in the settings of the browser.' }

/** voice returns a recorder for voice notes, or null if the browser cannot record. */
function voice(error, addNote) {
  if (!navigator.mediaDevices?.getUserMedia || !globalThis.MediaRecorder) return null
  let recorder = null
  const button = el('button', { type: 'button', className: 'plain' }, 'Record a voice note')
  button.onclick = () => guarded(error, async () => {
    if (recorder) return recorder.stop()
    const sound = await navigator.mediaDevices.getUserMedia({ audio: true }).catch((e) => { throw new Error(microphoneErrors[e.name] || `The recording failed: ${e.message}`) })
    const parts = []
    recorder = new MediaRecorder(sound, { audioBitsPerSecond: 24000 })
    recorder.ondataavailable = (e) => parts.push(e.data)
    recorder.onstop = () => {
      for (const t of sound.getTracks()) t.stop()
      const type = recorder.mimeType.split(';')[0]
      recorder = null
      button.textContent = 'Record a voice note'
      const data = new Blob(parts, { type })
      addNote({ name: `voice.${type.endsWith('mp4') ? 'm4a' : type.endsWith('ogg') ? 'ogg' : 'webm'}`, type, data })
    }
    recorder.start()
    button.textContent = 'Stop recording'
  })
  return { node: button, runs: () => recorder !== null }
}

