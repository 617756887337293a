package interpret

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// wantsEarlierPicture reports whether a request asks for the picture of the request that
// its context names, and for no new picture: "send me the picture of that again".
func (r *Interpreter) wantsEarlierPicture(req mess.Request) bool {
	w := r.Catalog.Words
	if len(req.Intent) > lexicon.MaxText || len(req.Requires) > 0 {
		return false
	}
	tokens := w.Tokens(req.Intent)
	picture, earlier := false, false
	for i := 0; i < len(tokens); {
		n := w.Pictures.Longest(tokens, i)
		picture = picture || n > 0
		if n == 0 {
			n = w.Earlier.Longest(tokens, i)
			earlier = earlier || n > 0
		}
		n = max(n, w.Fetching.Longest(tokens, i), w.Articles.Longest(tokens, i), w.Fillers.Longest(tokens, i))
		if n == 0 {
			return false
		}
		i += n
	}
	return picture && earlier
}

// parseEarlierPicture returns the plan that sends the pictures of an earlier request again.
// The exchange lists the pictures with the ref in the context. A device of this home must
// have taken them.
func (r *Interpreter) parseEarlierPicture(req mess.Request) (out capabilities.Outcome, ok bool) {
	var at *mess.Entry
	for i, e := range req.Context {
		if e.Type != "ref" {
			continue
		}
		if at != nil {
			return capabilities.Outcome{}, false
		}
		at = &req.Context[i]
	}
	if at == nil || !r.wantsEarlierPicture(req) {
		return capabilities.Outcome{}, false
	}
	thread, before := textOf(at.Extra, "thread"), textOf(at.Extra, "intent")
	if thread == "" || before == "" || len(before) > lexicon.MaxText {
		return capabilities.Outcome{}, false
	}
	p := r.Resolve(mess.Request{Intent: before}).Plan
	if p == nil {
		return capabilities.Outcome{Refusal: &capabilities.Refusal{Reason: fmt.Sprintf("no device here did %s", thread)}}, true
	}
	pictures, _ := at.Extra.Get("pictures")
	if list, _ := pictures.([]any); len(list) == 0 {
		return capabilities.Outcome{Refusal: &capabilities.Refusal{Reason: thread + " has no picture; for a new one say \"take a photo\" and of what"}}, true
	}
	return capabilities.Outcome{Plan: &capabilities.Plan{
		Capability: lastStep(p).Capability, Device: lastStep(p).Device, Command: capabilities.Earlier, Risk: capabilities.RiskObserve, Effect: capabilities.Query, Reversible: true,
		Args:    mess.Object{{Key: "thread", Value: thread}, {Key: "pictures", Value: pictures}},
		Summary: "send the picture of " + thread + " again",
	}, Explain: capabilities.Explanation{Capability: lastStep(p).Capability, Score: 1}}, true
}

// lastStep returns the last step of a plan, or the plan itself if it has no steps.
func lastStep(p *capabilities.Plan) capabilities.Plan {
	each := p.Each()
	return each[len(each)-1]
}

// textOf returns the text of a key, or "".
func textOf(o mess.Object, key string) string {
	v, _ := o.Get(key)
	s, _ := v.(string)
	return s
}
