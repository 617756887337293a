package interpret

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/capabilities/timeexpr"
	"github.com/messkit/messkit/mess"
)

// clauseEnds returns the ends of the parts of a text with several orders: each index has a
// conjunction, or a comma behind an order, and an order follows it.
func (x *request) clauseEnds() []int {
	var list []int
	from := 0
	for i := 1; i < len(x.Tokens); i++ {
		n := x.Words().Joining.Longest(x.Tokens, i)
		if n == 0 && !x.Tokens[i].Pause || x.IsName(i) && !x.Tokens[i].Pause {
			continue
		}
		at := i + n
		for k := 1; k > 0 && at < len(x.Tokens); at += k {
			if k = x.Words().Joining.Longest(x.Tokens, at); k == 0 {
				k = x.Words().Fillers.Longest(x.Tokens, at)
			}
		}
		order := x.SkipArticles(timeexpr.DelayEnd(&x.Utterance, at))
		whole := order < len(x.Tokens) && (x.BeginsOrder(order) && (n > 0 || frame.OpensOrder(&x.Utterance, from)) || frame.OpensOrder(&x.Utterance, from) && frame.SwitchesOneThing(&x.Utterance, order))
		whole = whole || frame.SwitchesAnother(&x.Utterance, from, i, order)
		if !whole && order < len(x.Tokens) && x.joinsOrders(from, i, order) {
			whole = true
			x.uneven = x.uneven || x.isUneven(from, i, order)
		}
		if whole {
			list = append(list, i)
			from = at
		}
		i = max(i, at-1)
	}
	return list
}

// joinsOrders reports whether the words up to i are an order, and the words from at on are an
// order for another device. Neither needs a verb: "hall light off, blind down". A question has no
// such parts.
func (x *request) joinsOrders(from, i, at int) bool {
	f, to := frame.Parser{Text: &x.Utterance}, x.partEnd(at)
	first := x.SkipArticles(from)
	if x.IsQuestion || !f.IsPlace(at) || !frame.OpensOrder(&x.Utterance, from) && !f.IsPlace(first) {
		return false
	}
	if !frame.OpensOrder(&x.Utterance, from) {
		from = f.NameEnd(first)
	}
	at = f.NameEnd(at)
	if end := x.partEnd(at); end > to && !f.HasPlace(at, end) { // "hall light: on"
		to = end
	}
	return (f.OrdersAct(from, i) || f.HasSetting(from, i)) && (f.OrdersAct(at, to) || f.HasSetting(at, to))
}

// isUneven reports whether only the later of two devices behind one verb has a value or a color.
// The requester may mean it for both: "dim the hall light and the kitchen light to 30 percent".
// The words before i name the first device, and those from at on the second.
func (x *request) isUneven(from, i, at int) bool {
	f, to := frame.Parser{Text: &x.Utterance}, x.partEnd(at)
	off := slices.ContainsFunc(x.Tokens[from:i], func(t lexicon.Token) bool { return t.Folded == "off" })
	return !off && frame.OpensOrder(&x.Utterance, from) && !f.HasSetting(from, i) && f.HasSetting(f.NameEnd(at), to) && !f.OrdersAct(f.NameEnd(at), to)
}

// partEnd returns the index of the next word that can begin another part of the text.
func (x *request) partEnd(i int) int {
	for i++; i < len(x.Tokens) && !x.Tokens[i].Pause && x.Words().Joining.Longest(x.Tokens, i) == 0; {
		i++
	}
	return i
}

// withPauses returns the text of the words with its commas.
func withPauses(tokens []lexicon.Token) string {
	var b strings.Builder
	for i, t := range tokens {
		switch {
		case i > 0 && t.Pause:
			b.WriteString(", ")
		case i > 0 && t.Text != lexicon.Possessive:
			b.WriteByte(' ')
		}
		b.WriteString(t.Text)
	}
	return b.String()
}

// parseSequence reads a text with several orders as a plan with steps: each part must be a
// complete plan, or a time to wait. "It" refers to the device of the part before.
func (x *request) parseSequence() (capabilities.Outcome, bool) {
	cuts := x.clauseEnds()
	if len(cuts) == 0 {
		return capabilities.Outcome{}, false
	}
	var steps []capabilities.Plan
	var pause, named time.Duration // waits, and those that the text names
	about, class := "", ""         // the device of "it", and the class of all devices of the order before
	from := 0
	for n, end := range append(cuts, len(x.Tokens)) {
		tokens := x.Tokens[from:end]
		for k := 1; k > 0 && end < len(x.Tokens); end += k {
			k = x.Words().Joining.Longest(x.Tokens, end)
		}
		from = end
		if d := x.Words().ReadPause(tokens); d > 0 {
			pause, named = pause+d, named+d
			continue
		}
		part := withPauses(x.withClass(x.withDevice(tokens, about), class))
		out, y := x.parseClause(part, n+1)
		if out.Plan == nil {
			if p := x.planForAll(); p != nil {
				return capabilities.Outcome{Plan: p}, true
			}
			x.Explain = y.Explain
			return x.partOutcome(part, out), true
		}
		if wait := x.offAfter(out.Plan, steps); wait > 0 && pause == 0 {
			out.Plan.NotBefore, pause = steps[len(steps)-1].NotBefore, wait
		}
		about, class = "", x.r.classOf(out.Plan.Each())
		if len(out.Plan.Steps) == 0 {
			about = out.Plan.Device
		}
		if n := len(steps) - 1; n >= 0 && steps[n].Command.IsWait() {
			return x.Reject(fmt.Sprintf("of several things, %q: no order can follow a wait (%s); ask for it when the wait ends", part, steps[n].Summary), nil), true
		}
		earlier := len(steps)
		for i, step := range out.Plan.Each() {
			if i == 0 {
				step.After += pause
			}
			steps = appendStep(steps, earlier, step)
		}
		pause = 0
	}
	switch total := max(named, totalWait(resolve.UntilOff(slices.Clone(steps)))); {
	case total > maxPause:
		return x.Reject(fmt.Sprintf("to wait for %s is longer than one request may; put the later part into a request of its own, with constraints.timing.not_before", capabilities.DurationText(total)), nil), true
	case pause > 0:
		return x.Reject(fmt.Sprintf("no order follows the wait for %s; leave it out", capabilities.DurationText(pause)), nil), true
	}
	if out, ok := x.RejectMixedTimes(steps); !ok {
		return out, true
	}
	for i, s := range steps[1:] {
		if one := steps[i]; one.For > s.After && one.Device == s.Device && resolve.SwitchesTo(s, false) {
			return x.Reject(fmt.Sprintf("to %s, and to %s before that ends, contradict each other; say one of the two", one.Summary, s.Summary), nil), true
		}
	}
	x.Explain = capabilities.Trace{Template: "several orders", Score: 1, Capability: capabilities.Sequence(steps).Capability}
	out := x.Sequence(steps)
	if x.uneven && out.Plan != nil && out.Plan.Actuates() {
		if p := x.planForAll(); p != nil && p.Summary != out.Plan.Summary {
			picked, no, ok := x.askWhichOfTwo([]string{p.Summary, out.Plan.Summary})
			switch {
			case !ok:
				return no, true
			case picked == 0:
				return capabilities.Outcome{Plan: p}, true
			}
			return out, true
		}
		return x.AskConfirmation(*out.Plan, "only the last has a value or a color: "), true
	}
	return out, true
}

// parseClause reads one part of a text with several orders. The field of a question about
// it ends with the number of the part.
func (x *request) parseClause(part string, n int) (capabilities.Outcome, *request) {
	suffix := fmt.Sprintf("_%d", n)
	var given mess.Object
	for _, f := range x.Given {
		if field, ok := strings.CutSuffix(f.Key, suffix); ok {
			given = append(given, mess.Field{Key: field, Value: f.Value})
		}
	}
	req := x.Message
	req.Intent = part
	y := x.r.newPart(req, given)
	out := y.parse()
	if out.Question != nil {
		out.Question.Field += suffix
		out.Question.Given = x.Given
	}
	return out, y
}

// totalWait returns the sum of the waits of the steps.
func totalWait(steps []capabilities.Plan) (sum time.Duration) {
	for _, s := range steps {
		sum += s.After
	}
	return sum
}

// maxPause is the longest sum of the waits in one request: no wait survives a restart.
const maxPause = time.Hour

// offAfter returns the time between the step before, which switches a device on, and p, which
// switches it off. Examples are "turn on the fan, and turn it off after ten minutes", "on at dusk
// and off at dawn". It is 0 if p does not.
func (x *request) offAfter(p *capabilities.Plan, before []capabilities.Plan) time.Duration {
	n := len(before) - 1
	if n < 0 || p.NotBefore.IsZero() || before[n].Device != p.Device || !resolve.SwitchesTo(before[n], true) || !resolve.SwitchesTo(*p, false) {
		return 0
	}
	begin := before[n].NotBefore
	if begin.IsZero() {
		begin = x.r.Site.Now
	}
	return p.NotBefore.Sub(begin)
}

// withDevice puts the name of the device of the order before in the place of "it", and
// before an "off" without a name.
func (x *request) withDevice(tokens []lexicon.Token, device string) []lexicon.Token {
	at := slices.IndexFunc(tokens, func(t lexicon.Token) bool { return x.Words().Referring.Longest([]lexicon.Token{t}, 0) > 0 })
	d := x.r.Index.Device(device)
	switch {
	case d < 0:
		return tokens
	case len(tokens) > 0 && frame.IsOnOrOff(&x.Utterance, tokens[0]) && !x.namesThing(tokens[1:]): // "and off at 11 pm"
		return slices.Concat(x.Words().Tokens(x.r.Label(d)), tokens)
	case at < 0:
		return tokens
	}
	return slices.Concat(tokens[:at], x.Words().Tokens(x.r.Label(d)), tokens[at+1:])
}

// appendStep adds a step. It leaves out a duplicate of the last of the first n steps with the
// same device: "turn on the coffee machine and make coffee" is one step.
func appendStep(steps []capabilities.Plan, n int, step capabilities.Plan) []capabilities.Plan {
	for i, s := range slices.Backward(steps[:n]) {
		if s.Device != step.Device {
			continue
		}
		if step.After == 0 && s.Command == step.Command && s.For == step.For && reflect.DeepEqual(s.Args, step.Args) {
			if capabilities.IsGraver(string(s.Effect), string(step.Effect), capabilities.AllEffects) {
				steps[i] = step
			}
			return steps
		}
		break
	}
	return append(steps, step)
}
