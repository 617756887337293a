// Web Push of this browser: what it needs, and how to turn it on and off.

import { page } from '../api.js'
import { language, t } from '../text/text.js'

const textsCache = 'messkit-notices' // as in sw.js
const textsPath = '/console/notice-texts.json' // as in sw.js
const kinds = ['question', 'confirmation', 'unknown', 'failed', 'unsafe', 'offline']

const isApple = /iP(hone|ad|od)/.test(navigator.userAgent) || (navigator.platform === 'MacIntel' && navigator.maxTouchPoints > 1)

/** obstacle returns why this browser cannot take push messages now: apple, secure, browser or blocked; '' if it can. */
export function obstacle() {
  if (!isSecureContext || !navigator.serviceWorker) return 'secure'
  if (!globalThis.PushManager || !globalThis.Notification) return isApple && !navigator.standalone ? 'apple' : 'browser'
  return Notification.permission === 'denied' ? 'blocked' : ''
}

/** worker returns the registration of the service worker, or null if the browser has not accepted it. */
const worker = async () => (await navigator.serviceWorker?.getRegistration?.('/')) || null

/** subscribed returns whether this browser has a subscription. */
export const subscribed = async () => Boolean(await (await worker())?.pushManager?.getSubscription())

/** keepTexts gives the service worker the texts of notices in the language of this browser. */
export async function keepTexts() {
  if (!globalThis.caches) return
  const texts = { lang: language, offer: t('push.offer'), news: t('push.news'), test: t('push.test'), testBody: t('push.arrives'), offlineBody: t('bell.offline', { name: '{name}' }), openQuestion: t('push.question'), openTask: t('push.task') }
  for (const kind of kinds) texts[kind] = t(`notice.${kind}`)
  await (await caches.open(textsCache)).put(textsPath, new Response(JSON.stringify(texts)))
}

/** bytes decodes base64url. */
const bytes = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))

/** turnOn subscribes this browser, and returns the new settings of the exchange. key is the public key of the exchange. */
export async function turnOn(key) {
  if (await Notification.requestPermission() !== 'granted') throw new Error(t('push.blocked'))
  const registration = await worker()
  if (!registration) throw new Error(t('push.secure'))
  await keepTexts()
  const old = await registration.pushManager.getSubscription()
  if (old) await old.unsubscribe() // it may belong to another key
  let subscription
  try {
    subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(key) })
  } catch (err) {
    throw new Error(t('push.service', { reason: err.message }))
  }
  return page.notifications({ do: 'subscribe', subscription: subscription.toJSON() })
}

/** turnOff ends the subscription of this browser, and returns the new settings of the exchange. */
export async function turnOff() {
  const subscription = await (await worker())?.pushManager?.getSubscription()
  await subscription?.unsubscribe()
  return page.notifications({ do: 'unsubscribe' })
}
