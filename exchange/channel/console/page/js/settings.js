// The settings. Their view loads when somebody opens it.

let me = null
let view = null
let version = ''

/** ready notes who has signed in. */
export function ready(who) {
  me = who
}

/** load shows the settings. */
export async function load() {
  view ||= await import('./settings/view.js')
  view.show(me, version)
}

/** changed takes the version from a new state. Only operators get it. */
export function changed(state) {
  if (!state.status?.version || state.status.version === version) return
  version = state.status.version
  view?.show(me, version)
}
