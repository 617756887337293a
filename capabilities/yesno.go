package capabilities

import "strings"

// Seen is the state that a plan asks for which looks for a thing: whether it is there.
const Seen = "there"

// AnyOf stands before the state that a plan asks for where one of several things is
// enough for a yes.
const AnyOf = "any "

// asksFor is the state that a question asks for, to be answered with yes or no: "on",
// "closed", Seen. It is "" where nothing such is asked, or more than one.
func (x *request) asksFor(p *Plan) string {
	w := x.words()
	y := &request{r: x.r, req: x.req, tokens: x.whole}
	if p.Effect != Query || p.Command.Watches() {
		return ""
	}
	if from, _ := w.openly.find(y.tokens); from >= 0 { // "what", "how"
		return ""
	}
	if from, to := w.lacking.find(y.tokens); from >= 0 {
		return joined(y.tokens[from:to])
	}
	if _, looks := p.Args.Get("thing"); looks {
		return Seen
	}
	state, any := "", ""
	for i, t := range y.tokens {
		if y.named(i) {
			continue
		}
		if w.anyOne.longest(y.tokens, i) > 0 {
			any = AnyOf
		}
		is := w.states[t.text]
		if is != "" && state != "" && is != state {
			return ""
		}
		if is != "" {
			state = is
		}
	}
	if state == "" {
		return ""
	}
	return any + state
}

// SameWord reports whether two words are the same but for the ending of a plural.
func SameWord(a, b string) bool {
	w := nowhere().catalogue.words
	return w.fold(lower(a)) == w.fold(lower(b))
}

// AsksFor is the state that a plan asks for, and whether one of several things in it is
// enough for a yes.
func (p Plan) AsksFor() (state string, any bool) { return strings.CutPrefix(p.Asks, AnyOf) }
