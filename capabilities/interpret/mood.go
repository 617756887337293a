package interpret

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// withoutNegation removes the "not" from a question that expects a yes: "isn't the fan on?"
// asks the same as "is the fan on?".
func (x *request) withoutNegation() {
	if t := x.Tokens; x.IsQuestion && len(t) > 2 && t[1].Text == "not" && (t[0].Text == "is" || t[0].Text == "are" || t[0].Text == "did" || t[0].Text == "does" || t[0].Text == "has" || t[0].Text == "have") {
		x.Tokens = append(t[:1:1], t[2:]...)
	}
}

// quotesOrder reports whether quotation marks enclose an order: it may quote another
// person. The bare name of a device is no order.
func (x *request) quotesOrder() bool {
	for _, said := range lexicon.Quotations(x.Message.Intent) {
		y := x.r.withTokens(x.Words().Tokens(said))
		if y.BareName() == "" && y.hasOrderWord() {
			return true
		}
	}
	return false
}

// hasOrderWord reports whether a word of the text is an order word.
func (x *request) hasOrderWord() bool {
	l := &x.r.Catalog.Frames
	for _, t := range x.Tokens {
		if l.OrderWords[t.Folded] || l.ActWords[t.Folded] {
			return true
		}
	}
	return false
}

// asksWhetherStill reports whether the text has a device and its present state, and no
// order before: "stove still on" asks or reports.
func (x *request) asksWhetherStill() bool {
	for i, t := range x.Tokens {
		if i > 0 && (t.Text == "still" || t.Text == "now" && i+1 < len(x.Tokens) && x.IsName(i-1) && x.r.Catalog.Frames.Signals.Longest(x.Tokens, i+1) > 0) {
			return !x.BeginsWithOrder()
		}
	}
	return false
}

// rejectUnknownSign refuses a text with a sign that the interpreter cannot read.
func (x *request) rejectUnknownSign() (capabilities.Outcome, bool) {
	char, word := x.r.UnknownSign(lexicon.RemoveKindSigns(x.Message.Intent))
	if char == "" {
		return capabilities.Outcome{}, false
	}
	x.Explain.Leftover = []string{char}
	in := ""
	if word != "" && word != char {
		in = fmt.Sprintf(" in %q", word)
	}
	return x.Reject(fmt.Sprintf("not understood: %q%s; a sign may change the meaning, so say it in words", char, in), nil), true
}

// isBareStop reports whether the text only says stop, of everything or without an object:
// "stop", "stop everything now", "emergency stop". Such a text is no request, because a
// request waits for its turn. A device whose name has such a word keeps its name.
func (x *request) isBareStop() bool {
	w, stops := x.Words(), false
	for i := 0; i < len(x.Tokens); {
		stop := w.Halting.Longest(x.Tokens, i)
		if x.IsName(i) {
			return false
		}
		n := max(stop, w.Halted.Longest(x.Tokens, i), w.All.Longest(x.Tokens, i), w.Fillers.Longest(x.Tokens, i))
		if n == 0 {
			return false
		}
		stops = stops || stop > 0
		i += n
	}
	return stops
}
