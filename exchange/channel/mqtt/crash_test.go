package mqtt_test

import (
	"context"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/broker"
)

// crashingStore is a store with a mistake in it.
type crashingStore struct{ exchange.Store }

func (s crashingStore) Append(ctx context.Context, step exchange.Step) (thread.Rev, error) {
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
			h := newHarnessOver(t, crashingStore{memory.New()})
			if outside {
				m := h.addMosquitto("allow_anonymous true\n")
				m.startAdapter(broker.Address{})
			} else {
				h.serve()
			}
			a := h.connect(login{id: "asker"}).listen(root + "a/asker/in")
			h.eventually("the exchange listens", func() bool {
				a.publish(root+"a/asker/out", "MESS: [{query: {id: there, type: executors}}]")
				return a.count("there") > 0
			})
			for _, qos := range []byte{0, 1} {
				a.publishWith(root+"a/asker/out", "id: bad\nMESS: [{request: {id: bad, intent: look}}]", qos, false)
			}
			a.publish(root+"a/asker/out", "id: good\nMESS: [{request: {id: good, intent: look}}]")
			a.waitForText("good")
			h.eventually("the log contains it", func() bool { return h.log.has("mistake in the program") })
		})
	}
}
