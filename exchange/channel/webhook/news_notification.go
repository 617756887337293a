package webhook

import (
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// newsEvent is the event of a notification that belongs to no thread.
const newsEvent = "news"

// Broadcast sends a text that belongs to no thread, such as an incident. It goes to people,
// observers and operators who want notifications of that priority.
func (h *Dispatcher) Broadcast(p mess.Priority, text string) {
	now := time.Now()
	for _, ex := range h.x.NotifiableExecutors() {
		addresses := addressesOf(ex.Extra)
		if len(addresses) == 0 || !wantsNow(ex.Extra, p, now) {
			continue
		}
		actor, _, ok := h.keys.Shared(ex.ID)
		if !ok || !exchange.IsPerson(ex.Executor) && !actor.Has(exchange.Observer) && !actor.Has(exchange.Operator) {
			continue
		}
		for _, a := range addresses {
			err := h.enqueue(notification{
				ID: newID(), Executor: ex.ID, URL: a.url, Event: newsEvent, Made: now, Due: now,
				Thread: summary{Intent: text, Priority: p, Created: formatTime(now), Updated: formatTime(now)},
			})
			if err != nil {
				h.log.Warn("webhooks: the exchange could not store a notification, so nobody sends it", "executor", ex.ID, "event", newsEvent, "err", err)
			}
		}
	}
}
