package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/push"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/mess"
)

// settingsChannel is the name under which the exchange stores the notice settings of people.
const settingsChannel = "console-people"

// actorKey is the field of such a document with the id of the person.
const actorKey = "actor"

// settingsName names the document of a person.
func settingsName(actor string) string { return digest([]byte(actor)) }

// checkSettings reports the stored notice settings that are unreadable.
func (c *Console) checkSettings() {
	for _, doc := range c.x.ChannelState(settingsChannel) {
		if _, err := parseSettings(doc); err != nil {
			c.log.Warn("a person has no notice addresses any more: the stored settings are invalid", "err", err)
		}
	}
}

// parseSettings reads notice settings, nil for none.
func parseSettings(doc []byte) (o mess.Object, err error) {
	if doc == nil {
		return nil, nil
	}
	if err := json.Unmarshal(doc, &o); err != nil {
		return nil, err
	}
	if o.Text(actorKey) == "" {
		return nil, errors.New("they name no person")
	}
	return o, nil
}

// changeSettings changes one field of the notice settings of a person. A field without a key changes
// nothing. It calls change again if another browser, here or at another exchange, was first. The error
// is a *mess.Error.
func (c *Console) changeSettings(ctx context.Context, actor string, change func(settings mess.Object) (mess.Field, error)) error {
	return c.x.ChangeChannelState(ctx, settingsChannel, settingsName(actor), func(doc []byte) ([]byte, error) {
		settings, _ := parseSettings(doc) // Open has reported unreadable ones
		field, err := change(settings)
		if err != nil || field.Key == "" {
			return doc, err
		}
		return json.Marshal(slices.Clone(settings).Set(actorKey, actor).Set(field.Key, field.Value))
	})
}

// Persons returns the ids of the people who sign in here, except human executors.
func (c *Console) Persons() []string {
	list := []string{keys.OperatorID}
	for _, p := range c.keys.Persons() {
		list = append(list, p.Actor)
	}
	return list
}

// Settings returns the notice addresses and preferences of a person, in the form of a registration.
func (c *Console) Settings(person string) mess.Object {
	settings, _ := parseSettings(c.x.ChannelDocument(settingsChannel, settingsName(person))) // Open has reported unreadable ones
	return settings
}

// subscription is the push subscription of a signed-in browser. It ends with its session, and with
// the key of the person.
type subscription struct {
	push.Subscription

	Key string `json:"key"` // says with which key it was made, and not the key
}

// keyMark returns what a subscription keeps of a key, from the secret that the key shares with the
// exchange.
func keyMark(secret []byte) string { return digest(append([]byte("messkit push "), secret...)) }

// digest returns a name of fixed length for data.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// isPushed reports whether a session takes push messages, under the present key of its actor.
func (s session) isPushed(mark string) bool {
	return s.Push != nil && s.Push.Key == mark && time.Since(s.Created) <= sessionTime
}

// Subscriptions returns the push subscriptions of the signed-in browsers of an actor, sorted by their
// addresses.
func (c *Console) Subscriptions(actor string) (list []push.Subscription) {
	_, secret, ok := c.keys.Shared(actor)
	if !ok {
		return nil
	}
	mark := keyMark(secret)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sessions {
		if s.Actor == actor && s.isPushed(mark) {
			list = append(list, s.Push.Subscription)
		}
	}
	order.By(list, func(a, b push.Subscription) int { return strings.Compare(a.Endpoint, b.Endpoint) })
	return list
}

// Subscribed returns the actors with a browser that has turned push messages on, sorted.
func (c *Console) Subscribed() (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sessions {
		if s.Push != nil {
			list = append(list, s.Actor)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// SubscriptionsChanged returns a channel that closes at the next change of Subscribed.
func (c *Console) SubscriptionsChanged() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pushChanged
}

// endTime limits the time to store the end of a subscription.
const endTime = 10 * time.Second

// EndSubscription forgets a subscription of an actor.
func (c *Console) EndSubscription(actor, endpoint string) {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	is := func(s session) bool { return s.Actor == actor && s.Push != nil && s.Push.Endpoint == endpoint }
	if err := c.endPush(ctx, is); err != nil {
		c.log.Warn("cannot store that a browser takes no push messages any more", "actor", actor, "err", err)
	}
}

// endPush ends the subscriptions of the sessions that is selects.
func (c *Console) endPush(ctx context.Context, is func(session) bool) error {
	c.mu.Lock()
	var names []string
	for name, s := range c.sessions {
		if is(s) {
			names = append(names, name)
		}
	}
	c.mu.Unlock()
	for _, name := range names {
		if err := c.updateSession(ctx, name, func(s *session) { s.Push = nil }); err != nil {
			return err
		}
	}
	return nil
}

// updateSession changes a stored session. One that has ended, here or at another exchange, stays ended.
func (c *Console) updateSession(ctx context.Context, name string, change func(*session)) error {
	err := c.x.ChangeChannelState(ctx, channel, name, func(doc []byte) ([]byte, error) {
		s, ok := c.parseSession(doc)
		if !ok {
			return nil, nil
		}
		change(&s)
		return json.Marshal(s)
	})
	c.refreshSession(name)
	return err
}

// subscribe makes the calling browser take push messages. Another session of the same browser does so
// no more: that browser has a new user.
func (g *request) subscribe(s push.Subscription) error {
	if g.cfg.PushKey == "" {
		return mess.Errorf(mess.NotYet, "this exchange sends no push messages")
	}
	if err := s.Validate(); err != nil {
		return err
	}
	name := g.sessionName(g.r)
	_, secret, ok := g.keys.Shared(g.actor.ID)
	if name == "" || !ok {
		return mess.Errorf(mess.Conflict, "only a signed-in browser takes push messages; sign in on the page")
	}
	if err := g.endPush(g.r.Context(), func(other session) bool { return other.Push != nil && other.Push.Endpoint == s.Endpoint }); err != nil {
		return err
	}
	err := g.updateSession(g.r.Context(), name, func(own *session) { own.Push = &subscription{s, keyMark(secret)} })
	if err == nil {
		g.log.Info("a browser takes push messages", "actor", g.actor.ID)
	}
	return err
}

// unsubscribe ends the push messages of the calling browser.
func (g *request) unsubscribe() error {
	return g.updateSession(g.r.Context(), g.sessionName(g.r), func(own *session) { own.Push = nil })
}

// isSubscribed reports whether the calling browser takes push messages.
func (g *request) isSubscribed() bool {
	_, secret, ok := g.keys.Shared(g.actor.ID)
	if !ok {
		return false
	}
	name, mark := g.sessionName(g.r), keyMark(secret)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sessions[name].isPushed(mark)
}
