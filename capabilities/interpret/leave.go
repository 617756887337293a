package interpret

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// leaves refuses what asks that a thing stays as it is: "leave the door open" is no
// order to open it, and nothing is done for it.
func (x *request) leaves() (capabilities.Outcome, bool) {
	if x.IsQuestion {
		return capabilities.Outcome{}, false
	}
	for i := range x.Tokens {
		begins := i == 0 || x.Tokens[i].Pause || x.Words().Joining.Longest(x.Tokens, i-1) > 0
		at := x.SkipArticles(i)
		if begins && at < len(x.Tokens) && x.r.Catalog.Context.Leaving.Longest(x.Tokens, at) > 0 && x.NamesAny(at+1) {
			return x.Reject(fmt.Sprintf("%q asks that it stays as it is, and nothing is done for that; if something is to be done, say what, like \"turn it on\" or \"open it\" with its name", lexicon.Join(x.Tokens[at:])), nil), true
		}
	}
	return capabilities.Outcome{}, false
}
