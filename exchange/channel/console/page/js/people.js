// The page of the people. Its parts load when an operator opens it.

let me = null
let view = null

/** ready notes who has signed in. */
export function ready(who) {
  me = who
}

/** load shows the people, as the server lists them now. */
export async function load() {
  view ||= await import('./people/view.js')
  view.show(me)
}

/** changed shows the helpers of a new state. */
export function changed(state) {
  view?.changed(state)
}
