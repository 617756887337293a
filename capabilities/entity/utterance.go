package entity

import (
	"github.com/messkit/messkit/capabilities/lexicon"
)

// Utterance is the words of a text, read with the names of a home. Its methods find the names,
// numbers and times in it. It is not safe for concurrent use, because it caches the results.
type Utterance struct {
	Home       *Home
	Tokens     []lexicon.Token
	IsQuestion bool
	Slots      SlotCache // for Tokens
	NameMask   []bool    // which of Tokens are in names of things; nil before the first use
}

// Words returns the lexicon of the language.
func (x *Utterance) Words() *lexicon.Lexicon { return x.Home.Catalog.Words }

// SetTokens replaces the words of the utterance and empties its caches.
func (x *Utterance) SetTokens(tokens []lexicon.Token) {
	x.Tokens, x.Slots, x.NameMask = tokens, nil, nil
}
