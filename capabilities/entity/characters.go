package entity

import (
	"strings"

	"github.com/messkit/messkit/capabilities/lexicon"
)

// UnknownSign returns the first sign of a text that is in no name of this home, and the
// word that it stands in.
func (r *Home) UnknownSign(text string) (char, word string) {
	if char, _ = lexicon.FirstSign(text); char == "" {
		return "", ""
	}
	text = strings.ToLower(text)
	for _, name := range r.Names.signed {
		text = strings.ReplaceAll(text, name, "name")
	}
	return lexicon.FirstSign(text)
}
