package mqtt_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	broker "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/broker/port"
)

// cutter is a hook that cuts off a client just when it is about to get something.
type cutter struct {
	broker.HookBase
	text string
	done atomic.Bool
	conn atomic.Pointer[broker.Client]
}

func (*cutter) ID() string { return "cutter" }

func (*cutter) Provides(b byte) bool {
	return b == broker.OnPublish || b == broker.OnSessionEstablished
}

func (c *cutter) OnSessionEstablished(cl *broker.Client, _ packets.Packet) {
	if cl.ID == "me" {
		c.conn.Store(cl)
	}
}

func (c *cutter) OnPublish(cl *broker.Client, pk packets.Packet) (packets.Packet, error) {
	if cl.Net.Inline && strings.HasSuffix(pk.TopicName, "a/me/in") && strings.Contains(string(pk.Payload), c.text) && !c.done.Swap(true) {
		me := c.conn.Load()
		port.Cut(me)
		for end := time.Now().Add(patience); !me.Closed() && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
	return pk, nil
}

// A reader loses its connection after the adapter has seen it and before it gets its message. It
// gets the message when it reconnects, with or without a persistent session.
func TestReaderLeavesBeforeDelivery(t *testing.T) {
	for _, keep := range []bool{true, false} {
		t.Run(fmt.Sprintf("keep %v", keep), func(t *testing.T) {
			h := newEmbeddedHarness(t)
			c := &cutter{text: "second step"}
			if err := h.own.Hook(c); err != nil {
				t.Fatal(err)
			}
			pi := h.newExecutor("pi")
			a := login{id: "me", user: "me", key: h.key("me", exchange.Requester), keep: keep}
			me := h.connect(a).listen(root + "a/me/in")
			me.publish(root+"a/me/out", fmt.Sprintf(photo, "mine"))
			ref := h.offeredRef(pi)
			epoch := h.claim(pi, ref)
			me.waitForText("claimed")
			pi.publish(root+"e/pi/out", fmt.Sprintf(`{"id":"p","re":"%s","epoch":%s,"MESS":[{"status":{"code":"in_progress","message":"second step."}}]}`, ref, epoch))
			<-me.lost
			h.connect(a).listen(root + "a/me/in").waitForText(c.text)
		})
	}
}
