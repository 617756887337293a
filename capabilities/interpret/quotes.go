package interpret

import (
	"strings"
)

// Quotation marks that open and close, beside the plain ones, which do both.
const (
	opening = "\"'“„«‘`"
	closing = "\"'”“»’`"
)

// quoting reports whether something that orders stands in quotation marks: it may be
// what somebody has said. What is nothing but the name of a thing is none.
func (x *request) quoting() bool {
	for _, said := range quotations(x.req.Intent) {
		y := &request{r: x.r, req: x.req, tokens: x.words().tokens(said)}
		if y.bareName() == "" && y.speaks() {
			return true
		}
	}
	return false
}

// speaks reports whether a word of the text orders something, or says on or off.
func (x *request) speaks() bool {
	l := &x.r.catalogue.lexicon
	for _, t := range x.tokens {
		if l.orders[t.folded] || l.acting[t.folded] {
			return true
		}
	}
	return false
}

// quotations are the parts of text that stand in quotation marks, one that does not
// end too. An apostrophe within a word, or behind one, opens nothing.
func quotations(text string) []string {
	if !strings.ContainsAny(text, opening) {
		return nil
	}
	var list []string
	from := -1 // behind the mark that is open
	before := ' '
	for i, r := range text {
		switch {
		case from < 0 && strings.ContainsRune(opening, r) && !isWord(before):
			from = i + len(string(r))
		case from >= 0 && i >= from && strings.ContainsRune(closing, r) && !wordAt(text, i+len(string(r))):
			list, from = append(list, text[from:i]), -1
		}
		before = r
	}
	if from >= 0 {
		list = append(list, text[from:])
	}
	return list
}

// wordAt reports whether a word goes on at byte i.
func wordAt(text string, i int) bool {
	for _, r := range text[i:] {
		return isWord(r)
	}
	return false
}
