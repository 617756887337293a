// Why somebody has stopped an executor, in the language of the page.

import { clock, t } from '../text/text.js'

const form = /^(.*), by (.+), (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/s // as an executor of messkit reports it

const buttons = new Map([['', 'noreason'], ['stop button of the console', 'console'], ['stop button of a phone', 'phone']])

/** reasonText returns the reason of an order to stop. Those of the stop buttons have a text; others are the words of a person. */
export const reasonText = (why) => (buttons.has(why || '') ? t(`stop.${buttons.get(why || '')}`) : why)

/** whyText returns the reason of a stop, who has ordered it and when. An executor of another maker may report anything. */
export function whyText(why) {
  const [, reason, by, day, time] = form.exec(why || '') || []
  return by ? t('stop.by', { why: reasonText(reason), by, time: clock(`${day}T${time}`) }) : reasonText(why)
}
