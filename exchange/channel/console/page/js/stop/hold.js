// A button that acts after a press of one second: with the pointer, a finger, Space or Enter.

const holdTime = 1000 // ms
const repeatTime = 10000 // ms in which a second click without a press acts

/** holdToAct calls act once the button has been pressed for a second. tell gets 'short' after a shorter press. Assistive technology clicks without a press: tell gets 'repeat' after the first such click, and the second one acts. */
export function holdToAct(button, act, tell) {
  let timer = 0
  let clicked = 0 // time of the last click without a press
  let pressed = false // the next click belongs to a press
  const begin = () => {
    if (timer || button.disabled) return
    button.classList.add('held')
    timer = setTimeout(() => {
      end()
      act()
    }, holdTime)
  }
  const end = () => {
    clearTimeout(timer)
    timer = 0
    button.classList.remove('held')
  }
  const release = () => {
    if (!timer) return
    end()
    tell('short')
  }
  button.addEventListener('pointerdown', (e) => {
    if (e.button !== 0) return
    pressed = true
    button.setPointerCapture(e.pointerId) // a finger that slips off still holds
    begin()
  })
  for (const name of ['pointerup', 'pointercancel', 'blur']) button.addEventListener(name, release)
  button.addEventListener('contextmenu', (e) => e.preventDefault()) // of a long touch
  const isKey = (e) => e.key === ' ' || e.key === 'Enter'
  button.addEventListener('keydown', (e) => {
    if (!isKey(e)) return
    e.preventDefault()
    if (!e.repeat) begin()
  })
  button.addEventListener('keyup', (e) => {
    if (!isKey(e)) return
    e.preventDefault()
    release()
  })
  button.addEventListener('click', (e) => {
    e.preventDefault()
    if (pressed) {
      pressed = false
      return
    }
    const again = Date.now() - clicked < repeatTime
    clicked = again ? 0 : Date.now()
    if (again) act()
    else tell('repeat')
  })
}
