package interpret

import (
	"fmt"
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
)

// parseTwoValues reads an order with a color and a level as one order for each value, with
// the same devices: "hall light red at 30 percent". Each order must be a plan that needs no
// confirmation.
func (x *request) parseTwoValues(ways []frame.Reading) (capabilities.Outcome, bool) {
	l := &x.r.Catalog.Frames
	i := slices.IndexFunc(ways, func(so frame.Reading) bool {
		return so.Signals.Has(l.Bits[catalog.ColorFeature]) && so.Signals.Has(l.Bits[catalog.LevelFeature]) && !so.Spread && !so.Vague
	})
	if i < 0 || x.MaxSkips > 0 || x.part {
		return capabilities.Outcome{}, false
	}
	var steps []capabilities.Plan
	for _, without := range []string{catalog.LevelFeature, catalog.ColorFeature} {
		one := ways[i]
		one.Signals &^= l.Bits[without]
		able := x.Executable(x.FrameHypotheses([]frame.Reading{one}))
		if len(able) == 0 {
			return capabilities.Outcome{}, false
		}
		out := x.Choose(able)
		switch {
		case out.Question != nil && out.Question.Field != "go_ahead":
			return out, true
		case out.Plan == nil:
			return capabilities.Outcome{}, false
		}
		steps = append(steps, out.Plan.Each()...)
	}
	return x.Sequence(steps), true
}

// leavesDeviceOut reports whether a device can carry out the hypothesis, but one of the named
// devices cannot.
func (x *request) leavesDeviceOut(rd resolve.Hypothesis) bool {
	m := rd.Slot("device")
	if len(rd.Names) == 0 || m == nil || slices.ContainsFunc(m.Parts, func(p lexicon.NamedGroup) bool { return len(p.Devices) == 0 }) { // "the garage" and "door"
		return false
	}
	rd.Devices = x.Candidates(&rd)
	return len(rd.Devices) > 0 && rd.IsPartial()
}

// parseEachDevice reads one order for several devices that no single capability supports
// together. It makes the same order for each: "turn on the vacuum and the light" starts the
// vacuum.
func (x *request) parseEachDevice(list []resolve.Hypothesis) (capabilities.Outcome, bool) {
	i := slices.IndexFunc(list, func(rd resolve.Hypothesis) bool { return len(rd.Names) > 1 })
	if i < 0 || len(x.UnknownWords) > 0 { // "turn on the lamp and vacuum the attic": the step must not lose the unknown words
		return capabilities.Outcome{}, false
	}
	tokens, names := x.Tokens, list[i].Names
	var steps []capabilities.Plan
	for n, name := range names {
		part := withPauses(x.keepOneName(tokens, names, name))
		out, y := x.parseClause(part, n+1)
		if out.Plan == nil {
			x.Explain = y.Explain
			return x.partOutcome(part, out), true
		}
		for _, step := range out.Plan.Each() {
			steps = appendStep(steps, len(steps), step)
		}
	}
	if out, ok := x.RejectMixedTimes(steps); !ok {
		return out, true
	}
	x.Explain = capabilities.Trace{Template: "one order for each of several things", Score: 1, Capability: capabilities.Sequence(steps).Capability}
	return x.Sequence(steps), true
}

// keepOneName returns the words with one of the names, without the other names and their
// conjunctions.
func (x *request) keepOneName(tokens []lexicon.Token, names []grammar.BoundSlot, name grammar.BoundSlot) []lexicon.Token {
	var kept []lexicon.Token
	first, last := names[0].From, names[len(names)-1].Match.End
	for i := 0; i < len(tokens); {
		at := slices.IndexFunc(names, func(b grammar.BoundSlot) bool { return b.From == i })
		switch {
		case at >= 0 && i != name.From:
			i = names[at].Match.End
			continue
		case at >= 0:
			kept = append(kept, tokens[i:name.Match.End]...)
			i = name.Match.End
			continue
		}
		if n := x.Words().Joining.Longest(tokens, i); n > 0 && i > first && i < last {
			i += n
			continue
		}
		kept = append(kept, tokens[i])
		i++
	}
	return kept
}

// partOutcome returns the outcome of one part of a request that has no plan.
func (x *request) partOutcome(part string, out capabilities.Outcome) capabilities.Outcome {
	if out.Question != nil {
		out.Question.Text = fmt.Sprintf("of several things, %q: %s", part, out.Question.Text)
		return out
	}
	return x.Reject(fmt.Sprintf("of several things, %q is not possible: %s", part, out.Refusal.Reason), out.Refusal.Nearest)
}

// planForAll reads several orders as one order for all devices, if only the last has a value or a
// color: "dim the hall and the kitchen light to 30 percent". It returns nil if that is no order.
func (x *request) planForAll() *capabilities.Plan {
	if !x.uneven {
		return nil
	}
	y := x.r.newPart(x.Message, nil)
	y.Tokens, y.Demand, y.InQuotes = slices.Clone(x.Tokens), x.Demand, x.InQuotes
	out, _ := y.parseWithoutTime()
	if out.Plan == nil || !out.Plan.Actuates() {
		return nil
	}
	x.Explain = y.Explain
	return out.Plan
}

// classOf returns the class of the devices of all steps, or "" if they differ.
func (r *Interpreter) classOf(steps []capabilities.Plan) (class string) {
	for _, s := range steps {
		d := r.Index.Device(s.Device)
		if d < 0 || class != "" && r.Class[d] != class {
			return ""
		}
		class = r.Class[d]
	}
	return class
}

// withClass adds the device class of the order before to an order that names only a place.
// Examples are "set the hall light to 30 percent, the kitchen to 70 percent", "lights off in the
// hall, on in the bedroom".
func (x *request) withClass(tokens []lexicon.Token, class string) []lexicon.Token {
	y := x.r.withTokens(tokens)
	if class == "" || frame.OpensOrder(&y.Utterance, 0) || y.namesDevice(tokens) {
		return tokens
	}
	thing := x.Words().Tokens(x.r.Catalog.ClassWords[class][0])
	for i := range tokens {
		end := y.LongestSlot("area", i)
		switch {
		case end == i:
			continue
		case frame.IsOnOrOff(&x.Utterance, tokens[0]):
			return slices.Concat(thing, tokens)
		}
		return slices.Concat(tokens[:end], thing, tokens[end:])
	}
	return tokens
}

// namesThing reports whether the words name a device or a place.
func (x *request) namesThing(tokens []lexicon.Token) bool {
	f := frame.Parser{Text: &entity.Utterance{Home: &x.r.Home, Tokens: tokens}}
	return f.HasPlace(0, len(tokens))
}

// namesDevice reports whether the words name a device.
func (x *request) namesDevice(tokens []lexicon.Token) bool {
	y := x.r.withTokens(tokens)
	for i := range tokens {
		if len(y.SlotValues("device", i)) > 0 {
			return true
		}
	}
	return false
}

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
