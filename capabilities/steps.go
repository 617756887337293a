package capabilities

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Several is the capability of a plan whose steps are of more than one.
const Several = "several"

// Each are the steps of a plan: it alone, if it has none.
func (p Plan) Each() []Plan {
	if len(p.Steps) == 0 {
		return []Plan{p}
	}
	return p.Steps
}

// ofSteps is a plan of several. It is as grave as the gravest of them.
func ofSteps(steps []Plan) Plan {
	p := Plan{Capability: steps[0].Capability, Risk: RiskObserve, Effect: Query, Reversible: true, Steps: steps, Want: steps[0].Want}
	var said, after []string
	devices := make([]string, len(steps))
	for i, s := range steps {
		if s.Capability != p.Capability {
			p.Capability = Several
		}
		if graver(string(p.Risk), string(s.Risk), risks) {
			p.Risk = s.Risk
		}
		if graver(string(p.Effect), string(s.Effect), effects) {
			p.Effect = s.Effect
		}
		p.Reversible = p.Reversible && s.Reversible
		said, devices[i] = append(said, s.Summary), s.Device
		if s.Consequences != "" {
			after = append(after, s.Consequences)
		}
	}
	p.Device = strings.Join(devices, ",")
	p.Summary, p.Consequences = strings.Join(said, ", "), strings.Join(after, "; ")
	return p
}

// graver reports whether b stands behind a in the list. What is not in it is the
// gravest.
func graver(a, b string, list []string) bool {
	at := slices.Index(list, b)
	return at < 0 || at > slices.Index(list, a)
}

var effects = []string{string(Query), string(Idempotent), string(Once)}

// maxSteps is how many steps a plan may have before it is asked about, unless
// the home says otherwise.
const maxPlanSteps = 10

func (r *Resolver) maxSteps() int {
	if r.home.MaxSteps > 0 {
		return r.home.MaxSteps
	}
	return maxPlanSteps
}

// group is a plan for each device of a reading that is for all of them.
func (x *request) group(rd *reading) Outcome {
	if m := rd.slot("device"); m != nil && m.class != "" {
		if unable := x.unable(rd, m); len(unable) > 0 {
			return x.refuse(fmt.Sprintf("%s cannot do that; name those that are meant: %s", strings.Join(x.r.labels(unable), ", "), strings.Join(x.r.labels(rd.devices), ", ")), x.r.labels(rd.devices))
		}
	}
	var steps []Plan
	for _, d := range rd.devices {
		one := *rd
		one.devices, one.all, one.sole = []int{d}, false, true
		out := x.settle(&one)
		if out.Plan == nil {
			return out
		}
		rd.args = one.args // what was asked for the first is so for all
		steps = append(steps, *out.Plan)
	}
	return x.several(ofSteps(steps), rd.doubt != "" || x.asks || len(x.lost) > 0, x.losing()+rd.because())
}

// unable are the devices that were meant by a class and cannot do it.
func (x *request) unable(rd *reading, m *match) []int {
	return slices.DeleteFunc(slices.Clone(m.devices), func(d int) bool { return slices.Contains(rd.devices, d) || !x.meant(rd, d) || x.demand.location != "" })
}

// several is the outcome of a plan with steps: more than are allowed without a
// word are asked about.
func (x *request) several(p Plan, doubtful bool, because string) Outcome {
	if n := len(p.Steps); p.Actuates() && n > x.r.maxSteps() {
		return x.shallI(p, fmt.Sprintf("%sthat is %d things at once, and more than %d are asked about: ", because, n, x.r.maxSteps()))
	}
	if doubtful && p.Actuates() {
		return x.shallI(p, because)
	}
	return Outcome{Plan: &p}
}

// clauses reads a text of several orders as a plan with steps: each part must be
// a whole plan by itself.
func (x *request) clauses() (Outcome, bool) {
	cuts := x.cuts()
	if len(cuts) == 0 {
		return Outcome{}, false
	}
	var steps []Plan
	from := 0
	for _, end := range append(cuts, len(x.tokens)) {
		part := joined(x.tokens[from:end])
		for n := 1; n > 0 && end < len(x.tokens); end += n {
			n = x.words().joining.longest(x.tokens, end)
		}
		from = end
		req := x.req
		req.Intent = part
		y := &request{r: x.r, req: req, matches: map[gapAt][]match{}, part: true}
		out := y.outcome()
		if out.Plan == nil {
			x.explain = y.explain
			if out.Question != nil { // an answer would be for one of them, and nobody knows which
				return x.refuse(fmt.Sprintf("of several things, %q is not clear: %s Say it in the request", part, out.Question.Text), out.Question.Options), true
			}
			return x.refuse(fmt.Sprintf("of several things, %q cannot be done: %s", part, out.Refusal.Reason), out.Refusal.Nearest), true
		}
		for _, step := range out.Plan.Each() {
			steps = withStep(steps, step)
		}
	}
	if out, ok := x.together(steps); !ok {
		return out, true
	}
	x.explain = Explanation{Template: "several orders", Score: 1, Capability: ofSteps(steps).Capability}
	if len(steps) == 1 {
		return x.several(steps[0], x.asks, ""), true
	}
	p := ofSteps(steps)
	p.NotBefore = steps[0].NotBefore
	if !p.NotBefore.IsZero() {
		for i := range p.Steps {
			p.Steps[i].NotBefore = time.Time{}
		}
	}
	return x.several(p, x.asks, ""), true
}

// together refuses orders of which not all begin at the same time: of "turn on
// the lamp and the heater in ten minutes" nobody knows whether both wait.
func (x *request) together(steps []Plan) (Outcome, bool) {
	for _, s := range steps[1:] {
		if !s.NotBefore.Equal(steps[0].NotBefore) {
			return x.refuse("of several things, each begins at another time, or it was not said of each; make a request for each", nil), false
		}
	}
	return Outcome{}, true
}

// withStep adds a step, but for one that does what an earlier one has done: "turn
// on the coffee machine and make coffee" is one.
func withStep(steps []Plan, step Plan) []Plan {
	for i, s := range steps {
		if s.Device == step.Device && s.Command == step.Command && s.For == step.For && reflect.DeepEqual(s.Args, step.Args) {
			if graver(string(s.Effect), string(step.Effect), effects) {
				steps[i] = step
			}
			return steps
		}
	}
	return append(steps, step)
}

// cuts are the ends of the parts of a text of several orders: where it is joined
// and an order begins behind.
func (x *request) cuts() []int {
	var list []int
	for i := 1; i < len(x.tokens); i++ {
		n := x.words().joining.longest(x.tokens, i)
		if n == 0 || x.named(i) {
			continue
		}
		at := i + n
		for k := 1; k > 0 && at < len(x.tokens); at += k {
			if k = x.words().joining.longest(x.tokens, at); k == 0 {
				k = x.words().filler.longest(x.tokens, at)
			}
		}
		if at < len(x.tokens) && x.r.catalogue.lexicon.orders[x.tokens[at].folded] {
			list = append(list, i)
		}
		i = max(i, at-1)
	}
	return list
}
