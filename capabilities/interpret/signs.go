package interpret

import (
	"fmt"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// sign is the first sign of text that is in no name of this home.
func (r *Interpreter) sign(text string) (char, word string) {
	if char, _ = lexicon.FirstSign(text); char == "" {
		return "", ""
	}
	text = strings.ToLower(text)
	for _, name := range r.names.signed {
		text = strings.ReplaceAll(text, name, "name")
	}
	return lexicon.FirstSign(text)
}

// signs refuses text with signs that nobody here can read.
func (x *request) signs() (capabilities.Outcome, bool) {
	char, word := x.r.sign(lexicon.RemoveKindSigns(x.req.Intent))
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
