// The filter of the tasks by device.

import { exchange } from '../api.js'
import { clean } from '../dom.js'
import { notify, store, useStore } from '../home/store.js'
import { html, useEffect, useState } from '../html.js'
import { openStatuses, waitingStatuses } from '../tasks.js'
import { byName, t } from '../text/text.js'

const maxRead = 200 // tasks of each list that the page reads

/** chooseDevice shows the tasks of one device; '' shows those of all. */
export function chooseDevice(id) {
  store.taskDevice = id
  store.tasksDrawn++
  notify()
}

/** useTasksOf returns the tasks of a device, and reads them again after each change: {list, all, error}. The list is null until the page has read it. all says that there are no others. */
export function useTasksOf(device) {
  const [read, setRead] = useState({ device: '', list: null })
  useEffect(() => {
    if (!device) return undefined
    let isOver = false
    const of = (codes) => exchange.list([['limit', maxRead], ['device', device], ...codes.map((c) => ['status', c])])
    Promise.all([of([]), of([...openStatuses, ...waitingStatuses])]).then(([newest, open]) => {
      const list = [...new Map(clean([...open, ...newest]).map((x) => [x.ref, x])).values()].sort((a, b) => String(b.updated_at).localeCompare(String(a.updated_at)))
      if (!isOver) setRead({ device, list, all: newest.length < maxRead })
    }, (error) => { if (!isOver) setRead((was) => ({ ...(was.device === device ? was : { device, list: null }), error })) })
    return () => { isOver = true }
  }, [device, store.tasksDrawn])
  return read.device === device ? read : { list: null }
}

/** DeviceFilter chooses the device whose tasks the view shows. */
export function DeviceFilter() {
  useStore(() => [store.layout, store.taskDevice])
  const all = [...store.devices.values()].sort((a, b) => byName(a.name, b.name))
  if (all.length < 2 && !store.taskDevice) return null
  const known = !store.taskDevice || store.devices.has(store.taskDevice)
  return html`<div class="filters"><label class="sr" for="task-device">${t('tasks.device')}</label>
    <select id="task-device" value=${store.taskDevice} onChange=${(e) => chooseDevice(e.target.value)}><option value="">${t('tasks.devices')}</option>
      ${!known && html`<option value=${store.taskDevice}>${store.taskDevice}</option>`}
      ${all.map((d) => html`<option key=${d.id} value=${d.id}>${d.area ? `${d.name}, ${d.area}` : d.name}</option>`)}</select></div>`
}
