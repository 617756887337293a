package interpret

import (
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
)

// New makes an interpreter for a home. It indexes all names of the devices, so a caller with
// many requests makes it once and takes At for each moment.
func New(c *catalog.Catalog, home capabilities.Home) *Interpreter {
	r := &Interpreter{Resolver: *resolve.NewResolver(c, home)}
	r.nameSpellings = lexicon.LongSpellings(r.Names.Words)
	return r
}

// At returns the resolver for another moment, which shares everything else with r. The
// arguments are as in Home.
func (r *Interpreter) At(now time.Time, unset string) *Interpreter {
	at := *r
	at.Site.Now, at.Site.Unset = now, unset
	return &at
}
