package resolve

import (
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// ThingOf is the one thing or place that words are about, "" if there is none, or more.
func (r *Resolver) ThingOf(tokens []lexicon.Token) (name string) {
	x := &Request{Resolver: r, Utterance: entity.Utterance{Home: &r.Home, Tokens: tokens}}
	for i := 0; i < len(tokens); i++ {
		end := max(x.LongestSlot("device", i), x.LongestSlot("area", i), x.LongestSlot("spot", i))
		if end <= i || r.Catalog.Words.All.Longest(tokens, i) > 0 {
			continue
		}
		if name != "" {
			return ""
		}
		name = lexicon.Join(tokens[i:end])
		i = end - 1
	}
	return name
}
