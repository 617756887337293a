package interpret

import (
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// New makes an interpreter for a home. It indexes all names of the devices, so a caller with
// many requests makes it once and takes At for each moment.
func New(c *catalog.Catalog, home capabilities.Home) *Interpreter {
	r := &Interpreter{Home: *entity.NewHome(c, home)}
	r.all, r.named = r.spell(), lexicon.LongSpellings(r.Names.Words)
	r.able = r.examples()
	for _, one := range c.Capabilities {
		if r.reach(one) > 0 {
			r.ids = append(r.ids, one.ID)
		}
	}
	r.ids = append(r.ids, home.Facts...)
	return r
}

// At returns the resolver for another moment, which shares everything else with r. The
// arguments are as in Home.
func (r *Interpreter) At(now time.Time, unset string) *Interpreter {
	at := *r
	at.Site.Now, at.Site.Unset = now, unset
	return &at
}
