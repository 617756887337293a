package gate

import "fmt"

// confirmed refuses a plan that needs a yes and has none, or one that was given
// to another plan. Whose yes it was is for the exchange to see to.
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
