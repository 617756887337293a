package interpret

import (
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/mess"
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

// Interpreter turns requests into outcomes for one home. It is immutable and safe
// for concurrent use.
type Interpreter struct {
	resolve.Resolver
	nameSpellings []lexicon.Spelling // the words of names that may be misspelt
}

// Resolve turns a request into a plan, a question or a refusal.
func (r *Interpreter) Resolve(req mess.Request) capabilities.Outcome {
	return r.resolve(req, nil)
}

// request is one request on its way through the resolver.
type request struct {
	resolve.Request
	r       *Interpreter
	uneven  bool   // of several things only the last has how much
	part    bool   // it is one of several orders
	unnamed string // a name with a number that nothing here has
}

func (r *Interpreter) resolve(req mess.Request, given mess.Object) capabilities.Outcome {
	plain, left := r.letter(req.Intent)
	req.Intent = plain
	if out, ok := r.earlier(req); ok {
		return out
	}
	req = r.referred(req)
	more, remarks, parted := r.parted(req)
	if parted {
		req = more
		req.Context = slices.Clip(req.Context)
		for _, one := range remarks {
			req.Context = append(req.Context, mess.Entry{Type: remarked, Value: one})
		}
	}
	var out capabilities.Outcome
	if len(req.Context) > 0 {
		out = r.inContext(req, given)
	} else {
		out = r.said(req, given)
		if out.Refusal != nil {
			if asked, ok := r.bareDevice(req, given); ok {
				out = asked
			}
		}
	}
	if out.Plan != nil && len(left) > 0 {
		p := *out.Plan
		p.Unused, out.Plan = append(slices.Clip(p.Unused), left...), &p
	}
	return out
}

// said resolves a request by its words, without its context.
func (r *Interpreter) said(req mess.Request, given mess.Object) capabilities.Outcome {
	x := &request{r: r, Request: resolve.Request{Resolver: &r.Resolver, Utterance: entity.Utterance{Home: &r.Home}, Message: req, Given: given}}
	out := x.outcome()
	if x.unnamed != "" && out.Plan != nil && out.Plan.Actuates() {
		out = x.AskConfirmation(*out.Plan, fmt.Sprintf("nothing here has the name %q: ", x.unnamed))
	}
	if out.Plan != nil {
		if no, ok := x.CheckEnvironment(out.Plan); !ok {
			out = no
		} else if no, bad := x.CheckTiming(out.Plan); bad {
			out = no
		}
	}
	out.Explain = x.Explain
	return out
}
