package interpret

import (
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/reply"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/mess"
)

// Answer resolves a request again with the answer to a question about it. reply
// holds answers by field; text is the answer in words, where reply has none for
// the question's field, and else what is said beside it. An answer that fits
// nothing, or is limited by what is said beside it, repeats the question; one
// that says stop withdraws the request.
func (r *Interpreter) Answer(q capabilities.Question, answers mess.Object, text string, req mess.Request) capabilities.Outcome {
	var raw any = text
	if v, ok := answers.Get(q.Field); ok {
		raw = v
	}
	p := reply.NewMatcher(&r.Home, q, req)
	picked := p.Pick(raw)
	if raw != any(text) && r.Catalog.SaysStop(text) {
		raw, picked = text, nil
	} else if raw != any(text) && r.limitsAny(text) {
		picked = nil
	}
	if len(picked) == 0 {
		switch said, _ := raw.(string); {
		case r.Catalog.TakesBack(said):
			return capabilities.Outcome{Refusal: &capabilities.Refusal{Reason: "the requester took it back; nothing is done"}}
		case p.TakesNone(said):
			return capabilities.Outcome{Refusal: &capabilities.Refusal{Reason: "none of them is meant; nothing is done"}}
		}
		again := q
		return capabilities.Outcome{Question: &again}
	}
	switch { // it is a no to all that was asked, and no reason to read the request in another way
	case picked[0] == capabilities.NoneOfThese:
		return capabilities.Outcome{Refusal: &capabilities.Refusal{Reason: "none of what was offered is meant; say it in other words"}}
	case slices.Equal(q.Options, capabilities.YesOrNo) && picked[0] == "no":
		return capabilities.Outcome{Refusal: &capabilities.Refusal{Reason: "the answer was no; nothing is done"}}
	}
	return r.resolve(req, append(resolve.WithoutKey(q.Given, q.Field), mess.Field{Key: q.Field, Value: picked}))
}
