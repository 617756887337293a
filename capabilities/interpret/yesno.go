package interpret

import (
	"github.com/messkit/messkit/capabilities/lexicon"
)

// EqualIgnoringPlural reports whether two words are the same but for the ending of a plural.
func EqualIgnoringPlural(a, b string) bool {
	w := nowhere().Catalog.Words
	return w.Fold(lexicon.Lower(a)) == w.Fold(lexicon.Lower(b))
}
