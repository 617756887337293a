// The addresses for notifications while the page is closed, and the results of deliveries.

import { page } from './api.js'
import { $, el, fill } from './dom.js'
import { agoNode } from './times.js'

const kinds = { ntfy: 'an ntfy topic', webhook: 'a webhook' }

/** ready shows the addresses, and sets up the forms that change them. */
export async function ready() {
  const form = $('notice')
  form.onsubmit = async (e) => {
    e.preventDefault()
    if (await change({ do: 'add', type: $('hook-kind').value, url: $('hook').value.trim() }, form)) $('hook').value = ''
  }
  $('notice-try').onclick = async (e) => {
    e.target.textContent = 'Sending …'
    await change({ do: 'try' }, e.target)
    e.target.textContent = 'Send a test notification'
  }
  show(await page.notifications())
}

async function change(what, node) {
  const buttons = node.tagName === 'BUTTON' ? [node] : [...node.querySelectorAll('button')]
  for (const b of buttons) b.disabled = true
  $('notices-error').textContent = ''
  try {
    show(await page.notifications(what))
    return true
  } catch (err) {
    $('notices-error').textContent = err.message
    return false
  } finally {
    for (const b of buttons) b.disabled = false
  }
}

function show(v) {
  fill($('notices'), v.notices.length ? v.notices.map(address) : el('li', {}, el('p', { className: 'empty' }, 'No address: this page notifies you only while it is open.')))
  $('notice-try').hidden = v.notices.length === 0
  $('notices-kept').textContent = preferencesText(v.preferences)
  const list = v.tried || (v.log || []).slice(0, 1)
  fill($('notification-results'), list.map((e) => resultNode(e, Boolean(v.tried))))
}

function address(n) {
  const url = typeof n.url === 'string' ? n.url : JSON.stringify(n)
  return el('li', {}, el('p', {}, el('strong', {}, kinds[n.type] || `${n.type} (the exchange sends nothing to this type)`), `: ${url}`),
    typeof n.url === 'string' ? el('button', { type: 'button', className: 'plain', 'aria-label': `Remove ${url}`, onclick: (e) => change({ do: 'remove', url }, e.target) }, 'Remove') : null)
}

/** resultNode returns the result of one notification. */
function resultNode(e, now) {
  const what = now || e.event_type === 'test' ? 'The test notification' : 'The last notification'
  const when = now ? '.' : [' (', agoNode(e.at), ').']
  if (e.state === 'delivered') return el('p', {}, el('span', { className: 'chip good' }, 'delivered'), ` ${what}: ${e.to} has accepted it`, when)
  if (e.state === 'waiting') return el('p', {}, el('span', { className: 'chip warn' }, 'pending'), ` ${what}: not delivered to ${e.to} yet${e.error ? ` (${e.error})` : ''}`, when)
  return el('p', {}, el('span', { className: 'chip bad' }, 'failed'), ` ${what}: not delivered to ${e.to || 'an address'}: ${e.error}`, when)
}

/** preferencesText describes when the exchange holds notifications back. Other programs set that. */
function preferencesText(p) {
  if (p === null || typeof p !== 'object') return ''
  const quiet = p.quiet_hours?.enabled ? `only urgent ones from ${p.quiet_hours.start || '22:00'} to ${p.quiet_hours.end || '07:00'}` : ''
  const least = p.min_priority ? `only priority ${p.min_priority} or higher` : ''
  const parts = [least, quiet].filter(Boolean)
  return parts.length ? `Notifications: ${parts.join(', ')}.` : ''
}
