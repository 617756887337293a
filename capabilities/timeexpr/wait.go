package timeexpr

import (
	"slices"
	"time"

	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// WithoutLimit takes the duration of a wait out of the text: "for ten minutes", "in the
// next hour".
func WithoutLimit(x *entity.Utterance) (rest []lexicon.Token, lasts time.Duration) {
	w := &x.Home.Catalog.Waiting
	for i := range x.Tokens {
		n := max(x.Words().Lasting.Longest(x.Tokens, i), w.Within.Longest(x.Tokens, i))
		if n == 0 {
			continue
		}
		if end, d := x.DurationAt(i + n); end > 0 {
			return slices.Concat(x.Tokens[:i], x.Tokens[end:]), d
		}
	}
	return x.Tokens, 0
}
