package policy

import "fmt"

// confirmed rejects a plan that lacks the confirmation it needs, or that has the confirmation
// of another plan. The exchange checks who has confirmed.
func (g *Gate) confirmed(d *device, o Order) error {
	who := g.cfg.confirm(*d.limits, o.Plan)
	if who == Nobody || o.Confirmed == o.Digest() {
		return nil
	}
	text := fmt.Sprintf("it needs the yes of the %s first", who)
	if o.Confirmed != "" {
		text = fmt.Sprintf("the yes of the %s was given to another plan; ask again", who)
	}
	return &Refusal{Device: d.name, Rule: "confirm", Text: text}
}
