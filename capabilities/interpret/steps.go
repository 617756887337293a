package interpret

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// maxSteps is how many steps a plan may have before it is asked about, unless
// the home says otherwise.
const maxPlanSteps = 12

func (r *Interpreter) maxSteps() int {
	if r.Site.MaxSteps > 0 {
		return r.Site.MaxSteps
	}
	return maxPlanSteps
}

// group is a plan for each device of a reading that is for all of them.
func (x *request) group(rd *reading) capabilities.Outcome {
	if m := rd.slot("device"); m != nil && m.Class != "" {
		if unable := x.unable(rd, m); len(unable) > 0 {
			return x.refuse(fmt.Sprintf("%s cannot do that; name those that are meant: %s", strings.Join(x.r.Labels(unable), ", "), strings.Join(x.r.Labels(rd.devices), ", ")), x.r.Labels(rd.devices))
		}
	}
	devices := rd.devices
	if x.spare != nil {
		kept, out, ok := x.spared(rd)
		if !ok {
			return out
		}
		devices = kept
	}
	return x.eachDevice(rd, devices)
}

// eachDevice is a plan for each of several devices.
func (x *request) eachDevice(rd *reading, devices []int) capabilities.Outcome {
	var steps []capabilities.Plan
	for _, d := range devices {
		one := *rd
		one.devices, one.all, one.sole = []int{d}, false, true
		out := x.settle(&one)
		if out.Plan == nil {
			return out
		}
		rd.args, rd.doubt = one.args, one.doubt // what was asked for the first is so for all
		steps = append(steps, *out.Plan)
	}
	return x.several(capabilities.Sequence(steps), x.doubtful(rd), x.losing()+x.because(rd))
}

// unable are the devices that were meant by a class and cannot do it.
func (x *request) unable(rd *reading, m *lexicon.SlotValue) []int {
	return slices.DeleteFunc(slices.Clone(m.Devices), func(d int) bool { return slices.Contains(rd.devices, d) || !x.meant(rd, d) || x.demand.location != "" })
}

// several is the outcome of a plan with steps: more than are allowed without a
// word are asked about.
func (x *request) several(p capabilities.Plan, doubtful bool, because string) capabilities.Outcome {
	if n := len(p.Steps); p.Actuates() && n > x.r.maxSteps() {
		return x.shallI(p, fmt.Sprintf("%sthat is %d things at once, and more than %d are asked about: ", because, n, x.r.maxSteps()))
	}
	if doubtful && p.Actuates() {
		return x.shallI(p, because)
	}
	return capabilities.Outcome{Plan: &p}
}

// clauses reads a text of several orders as a plan with steps: each part must be
// a whole plan by itself, or a time to wait. "It" is what the part before is about.
func (x *request) clauses() (capabilities.Outcome, bool) {
	cuts := x.cuts()
	if len(cuts) == 0 {
		return capabilities.Outcome{}, false
	}
	var steps []capabilities.Plan
	var pause, said time.Duration // waits, and how much of them was said as such
	about, class := "", ""        // the device that "it" is, and what all that were told something are
	from := 0
	for n, end := range append(cuts, len(x.Tokens)) {
		tokens := x.Tokens[from:end]
		for k := 1; k > 0 && end < len(x.Tokens); end += k {
			k = x.Words().Joining.Longest(x.Tokens, end)
		}
		from = end
		if d := x.Words().ReadPause(tokens); d > 0 {
			pause, said = pause+d, said+d
			continue
		}
		part := withPauses(x.ofClass(x.referring(tokens, about), class))
		out, y := x.clause(part, n+1)
		if out.Plan == nil {
			if p := x.evenly(); p != nil {
				return capabilities.Outcome{Plan: p}, true
			}
			x.explain = y.explain
			return x.ofSeveral(part, out), true
		}
		if wait := x.offAfter(out.Plan, steps); wait > 0 && pause == 0 {
			out.Plan.NotBefore, pause = steps[len(steps)-1].NotBefore, wait
		}
		about, class = "", x.r.classOf(out.Plan.Each())
		if len(out.Plan.Steps) == 0 {
			about = out.Plan.Device
		}
		if n := len(steps) - 1; n >= 0 && steps[n].Command.Watches() {
			return x.refuse(fmt.Sprintf("of several things, %q: nothing is done by itself behind what is waited for (%s); ask for it when that is told", part, steps[n].Summary), nil), true
		}
		earlier := len(steps)
		for i, step := range out.Plan.Each() {
			if i == 0 {
				step.After += pause
			}
			steps = withStep(steps, earlier, step)
		}
		pause = 0
	}
	switch total := max(said, waits(untilOff(slices.Clone(steps)))); {
	case total > maxPause:
		return x.refuse(fmt.Sprintf("to wait for %s is longer than one request may; put the later part into a request of its own, with constraints.timing.not_before", capabilities.DurationText(total)), nil), true
	case pause > 0:
		return x.refuse(fmt.Sprintf("nothing is to be done after waiting for %s; leave it out", capabilities.DurationText(pause)), nil), true
	}
	if out, ok := x.together(steps); !ok {
		return out, true
	}
	for i, s := range steps[1:] {
		if one := steps[i]; one.For > s.After && one.Device == s.Device && switches(s, false) {
			return x.refuse(fmt.Sprintf("to %s, and to %s before that is over, is not both to be had; say one of the two", one.Summary, s.Summary), nil), true
		}
	}
	x.explain = capabilities.Explanation{Template: "several orders", Score: 1, Capability: capabilities.Sequence(steps).Capability}
	out := x.inOrder(steps)
	if x.uneven && out.Plan != nil && out.Plan.Actuates() {
		if p := x.evenly(); p != nil && p.Summary != out.Plan.Summary {
			picked, no, ok := x.whichOfTwo([]string{p.Summary, out.Plan.Summary})
			switch {
			case !ok:
				return no, true
			case picked == 0:
				return capabilities.Outcome{Plan: p}, true
			}
			return out, true
		}
		return x.shallI(*out.Plan, "how much, or which colour, was said of the last alone: "), true
	}
	return out, true
}

// clause reads one part of a text of several orders. The answers to questions
// about it go by its number.
func (x *request) clause(part string, n int) (capabilities.Outcome, *request) {
	suffix := fmt.Sprintf("_%d", n)
	var given mess.Object
	for _, f := range x.given {
		if field, ok := strings.CutSuffix(f.Key, suffix); ok {
			given = append(given, mess.Field{Key: field, Value: f.Value})
		}
	}
	req := x.req
	req.Intent = part
	y := &request{r: x.r, Utterance: entity.Utterance{Home: &x.r.Home}, req: req, given: given, part: true}
	out := y.outcome()
	if out.Question != nil {
		out.Question.Field += suffix
		out.Question.Given = x.given
	}
	return out, y
}

// inOrder is the outcome of steps that are carried out one after the other. A wait
// before the first is a time at which it begins.
func (x *request) inOrder(steps []capabilities.Plan) capabilities.Outcome {
	begin := steps[0].NotBefore
	if wait := steps[0].After; wait > 0 {
		if x.r.Site.Now.IsZero() {
			return x.refuse(fmt.Sprintf("to wait for %s needs a clock; put the time into constraints.timing.not_before", capabilities.DurationText(wait)), nil)
		}
		begin, steps[0].After = x.r.Site.Now.Add(wait), 0
	}
	steps = untilOff(steps)
	for i := range steps {
		steps[i].NotBefore = time.Time{}
		if i > 0 && steps[i].After > 0 {
			steps[i].Summary = fmt.Sprintf("wait for %s and %s", capabilities.DurationText(steps[i].After), steps[i].Summary)
		}
	}
	p := steps[0]
	if len(steps) > 1 {
		p = capabilities.Sequence(steps)
	}
	p.NotBefore = begin
	return x.several(p, x.IsQuestion || x.quotes, x.because(&reading{}))
}

// untilOff makes of "turn it on, wait, turn it off" one step that lasts: the
// device goes off then whatever happens here. What follows waits for that; it is as
// it was said where the same device is told more.
func untilOff(steps []capabilities.Plan) []capabilities.Plan {
	var list []capabilities.Plan
	var pause time.Duration
	for i, s := range steps {
		more := slices.ContainsFunc(steps[i+1:], func(later capabilities.Plan) bool { return later.Device == s.Device })
		if n := len(list) - 1; n >= 0 && s.After > 0 && s.Device == list[n].Device && list[n].For == 0 && switches(list[n], true) && switches(s, false) && !more {
			list[n].For = s.After
			list[n].Summary += " for " + capabilities.DurationText(s.After)
			pause = s.After
			continue
		}
		s.After, pause = s.After+pause, 0
		list = append(list, s)
	}
	return list
}

func switches(p capabilities.Plan, want bool) bool {
	on, _ := p.Args.Get("on")
	return p.Command == capabilities.SetSwitch && on == want
}

// waits is how long steps wait in all.
func waits(steps []capabilities.Plan) (sum time.Duration) {
	for _, s := range steps {
		sum += s.After
	}
	return sum
}

// maxPause is how long the steps of one request may wait in all: nothing of it is
// kept over a restart.
const maxPause = time.Hour

// offAfter is how long after the step before, which switches a device on, p switches
// it off: "turn on the fan, and turn it off after ten minutes", "on at dusk and off at
// dawn"; 0 if it does not.
func (x *request) offAfter(p *capabilities.Plan, before []capabilities.Plan) time.Duration {
	n := len(before) - 1
	if n < 0 || p.NotBefore.IsZero() || before[n].Device != p.Device || !switches(before[n], true) || !switches(*p, false) {
		return 0
	}
	begin := before[n].NotBefore
	if begin.IsZero() {
		begin = x.r.Site.Now
	}
	return p.NotBefore.Sub(begin)
}

// referring puts the name of the one device that the order before was about in the
// place of "it", and before an "off" that names nothing.
func (x *request) referring(tokens []lexicon.Token, device string) []lexicon.Token {
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

// together refuses orders of which not all begin at the same time: of "turn on
// the lamp and the heater in ten minutes" nobody knows whether both wait.
func (x *request) together(steps []capabilities.Plan) (capabilities.Outcome, bool) {
	for _, s := range steps[1:] {
		if !s.NotBefore.Equal(steps[0].NotBefore) {
			return x.refuse("of several things, each begins at another time, or it was not said of each; make a request for each", nil), false
		}
	}
	return capabilities.Outcome{}, true
}

// withStep adds a step, but for one that does what the last of the first n, of earlier
// parts, has done with its device: "turn on the coffee machine and make coffee" is one.
func withStep(steps []capabilities.Plan, n int, step capabilities.Plan) []capabilities.Plan {
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
