package interpret

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
)

// agreeing takes the "not" out of a question that looks for a yes: "isn't the fan on?"
// asks what "is the fan on?" asks.
func (x *request) agreeing() {
	if t := x.Tokens; x.IsQuestion && len(t) > 2 && t[1].Text == "not" && (t[0].Text == "is" || t[0].Text == "are" || t[0].Text == "did" || t[0].Text == "does" || t[0].Text == "has" || t[0].Text == "have") {
		x.Tokens = append(t[:1:1], t[2:]...)
	}
}

// quoting reports whether something that orders stands in quotation marks: it may be
// what somebody has said. What is nothing but the name of a thing is none.
func (x *request) quoting() bool {
	for _, said := range lexicon.Quotations(x.Message.Intent) {
		y := &request{r: x.r, Request: resolve.Request{Resolver: &x.r.Resolver, Utterance: entity.Utterance{Home: &x.r.Home, Tokens: x.Words().Tokens(said)}, Message: x.Message}}
		if y.BareName() == "" && y.speaks() {
			return true
		}
	}
	return false
}

// speaks reports whether a word of the text orders something, or says on or off.
func (x *request) speaks() bool {
	l := &x.r.Catalog.Frames
	for _, t := range x.Tokens {
		if l.OrderWords[t.Folded] || l.ActWords[t.Folded] {
			return true
		}
	}
	return false
}

// stillSo reports whether the text has a thing and how it still is, and no order before
// that: "stove still on" asks, or tells.
func (x *request) stillSo() bool {
	for i, t := range x.Tokens {
		if i > 0 && (t.Text == "still" || t.Text == "now" && i+1 < len(x.Tokens) && x.IsName(i-1) && x.r.Catalog.Frames.Signals.Longest(x.Tokens, i+1) > 0) {
			return !x.Begins()
		}
	}
	return false
}

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

// stopsAll reports whether the text is nothing but a stop, of everything or of
// nothing in particular: "stop", "stop everything now", "emergency stop". That is no
// request, which would wait for its turn. What a thing of this home is called by is
// that thing.
func (x *request) stopsAll() bool {
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
