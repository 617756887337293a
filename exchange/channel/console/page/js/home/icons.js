// The icons of the Home view: own shapes in one style, 24 pixels, drawn as lines.

import { html } from '../html.js'

const shapes = {
  light: 'M9 18h6M10 21h4M12 3a6 6 0 0 0-3.5 10.9c.6.5 1 1.2 1 2V16h5v-.1c0-.8.4-1.5 1-2A6 6 0 0 0 12 3z',
  plug: 'M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4',
  fan: 'M12 12m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0M12 10c-3-2-3-7 1-7s3 4-1 7M14 12c2-3 7-3 7 1s-4 3-7-1M12 14c3 2 3 7-1 7s-3-4 1-7M10 12c-2 3-7 3-7-1s4-3 7 1',
  heater: 'M4 7v12M8 5v14M12 5v14M16 5v14M20 7v12M4 9h16M4 16h16',
  thermometer: 'M10 4a2 2 0 0 1 4 0v9.5a4 4 0 1 1-4 0zM12 9v8',
  drop: 'M12 3c3.5 4.2 6 7.3 6 10.5a6 6 0 0 1-12 0C6 10.3 8.5 7.2 12 3z',
  blind: 'M4 4h16M5 4v14M19 4v14M5 8h14M5 12h14M5 16h14M12 16v4',
  garage: 'M3 20V9l9-5 9 5v11M7 20v-8h10v8M7 16h10',
  door: 'M6 21V3h12v18M3 21h18M14.5 12v.1',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3M12 15v2',
  unlock: 'M6 11h12v9H6zM8.5 11V7a3.5 3.5 0 0 1 6.8-1M12 15v2',
  camera: 'M3 8h4l2-3h6l2 3h4v11H3zM12 13m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0',
  vacuum: 'M12 12m-9 0a9 9 0 1 0 18 0a9 9 0 1 0-18 0M12 12m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0M5 7.5h14',
  rover: 'M4 9h16v6H4zM7 18m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0M17 18m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0M12 9V5M9 5h6',
  printer: 'M4 4h16v16H4zM4 8h16M12 8v4M10 12h4l-2 2.5zM8 17h8',
  servo: 'M5 19a8 8 0 1 1 14 0M12 14l4-5M12 14m-1.5 0a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0',
  appliance: 'M5 3h14v18H5zM5 8h14M12 14.5m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0M8 5.5h2',
  cup: 'M5 9h11v6a5 5 0 0 1-5 5h-1a5 5 0 0 1-5-5zM16 10h2a2.5 2.5 0 0 1 0 5h-2M8 3v3M12 3v3',
  tv: 'M3 5h18v12H3zM8 21h8M12 17v4',
  motion: 'M13 4.5m-1.5 0a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0M8 11l3-3 3 1 1.5 3 3 1M11 9l-1 5 3 2 1 5M10 14l-3 6',
  gauge: 'M4 18a9 9 0 1 1 16 0M12 14l3-5M7 18h10',
  button: 'M12 12m-8 0a8 8 0 1 0 16 0a8 8 0 1 0-16 0M12 12m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0',
  device: 'M5 5h14v14H5zM9 9h6v6H9z',
  home: 'M4 11l8-7 8 7M6 9.5V20h12V9.5M10 20v-6h4v6',
  check: 'M5 12.5l4.5 4.5L19 7',
  alert: 'M12 4l9 16H3zM12 10v4M12 17v.1',
  up: 'M6 15l6-6 6 6', down: 'M6 9l6 6 6-6', left: 'M15 6l-6 6 6 6', right: 'M9 6l6 6-6 6',
  stop: 'M7 7h10v10H7z', pause: 'M8 6v12M16 6v12', play: 'M8 5l11 7-11 7z',
  minus: 'M6 12h12', plus: 'M6 12h12M12 6v12',
  dock: 'M4 20h16M6 20v-5h12v5M12 3v8M8.5 8l3.5 3.5L15.5 8',
  list: 'M9 6h11M9 12h11M9 18h11M4.5 6v.1M4.5 12v.1M4.5 18v.1',
  rack: 'M4 4h16v7H4zM4 13h16v7H4zM7.5 7.5v.1M7.5 16.5v.1M11 7.5h6M11 16.5h6',
  people: 'M9 8m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0M2.5 20a6.5 6.5 0 0 1 13 0M15.5 4.9a3.5 3.5 0 0 1 0 6.2M17.5 14.2a6.5 6.5 0 0 1 4 5.8',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 7m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0M9 17m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0',
  bell: 'M6 17V11a6 6 0 0 1 12 0v6l2 2H4zM10 21h4M12 3v2',
  away: 'M3 3l18 18M8.5 12a5 5 0 0 1 1.5-1M5 9a10 10 0 0 1 3-2M12 5.5A10 10 0 0 1 19 9M12 18v.1',
}

const byClass = {
  light: 'light', plug: 'plug', switch: 'plug', relay: 'plug', fan: 'fan', heater: 'heater', 'air-conditioner': 'fan', humidifier: 'drop', dehumidifier: 'drop',
  kettle: 'cup', 'coffee-machine': 'cup', 'rice-cooker': 'cup', tv: 'tv', pump: 'drop', valve: 'drop', siren: 'alert', camera: 'camera', fridge: 'appliance',
  vacuum: 'vacuum', rover: 'rover', lock: 'lock', door: 'door', window: 'blind', gate: 'garage', blind: 'blind', 'garage-door': 'garage', printer: 'printer', servo: 'servo',
  scene: 'play', script: 'play', button: 'button', washer: 'appliance', dryer: 'appliance', dishwasher: 'appliance', oven: 'appliance',
  thermometer: 'thermometer', hygrometer: 'drop', 'motion-sensor': 'motion', 'contact-sensor': 'door', 'moisture-sensor': 'drop', sensor: 'gauge',
}

/** classIcon returns the name of the icon of a class of devices. */
export const classIcon = (name) => byClass[name] || 'device'

/** Icon draws an icon. A screen reader skips it: the text or the label next to it has its name. */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" focusable="false"><path d=${shapes[name]} /></svg>`
}
