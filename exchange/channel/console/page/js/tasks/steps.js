// The words for one step of a plan: the device, the verb and the value.

import { toWords } from '../dom.js'
import { store } from '../home/store.js'
import { measure, named } from '../text/text.js'

const units = { level: '%', opening: '%', temperature: '°C', kelvin: 'K', angle: '°' }

/** deviceName returns the name of a device of an executor. */
export const deviceName = (device, executor) => [...store.devices.values()].find((d) => d.device === device && (!executor || d.executor === executor))?.name || toWords(device)

/** argsText returns the values of a step. */
export const argsText = (args) => Object.entries(args || {}).filter(([name]) => name !== 'devices').map(([name, v]) => (typeof v === 'number' ? measure(v, units[name]) : Array.isArray(v) ? v.map(toWords).join(', ') : typeof v === 'object' || typeof v === 'boolean' ? '' : toWords(v))).filter(Boolean).join(' · ')

/** stepText returns a step in words. */
export const stepText = (s) => [`${deviceName(s.device)}: ${named('verb', s.capability)}`, argsText(s.args)].filter(Boolean).join(' ')
