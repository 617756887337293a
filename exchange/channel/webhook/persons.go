package webhook

import (
	"errors"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/notices"
	"github.com/messkit/messkit/exchange/push"
	"github.com/messkit/messkit/mess"
)

// noticeEvent is the event of a notification about a notice of the bell.
const noticeEvent = "notice"

// People are those who sign in on a page of the exchange. Its methods must not block, and must not
// call the Dispatcher.
type People interface {
	// Persons returns the ids of those who get notices: everybody on the page but human executors.
	Persons() []string
	// Settings returns the addresses and preferences of a person, in the form of a registration.
	Settings(person string) mess.Object
	// Subscriptions returns the push subscriptions of the signed-in browsers of an actor.
	Subscriptions(actor string) []push.Subscription
	// Subscribed returns the actors with such a subscription.
	Subscribed() []string
	// SubscriptionsChanged returns a channel that closes at the next change of Subscribed.
	SubscriptionsChanged() <-chan struct{}
	// EndSubscription forgets a subscription, because its push service does not know it any more.
	EndSubscription(actor, endpoint string)
}

// Serve makes the Dispatcher send the notices of a Log to people, and Web Push messages to their
// browsers. Call it before Run.
func (h *Dispatcher) Serve(p People, l *notices.Log, k *push.Keys) {
	h.people, h.notices, h.push = p, l, k
	l.OnNew(h.queueNotice)
}

// target is where a notification goes.
type target struct {
	url  string
	push bool // a browser
}

// targets returns the addresses in a profile, and the browsers of the actor.
func (h *Dispatcher) targets(actor string, profile mess.Object) (list []target) {
	for _, a := range addressesOf(profile) {
		list = append(list, target{url: a.url})
	}
	if h.people != nil {
		for _, s := range h.people.Subscriptions(actor) {
			list = append(list, target{s.Endpoint, true})
		}
	}
	return list
}

// profile returns the addresses and preferences of an actor: an executor's own, else those of a
// person. It reports whether the actor is one of them.
func (h *Dispatcher) profile(actor string) (mess.Object, bool) {
	if e, ok := h.x.Executor(actor); ok {
		return e.Extra, true
	}
	if h.people == nil || !slices.Contains(h.people.Persons(), actor) {
		return nil, false
	}
	return h.people.Settings(actor), true
}

// notified returns the executors with an address or, of people, with a browser that takes push
// messages.
func (h *Dispatcher) notified() []exchange.ExecutorInfo {
	list := h.x.NotifiableExecutors()
	if h.people == nil {
		return list
	}
	for _, id := range h.people.Subscribed() {
		e, ok := h.x.Executor(id)
		if ok && exchange.IsPerson(e.Executor) && !slices.ContainsFunc(list, func(o exchange.ExecutorInfo) bool { return o.ID == id }) {
			list = append(list, e)
		}
	}
	return list
}

// browsersChanged returns a channel that closes when somebody turns notices on or off in a browser.
func (h *Dispatcher) browsersChanged() <-chan struct{} {
	if h.people == nil {
		return nil
	}
	return h.people.SubscriptionsChanged()
}

// queueNotice queues a new notice for the people who may see it and want it now. It does not queue
// one that needs nobody any more, or that is too old. The error is that of a shared store.
func (h *Dispatcher) queueNotice(n notices.Notice) (err error) {
	now := time.Now()
	if n.Over != nil || now.Sub(n.At) > maxAge {
		return nil
	}
	for _, id := range h.people.Persons() {
		settings := h.people.Settings(id)
		actor, _, ok := h.keys.Shared(id)
		if !ok || !n.IsVisibleTo(actor) || !wantsNow(settings, n.Priority, now) {
			continue
		}
		for _, t := range h.targets(id, settings) {
			err = errors.Join(err, h.enqueue(notification{
				ID: deliveryID(n.ID, noticeEvent, id, t.url), Executor: id, URL: t.url, Push: t.push, Event: noticeEvent, Made: now, Due: now, Notice: &n,
				Thread: summary{
					Ref: n.Ref, Intent: n.Intent, Priority: n.Priority, Requester: n.Requester, Executor: n.Executor,
					Created: formatTime(n.At), Updated: formatTime(n.At),
				},
			}))
		}
	}
	return err
}
