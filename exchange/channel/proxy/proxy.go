// Package proxy acts at the exchange for executors that another protocol reaches: it registers
// them, claims requests for them, and asks a person before it gives a request away. The channels
// send the request and report the progress. The package knows no wire format.
package proxy

import (
	"context"
	"errors"

	"github.com/messkit/messkit/mess"
)

// Post posts a message to the exchange as the executor.
type Post func(ctx context.Context, m mess.Message) (mess.Message, error)

// Register registers an executor with its capabilities and the areas that it serves.
func Register(ctx context.Context, post Post, id, name string, capabilities, areas []string) error {
	e := &mess.Executor{ID: id, Name: name, Capabilities: []mess.Capability{}, Versions: []string{"1.0.0", "1.1.0"}}
	for _, one := range capabilities {
		e.Capabilities = append(e.Capabilities, mess.Capability{ID: one})
	}
	if len(areas) > 0 {
		e.Extra = e.Extra.Set("areas", areas)
	}
	_, err := post(ctx, mess.Message{Items: []mess.Item{&mess.Config{Executor: e}}})
	return err
}

// Claim claims a thread before its executor learns of it, so that no other executor takes it. The
// epoch is 0 if another executor was faster.
func Claim(ctx context.Context, post Post, ref string) (epoch uint64, _ error) {
	answer, err := post(ctx, mess.Message{Re: mess.Refs{ref}, Items: []mess.Item{&mess.Status{Code: mess.Claimed}}})
	if errors.Is(err, mess.AlreadyClaimed) || errors.Is(err, mess.IllegalTransition) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if ack, ok := answer.Items[0].(*mess.Ack); ok {
		return ack.Epoch, nil
	}
	return 0, nil
}

// AskConsent returns the status that asks a person whether the request with an intent may go to
// an executor. to names the executor and its channel: "helper by mail". The digest names the
// request, so that the confirmation counts for it alone.
func AskConsent(to, intent, digest string) *mess.Status {
	return &mess.Status{
		Code: mess.NeedsConfirmation, Action: "give this to " + to + ": " + intent, ActionHash: digest,
		Consequences: "from then on the other side decides when it acts, and may ask again",
	}
}

// Consent reads the answer to AskConsent. ok is false if the item does not answer it.
func Consent(item mess.Item) (yes, ok bool) {
	switch i := item.(type) {
	case *mess.Reply:
		if i.Confirm != nil {
			return *i.Confirm, true
		}
	case *mess.Answer:
		yes, ok = i.Value.(bool)
	}
	return yes, ok
}

// NoConsent returns the status of a task whose requester did not consent.
func NoConsent() *mess.Status {
	return &mess.Status{Code: mess.Cancelled, Reason: &mess.Reason{Type: "not_confirmed", Detail: "the answer was no", Effect: mess.EffectNone}}
}

// Start returns the status that asks the exchange for the start permission. The executor may act
// from then on.
func Start(to, digest string) *mess.Status {
	return &mess.Status{Code: mess.InProgress, ActionHash: digest, Message: "given to " + to, Extra: mess.Object{{Key: "effect", Value: "once"}}}
}
