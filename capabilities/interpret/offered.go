package interpret

import (
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// sayable are the orders that a device takes by its name alone, or with asks the questions.
// The resolver understands each of them as one for just this device.
func (r *Interpreter) sayable(d int, asks bool) (list []string) {
	for _, c := range r.Catalog.Capabilities {
		if asks && c.Effect != capabilities.Query || c.Effect == capabilities.Once || !r.CanOffer(c, d) {
			continue // what is done once more with every order is not offered
		}
		say := r.Example(c, d, r.Site.Devices[d])
		if o := r.Resolve(mess.Request{Intent: say}); o.Plan != nil && o.Plan.Device == r.Site.Devices[d].Name && o.Plan.Capability == c.ID {
			list = append(list, say)
		}
	}
	return lexicon.Distinct(list)
}
