package mqtt_test

import (
	"context"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/broker"
)

// crashes is a store with a mistake in it.
type crashes struct{ exchange.Store }

func (s crashes) Append(ctx context.Context, step exchange.Step) (thread.Rev, error) {
	if step.Envelope.ClientID == "bad" {
		panic("a mistake in the store")
	}
	return s.Store.Append(ctx, step)
}

// A message causes a panic: the adapter drops and logs it, and accepts the next message of the same
// requester.
func TestPanicDropsOneMessage(t *testing.T) {
	for name, outside := range map[string]bool{"embedded": false, "elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			h := madeOver(t, crashes{memory.New()})
			if outside {
				m := h.elsewhere("allow_anonymous true\n")
				m.enter(broker.Address{})
			} else {
				h.serve()
			}
			a := h.connect(as{id: "asker"}).hears(root + "a/asker/in")
			h.eventually("the exchange listens", func() bool {
				a.says(root+"a/asker/out", "MESS: [{query: {id: there, type: executors}}]")
				return a.count("there") > 0
			})
			for _, qos := range []byte{0, 1} {
				a.publishes(root+"a/asker/out", "id: bad\nMESS: [{request: {id: bad, intent: look}}]", qos, false)
			}
			a.says(root+"a/asker/out", "id: good\nMESS: [{request: {id: good, intent: look}}]")
			a.has("good")
			h.eventually("the log says so", func() bool { return h.log.has("mistake in the program") })
		})
	}
}
