package interpret

import (
	"fmt"
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/mess"
)

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

func (x *request) outcome() capabilities.Outcome {
	w := x.Words()
	if len(x.Message.Intent) <= lexicon.MaxText {
		x.Tokens = w.Tokens(lexicon.RemoveKindSigns(x.Message.Intent))
	}
	if len(x.Message.Intent) > lexicon.MaxText || len(x.Tokens) > lexicon.MaxTokens {
		return x.Reject("the request has more than 60 words; say in one sentence what is to be done", nil)
	}
	x.Tokens = x.urged(x.unnumbered(x.Tokens))
	x.IsQuestion = w.IsQuestion(x.Message.Intent, x.Tokens)
	x.IsQuestion = x.IsQuestion || x.stillSo()
	x.agreeing()
	x.InQuotes, x.Whole = x.quoting(), x.Tokens
	if out, bad := x.signs(); bad {
		return out
	}
	if out, bad := x.ReadDemand(); bad {
		return out
	}
	if out, bad := x.unknownNumber(); bad {
		return out
	}
	if x.Demand.Capabilities == nil && x.stopsAll() {
		return x.Reject(fmt.Sprintf("%q is no request, for one waits for its turn: \"messkit stop\" at the place, the stop button of the console, or \"messkit stop --all\" stops everything at once; to stop one thing, name it", lexicon.Join(x.Tokens)), nil)
	}
	if x.Demand.Capabilities == nil && !x.part {
		if out, bad := x.RejectBareWord(); bad {
			return out
		}
	}
	if x.Demand.Capabilities == nil {
		if out, ok := x.ensured(); ok {
			return out
		}
		if out, ok := x.minded(); ok {
			return out
		}
	}
	if out, ok := x.watched(); ok {
		return out
	}
	if out, ok := x.corrected(); ok {
		return out
	}
	if out, ok := x.littering(); ok {
		return out
	}
	if x.Demand.Capabilities == nil && x.Message.Precision != mess.Loose && x.HasUnknownStart() {
		if out, ok := x.leaves(); ok {
			return out
		}
		if out, ok := x.looks(); ok {
			return out
		}
		if out, ok := x.either(); ok {
			return out
		}
		if out, ok := x.almost(); ok {
			return out
		}
		return x.NotUnderstood() // most texts that are for others end here
	}
	x.Read()
	if x.Demand.Capabilities != nil {
		return x.demanded()
	}
	able := x.Able(x.Readings)
	if len(able) > 0 {
		return x.Choose(able)
	}
	if acts := x.ImageRequest(); len(acts) > 0 {
		return x.Choose(acts)
	}
	if out, ok := x.leaves(); ok {
		return out
	}
	if out, ok := x.otherwise(); ok {
		return out
	}
	if out, ok := x.Score(); ok {
		return out
	}
	if out, ok := x.almost(); ok {
		return out
	}
	return x.NotUnderstood()
}
