package interpret

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// solely reads an order for one thing alone: "turn on only the hall light". Whether all
// else is to be otherwise was not said, and so it is asked whether what is left is meant.
func (x *request) solely() (capabilities.Outcome, bool) {
	f := frame.Parser{Text: &x.Utterance, Skips: x.MaxSkips}
	for i := 1; i < len(x.Tokens); i++ {
		n := x.Words().Solely.Longest(x.Tokens, i)
		if n == 0 || x.IsName(i) || x.SkipArticles(i+n) < len(x.Tokens) && !f.Place(x.SkipArticles(i+n)) {
			continue
		}
		said := lexicon.Join(x.Tokens[i : i+n])
		out, ok := x.leaving(i, i+n)
		if !ok || out.Plan == nil || !out.Plan.Actuates() {
			return out, ok
		}
		return x.AskConfirmation(*out.Plan, fmt.Sprintf("%q: nothing else is changed with it; ", said)), true
	}
	return capabilities.Outcome{}, false
}
