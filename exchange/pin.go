package exchange

import (
	"slices"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// pin holds an executor to the receipt key that it first registered with. With
// another it may work still, since it has proven who it is, but its receipts do
// not count until somebody at the machine says so.
func (x *Exchange) pin(c *mess.Executor) error {
	v, ok := c.Extra.Get(receipt.KeyField)
	if !ok {
		return nil
	}
	key, _ := v.(string) // CheckProfile has looked at it
	if x.cfg.Pin == nil {
		return nil
	}
	first, err := x.cfg.Pin(c.ID, key)
	if err != nil {
		return x.broken(err)
	}
	if first != key {
		x.log.Warn("an executor has changed the key that it signs receipts with; the first one counts", "executor", c.ID, "first", first, "now", key)
	}
	c.Extra = slices.Clone(c.Extra).Set(receipt.KeyField, first)
	return nil
}
