package catalog

import (
	"github.com/messkit/messkit/capabilities/lexicon"
)

// MatchYesNo reads an answer to "shall I?" in English: see the method of Catalog.
func MatchYesNo(text string) (yes, no, stop bool) { return Default().MatchYesNo(text) }

// MatchYesNo reads an answer to "shall I?". Only a plain yes and nothing else is yes. A
// text that begins with no is no, and a text with a stop anywhere is stop, because both are
// safe. At most one of yes and no is true, and stop goes with no.
func (c *Catalog) MatchYesNo(text string) (yes, no, stop bool) {
	w := c.Words
	if len(text) > lexicon.MaxText {
		return false, false, false
	}
	tokens := w.Tokens(text)
	if from, _ := w.Stop.Find(tokens); from >= 0 || w.Whole(w.EndingTalk, tokens) {
		return false, true, true
	}
	if from, _ := w.Undecided.Find(tokens); from >= 0 {
		return false, false, false
	}
	if from, _ := w.Indifferent.Find(tokens); from >= 0 {
		return false, false, false
	}
	start := 0
	for start < len(tokens) && w.Fillers.Longest(tokens, start) > 0 && w.No.Longest(tokens, start) == 0 {
		start += w.Fillers.Longest(tokens, start)
	}
	if w.No.Longest(tokens, start) > 0 {
		return false, true, false
	}
	if from, _ := w.Denying.Find(tokens); from >= 0 {
		return false, w.Yes.Longest(tokens, start) == 0, false // "yes and no" is neither
	}
	char, _ := lexicon.FirstSign(text)
	return char == "" && !w.IsQuestion(text, tokens) && (w.Whole(w.Yes, tokens) || w.Affirms(tokens)), false, false
}

// IsStop reports whether an answer says stop.
func (c *Catalog) IsStop(text string) bool {
	return len(text) <= lexicon.MaxText && c.Words.Whole(c.Words.Stop, c.Words.Tokens(text))
}

// IsWithdrawal reports whether an answer withdraws the request.
func (c *Catalog) IsWithdrawal(text string) bool {
	if len(text) > lexicon.MaxText {
		return false
	}
	from, _ := c.Words.Stop.Find(c.Words.Tokens(text))
	return from >= 0
}
