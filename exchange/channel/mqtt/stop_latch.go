package mqtt

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// applyLatch takes the stop latch. It is the only retained message that has an effect, because
// it can only make things safer. The same latch has effect once, so a new connection does not
// stop an executor again that a person has reset.
func (d *Adapter) applyLatch(ctx context.Context, in inbound) {
	on, by, err := readLatch(in.payload)
	if err != nil {
		d.counters.unreadable.Add(1)
		d.log.Error("the stop latch is invalid and counts as a stop", "err", err)
		on = true
	}
	d.mu.Lock()
	same := d.lastLatch == string(in.payload)
	d.mu.Unlock()
	if same && (in.retain || !on) {
		return
	}
	if on {
		actor := exchange.Actor{ID: "operator", Roles: exchange.Operator}
		if in.sender != nil {
			actor = *in.sender
		}
		reason := "the stop latch at the broker"
		if by != "" {
			reason = fmt.Sprintf("the stop latch at the broker, by %.64s", by)
		}
		if _, err := d.x.Stop(ctx, actor, mess.Stop{Reason: reason}); err != nil {
			d.log.Error("passing on the stop latch failed", "err", err)
			return
		}
	}
	d.mu.Lock()
	d.lastLatch = string(in.payload)
	doc, _ := json.Marshal(d.lastLatch) // cannot fail: text
	d.mu.Unlock()
	if err := d.x.SaveChannelState(ctx, channel, latchDocument, doc); err != nil {
		d.log.Warn("storing the stop latch failed; after a restart it stops everything again", "err", err)
	}
}

// readLatch reads the latch: {latched, epoch, by}.
func readLatch(payload []byte) (on bool, by string, err error) {
	o, err := mess.ParseObject(payload)
	if err != nil {
		return false, "", err
	}
	v, _ := o.Get("latched")
	on, ok := v.(bool)
	if !ok {
		return false, "", fmt.Errorf("latched: is not true or false")
	}
	return on, o.Text("by"), nil
}
