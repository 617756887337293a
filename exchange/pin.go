package exchange

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// granted refuses capabilities beyond those that the code of an executor granted: with
// others it would be offered what is none of its business.
func (x *Exchange) granted(c mess.Executor) error {
	if x.cfg.Granted == nil {
		return nil
	}
	all := x.cfg.Granted(c.ID)
	if all == nil {
		return nil
	}
	for _, one := range c.Capabilities {
		if !slices.Contains(all, one.ID) {
			return mess.Errorf(mess.Forbidden, "capabilities: the code of %s granted %s, and not %.60q; an operator revokes its key and makes a code that grants it", c.ID, strings.Join(all, ", "), one.ID)
		}
	}
	return nil
}

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
