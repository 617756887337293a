package interpret

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// signs refuses text with signs that nobody here can read.
func (x *request) signs() (capabilities.Outcome, bool) {
	char, word := x.r.UnknownSign(lexicon.RemoveKindSigns(x.req.Intent))
	if char == "" {
		return capabilities.Outcome{}, false
	}
	x.explain.Leftover = []string{char}
	in := ""
	if word != "" && word != char {
		in = fmt.Sprintf(" in %q", word)
	}
	return x.refuse(fmt.Sprintf("not understood: %q%s; a sign may change what is meant, so say it in words", char, in), nil), true
}
