package interpret

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// signs refuses text with signs that nobody here can read.
func (x *request) signs() (capabilities.Outcome, bool) {
	char, word := x.r.UnknownSign(lexicon.RemoveKindSigns(x.Message.Intent))
	if char == "" {
		return capabilities.Outcome{}, false
	}
	x.Explain.Leftover = []string{char}
	in := ""
	if word != "" && word != char {
		in = fmt.Sprintf(" in %q", word)
	}
	return x.Reject(fmt.Sprintf("not understood: %q%s; a sign may change what is meant, so say it in words", char, in), nil), true
}
