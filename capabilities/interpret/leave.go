package interpret

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// leaves refuses what asks that a thing stays as it is: "leave the door open" is no
// order to open it, and nothing is done for it.
func (x *request) leaves() (capabilities.Outcome, bool) {
	if x.asks {
		return capabilities.Outcome{}, false
	}
	for i := range x.tokens {
		begins := i == 0 || x.tokens[i].Pause || x.words().Joining.Longest(x.tokens, i-1) > 0
		at := x.pass(i)
		if begins && at < len(x.tokens) && x.r.catalogue.Context.Leaving.Longest(x.tokens, at) > 0 && x.namesAny(at+1) {
			return x.refuse(fmt.Sprintf("%q asks that it stays as it is, and nothing is done for that; if something is to be done, say what, like \"turn it on\" or \"open it\" with its name", lexicon.Join(x.tokens[at:])), nil), true
		}
	}
	return capabilities.Outcome{}, false
}

// namesAny reports whether a word from i on names or stands for something here.
func (x *request) namesAny(i int) bool {
	for _, t := range x.tokens[i:] {
		if x.r.names.words[t.Folded] || x.r.catalogue.Frames.NamingWords[t.Folded] {
			return true
		}
	}
	return false
}
