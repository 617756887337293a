package exchange

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/messkit/messkit/mess"
)

const routingKind = "routing"

func (x *Exchange) readRouting(ctx context.Context) error {
	docs, err := x.docs.Docs(ctx, routingKind)
	if err != nil || docs["rules"] == nil {
		return err
	}
	var r mess.Routing
	if err := json.Unmarshal(docs["rules"], &r); err != nil {
		return fmt.Errorf("stored routing rules: %w; set them again", err)
	}
	x.setRules(r)
	return nil
}

// setRules puts rules that were set at run time before those of the configuration. x.mu
// is held.
func (x *Exchange) setRules(r mess.Routing) {
	x.table = x.table.WithRules(slices.Concat(r.Rules, x.cfg.Routing.Rules)...)
}

// setRouting replaces the rules that were set at run time (MESS 1.0 section
// 7.4).
func (x *Exchange) setRouting(ctx context.Context, who Actor, r mess.Routing) error {
	if !who.Has(Operator) {
		return mess.Refuse(mess.Forbidden, "config.routing: %q is not an operator, and only operators set routing rules", who.ID)
	}
	doc, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := x.docs.Put(ctx, routingKind, "rules", doc); err != nil {
		return x.broken(err)
	}
	x.mu.Lock()
	x.setRules(r)
	x.stale.all = true
	x.mu.Unlock()
	x.renew()
	return nil
}
