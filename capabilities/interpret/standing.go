package interpret

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/mess"
)

// bareDevice asks what is to be done with a device that is named without an order.
func (r *Interpreter) bareDevice(req mess.Request, given mess.Object) (capabilities.Outcome, bool) {
	x := &request{r: r, Request: resolve.Request{Resolver: &r.Resolver, Utterance: entity.Utterance{Home: &r.Home}, Message: req, Given: given}}
	if req.Precision == mess.Exact || len(req.Requires) > 0 || len(req.Intent) > lexicon.MaxText {
		return capabilities.Outcome{}, false
	}
	x.Tokens = x.unnumbered(x.Words().Tokens(req.Intent))
	x.IsQuestion = x.Words().IsQuestion(req.Intent, x.Tokens)
	m := x.Bare("device")
	if m == nil || len(m.Devices) != 1 || len(x.Tokens) > lexicon.MaxTokens {
		return capabilities.Outcome{}, false
	}
	options := r.sayable(m.Devices[0], x.IsQuestion)
	if len(options) == 0 {
		return capabilities.Outcome{}, false
	}
	options = append(options[:min(len(options), resolve.MaxGuesses)], capabilities.NoneOfThese)
	text := fmt.Sprintf("%q is a name and says not what to do: %s?", lexicon.Join(x.Tokens[x.SkipArticles(0):m.End]), lexicon.OrList(options))
	picked, out, ok := x.AskClarification(capabilities.Question{Field: "order", Text: text, Options: options})
	switch {
	case !ok:
		return out, true
	case len(picked) != 1 || picked[0] == capabilities.NoneOfThese:
		return x.Reject("none of what was offered is meant; say it in other words", nil), true
	}
	req.Intent = picked[0]
	return r.said(req, given), true
}
