package httpapi

import (
	"net/http"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

func (c *call) health() error {
	h := map[string]any{"status": "ok"}
	if c.cfg.Health != nil {
		h = c.cfg.Health()
	}
	h["service"], h["version"], h["exchange_id"] = "mess-exchange", c.cfg.Version, c.x.ID()
	c.writeJSON(http.StatusOK, h)
	return nil
}

// webhooks returns the delivery log.
func (c *call) webhooks() error {
	if c.cfg.Webhooks == nil {
		return errNoPath
	}
	c.writeJSON(http.StatusOK, map[string]any{"deliveries": c.cfg.Webhooks(c.actor)})
	return nil
}

// status returns the status of the program, for operators.
func (c *call) status() error {
	if c.cfg.Status == nil {
		return errNoPath
	}
	if !c.actor.Has(exchange.Operator) {
		return mess.Errorf(mess.Forbidden, "only an operator may read the status of the program")
	}
	c.writeJSON(http.StatusOK, c.cfg.Status())
	return nil
}
