package interpret

import (
	"fmt"
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
)

// parseExclusion reads an order for several devices that leaves some out. The order must
// name them, and they must be among the devices that it would act on. Otherwise it is no
// such order.
func (x *request) parseExclusion() (capabilities.Outcome, bool) {
	if x.Exclusion != nil {
		return capabilities.Outcome{}, false
	}
	for i := 2; i < len(x.Tokens); i++ {
		n := x.Words().Excepting.Longest(x.Tokens, i)
		if n == 0 || x.IsName(i) {
			continue
		}
		end, names := x.excludedNames(i + n)
		if end == 0 {
			return capabilities.Outcome{}, false
		}
		x.Exclusion = &resolve.Exclusion{Phrase: lexicon.Join(x.Tokens[i:end]), Names: names}
		return x.parseWithout(i, end)
	}
	return capabilities.Outcome{}, false
}

// parseWithout reads the text as one order without the words from i to end.
func (x *request) parseWithout(i, end int) (capabilities.Outcome, bool) {
	part := x.part
	x.part = true
	defer func() { x.part = part }()
	x.ReadOnly(slices.Concat(x.Tokens[:i], x.Tokens[end:]))
	if able := x.Executable(x.Hypotheses); len(able) > 0 {
		return x.Choose(able), true
	}
	return x.parseFallbacks()
}

// excludedNames reads the names from word i on, joined by "and" or commas. end is 0 if
// there are none.
func (x *request) excludedNames(i int) (end int, names []resolve.ExcludedThing) {
	w := x.Words()
	for {
		for n := 1; n > 0 && i < len(x.Tokens); i += n {
			n = max(w.Fillers.Longest(x.Tokens, i), w.Picking.Longest(x.Tokens, i)) // "the one in the kitchen"
		}
		to, one := x.longestName(i)
		if to == 0 {
			return end, names
		}
		if to < len(x.Tokens) && x.Tokens[to].Folded == "one" { // "the kitchen one"
			to++
		}
		one.Phrase = lexicon.Join(x.Tokens[i:to])
		end, names = to, append(names, one)
		k := w.Joining.Longest(x.Tokens, end)
		if k == 0 && (end == len(x.Tokens) || !x.Tokens[end].Pause) {
			return end, names
		}
		i = end + k
	}
}

// longestName returns the longest name of devices or a place at word i. to is 0 if there is
// none.
func (x *request) longestName(i int) (to int, one resolve.ExcludedThing) {
	if i >= len(x.Tokens) {
		return 0, one
	}
	for _, kind := range []string{"device", "area", "spot"} {
		for _, m := range x.SlotValues(kind, i) {
			if m.End < to || kind == "device" && (m.Specificity == lexicon.Unspecified || m.Count > 0 || len(m.Devices) == 0) {
				continue
			}
			if m.End > to {
				to, one = m.End, resolve.ExcludedThing{}
			}
			if kind == "device" {
				one.Devices = append(one.Devices, m.Devices...)
			} else {
				one.Areas = append(one.Areas, m.Value)
			}
		}
	}
	return to, one
}

// parseOnly reads an order for one device alone: "turn on only the hall light". The order
// does not say whether all other devices shall change, so the interpreter asks for a
// confirmation.
func (x *request) parseOnly() (capabilities.Outcome, bool) {
	f := frame.Parser{Text: &x.Utterance, Skips: x.MaxSkips}
	for i := 1; i < len(x.Tokens); i++ {
		n := x.Words().Solely.Longest(x.Tokens, i)
		if n == 0 || x.IsName(i) || x.SkipArticles(i+n) < len(x.Tokens) && !f.IsPlace(x.SkipArticles(i+n)) {
			continue
		}
		phrase := lexicon.Join(x.Tokens[i : i+n])
		out, ok := x.parseWithout(i, i+n)
		if !ok || out.Plan == nil || !out.Plan.Actuates() {
			return out, ok
		}
		return x.AskConfirmation(*out.Plan, fmt.Sprintf("%q: nothing else changes; ", phrase)), true
	}
	return capabilities.Outcome{}, false
}
