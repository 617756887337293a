package interpret

import (
	"fmt"
	"strings"

	"github.com/messkit/messkit/capabilities/lexicon"
)

// span is the end of a range of numbers at word i, with its unit: "20 to 30
// percent", "between 10 and 20 minutes"; i if there is none. Nobody can keep one.
func (x *request) span(i int) int {
	w, l := x.words(), &x.r.catalogue.Frames
	from := i + w.Spanning.Longest(x.tokens, i)
	first := w.CardinalEnd(x.tokens, from)
	if first == from || first >= len(x.tokens) {
		return i
	}
	to := w.SpanTo.Longest(x.tokens, first)
	if to == 0 && !(x.tokens[first].Text == "or") || x.tokens[first].Text == "and" && from == i {
		return i
	}
	to = max(to, 1)
	last := w.CardinalEnd(x.tokens, first+to)
	if last == first+to || last >= len(x.tokens) {
		return i
	}
	if n := l.Percent.Longest(x.tokens, last); n > 0 {
		return last + n
	}
	if w.Measures[x.tokens[last].Folded] || w.Units[x.tokens[last].Folded] > 0 {
		return last + 1
	}
	return i
}

// strangeUnit is a number at word i with a unit that nothing here is set in: "50
// lumens"; "" if there is none.
func (x *request) strangeUnit(i int) string {
	end := x.words().CardinalEnd(x.tokens, i)
	if end == i || end >= len(x.tokens) || !x.words().Measures[x.tokens[end].Folded] {
		return ""
	}
	return lexicon.Join(x.tokens[i : end+1])
}

// ranges says what can be set here to a number, and how far it goes.
func (r *Interpreter) ranges() string {
	var list []string
	for _, c := range r.catalogue.Capabilities {
		for _, p := range c.Parameters {
			if _, fixed := c.FixedArgs().Get(p.Name); !fixed && p.Type == "number" && p.Min != nil && p.Max != nil && r.reach(c) > 0 {
				list = append(list, fmt.Sprintf("%s: %s %v to %v %s", c.ID, p.Name, *p.Min, *p.Max, p.Unit))
			}
		}
	}
	if len(list) == 0 {
		return "nothing here is set to a number"
	}
	return "what is set to a number here: " + strings.Join(list, "; ")
}
