package interpret

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// Interpreter turns requests into outcomes for one home. It is immutable and safe
// for concurrent use.
type Interpreter struct {
	entity.Home
	all   lexicon.SpelledNames
	named []lexicon.Spelling // the words of names that may be misspelt
	able  string             // what this home can do, shortly
	ids   []string           // of the capabilities that it has
}

// Resolve turns a request into a plan, a question or a refusal.
func (r *Interpreter) Resolve(req mess.Request) capabilities.Outcome {
	return r.resolve(req, nil)
}

// request is one request on its way through the resolver.
type request struct {
	entity.Utterance
	r         *Interpreter
	req       mess.Request
	whole     []lexicon.Token // the text, of which others take parts away
	quotes    bool            // what it orders stands in quotation marks
	given     mess.Object     // answers to earlier questions, by field
	demand    demand          // what requires and constraints ask for
	readings  []reading
	explain   capabilities.Explanation
	wait      *waitFor   // what it waits for; nil for nothing
	show      string     // the words that ask for a picture after the act, "" for none
	uneven    bool       // of several things only the last has how much
	part      bool       // it is one of several orders
	spare     *exemption // what is left out of it; nil for nothing
	lost      []string   // what was said and is not understood: without it nothing is done but with a yes
	taken     []string   // what was taken for each of them, where it is misspelt
	disagrees bool       // its words say another parameter than requires
	skips     int        // how many words may be passed over as not understood
	unnamed   string     // a name with a number that nothing here has
}

// reading is one way to understand the text.
type reading struct {
	*grammar.Pattern
	slots   []grammar.BoundSlot
	args    mess.Object         // that the words give, beside the capability's own
	asks    string              // the parameter that must be asked for
	number  float64             // that may be its value
	other   *grammar.Pattern    // of the reading in which it is a difference
	doubt   string              // why a yes is needed
	lost    []string            // words that were passed over
	pieces  int                 // that it was cut into
	nowhere bool                // it was said that it is for one place, and not which
	beyond  string              // a place that was named and is out of reach
	sole    bool                // it is one of a group
	how     lexicon.Specificity // the most exact word for a device
	devices []int               // that can do it
	names   []grammar.BoundSlot // of several things or places that were named one by one
	all     bool
}

func (rd *reading) slot(kind string) *lexicon.SlotValue {
	for _, b := range rd.slots {
		if b.Kind == kind {
			return b.Match
		}
	}
	return nil
}

func (rd *reading) value(kind string) string {
	if kind == "quantity" && rd.Quantity != "" {
		return rd.Quantity
	}
	if m := rd.slot(kind); m != nil {
		return m.Value
	}
	return ""
}

func (r *Interpreter) resolve(req mess.Request, given mess.Object) capabilities.Outcome {
	plain, left := r.letter(req.Intent)
	req.Intent = plain
	if out, ok := r.earlier(req); ok {
		return out
	}
	req = r.referred(req)
	more, remarks, parted := r.parted(req)
	if parted {
		req = more
		req.Context = slices.Clip(req.Context)
		for _, one := range remarks {
			req.Context = append(req.Context, mess.Entry{Type: remarked, Value: one})
		}
	}
	var out capabilities.Outcome
	if len(req.Context) > 0 {
		out = r.inContext(req, given)
	} else {
		out = r.said(req, given)
		if out.Refusal != nil {
			if asked, ok := r.bareDevice(req, given); ok {
				out = asked
			}
		}
	}
	if out.Plan != nil && len(left) > 0 {
		p := *out.Plan
		p.Unused, out.Plan = append(slices.Clip(p.Unused), left...), &p
	}
	return out
}

// said resolves a request by its words, without its context.
func (r *Interpreter) said(req mess.Request, given mess.Object) capabilities.Outcome {
	x := &request{r: r, Utterance: entity.Utterance{Home: &r.Home}, req: req, given: given}
	out := x.outcome()
	if x.unnamed != "" && out.Plan != nil && out.Plan.Actuates() {
		out = x.shallI(*out.Plan, fmt.Sprintf("nothing here has the name %q: ", x.unnamed))
	}
	if out.Plan != nil {
		if no, ok := x.environment(out.Plan); !ok {
			out = no
		} else if no, bad := x.tooLate(out.Plan); bad {
			out = no
		}
	}
	out.Explain = x.explain
	return out
}

func (x *request) outcome() capabilities.Outcome {
	w := x.Words()
	if len(x.req.Intent) <= lexicon.MaxText {
		x.Tokens = w.Tokens(lexicon.RemoveKindSigns(x.req.Intent))
	}
	if len(x.req.Intent) > lexicon.MaxText || len(x.Tokens) > lexicon.MaxTokens {
		return x.refuse("the request has more than 60 words; say in one sentence what is to be done", nil)
	}
	x.Tokens = x.urged(x.unnumbered(x.Tokens))
	x.IsQuestion = w.IsQuestion(x.req.Intent, x.Tokens)
	x.IsQuestion = x.IsQuestion || x.stillSo()
	x.agreeing()
	x.quotes, x.whole = x.quoting(), x.Tokens
	if out, bad := x.signs(); bad {
		return out
	}
	if out, bad := x.demands(); bad {
		return out
	}
	if out, bad := x.unknownNumber(); bad {
		return out
	}
	if x.demand.capabilities == nil && x.stopsAll() {
		return x.refuse(fmt.Sprintf("%q is no request, for one waits for its turn: \"messkit stop\" at the place, the stop button of the console, or \"messkit stop --all\" stops everything at once; to stop one thing, name it", lexicon.Join(x.Tokens)), nil)
	}
	if x.demand.capabilities == nil && !x.part {
		if out, bad := x.alone(); bad {
			return out
		}
	}
	if x.demand.capabilities == nil {
		if out, ok := x.ensured(); ok {
			return out
		}
		if out, ok := x.minded(); ok {
			return out
		}
	}
	if out, ok := x.watched(); ok {
		return out
	}
	if out, ok := x.corrected(); ok {
		return out
	}
	if out, ok := x.littering(); ok {
		return out
	}
	if x.demand.capabilities == nil && x.req.Precision != mess.Loose && x.strange() {
		if out, ok := x.leaves(); ok {
			return out
		}
		if out, ok := x.looks(); ok {
			return out
		}
		if out, ok := x.either(); ok {
			return out
		}
		if out, ok := x.almost(); ok {
			return out
		}
		return x.notUnderstood() // most texts that are for others end here
	}
	x.read()
	if x.demand.capabilities != nil {
		return x.demanded()
	}
	able := x.able(x.readings)
	if len(able) > 0 {
		return x.choose(able)
	}
	if acts := x.shown(); len(acts) > 0 {
		return x.choose(acts)
	}
	if out, ok := x.leaves(); ok {
		return out
	}
	if out, ok := x.otherwise(); ok {
		return out
	}
	if out, ok := x.score(); ok {
		return out
	}
	if out, ok := x.almost(); ok {
		return out
	}
	return x.notUnderstood()
}

// read finds the readings of the text in all sentences.
func (x *request) read() {
	walk := grammar.Walker{Words: x.Words(), Tokens: x.Tokens, Fill: x.FillSlot}
	walk.Found = func(s *grammar.Pattern, slots []grammar.BoundSlot) {
		if s.Asked && !x.IsQuestion {
			return
		}
		rd := reading{Pattern: s, slots: slots, doubt: s.Doubt, args: slices.Clone(s.Args), all: s.All}
		if m := rd.slot("spot"); m != nil && len(m.Rooms) > 1 && s.Capability.Command != capabilities.Clean { // two files are two prints
			return
		}
		for _, b := range slots {
			if slices.Contains(grammar.AmountKinds, b.Kind) || b.Kind == "amount" && b.Name != b.Kind {
				rd.args = rd.args.Set(b.Name, b.Match.Amount)
				if r, bounded := s.Within[b.Name]; bounded && (b.Match.Amount < r.Min || b.Match.Amount > r.Max) {
					return
				}
			}
			if b.Kind == "angle" && b.Match.Unit == entity.UnitUnsaid {
				rd.doubt = "degrees were not said"
			}
			if b.Kind == "amount" && b.Name == b.Kind { // of no parameter: "two cups"
				rd.doubt = unmeasured(b.Match.Amount)
			}
			if b.Kind == "device" || b.Kind == "view" || b.Kind == "spot" {
				rd.how = max(rd.how, b.Match.Specificity)
				rd.all = rd.all || b.Match.All
			}
		}
		x.readings = append(x.readings, rd)
	}
	if len(x.Tokens) > 0 {
		walk.Walk(x.r.Catalog.Grammar, 0)
	}
}

// settle takes a reading to one device, and that to a plan.
func (x *request) settle(rd *reading) capabilities.Outcome {
	sweeps := rd.sweeps()
	if sweeps {
		rd.doubt = cmp.Or(rd.doubt, "no kind of device was named")
	}
	if rd.Capability.Command.Watches() && rd.all && len(rd.devices) > 1 {
		return x.refuse(fmt.Sprintf("one request watches one thing; make a request for each of %s", strings.Join(x.r.Labels(rd.devices), ", ")), x.r.Labels(rd.devices))
	}
	if m := rd.slot("device"); rd.all && !rd.sole && len(rd.devices) > 1 && (sweeps || m == nil || rd.Capability.Effect == capabilities.Query || len(rd.Capability.Classes) == 1 || m.Specificity != lexicon.Unspecified && (m.Count == 0 || m.Count == len(rd.devices))) {
		return x.group(rd)
	}
	if x.spare != nil && !rd.sole && rd.Capability.Command != capabilities.Clean {
		return x.refuse(fmt.Sprintf("%q rules something out, and only of several things can one be left out; name those that are meant", x.spare.said), nil)
	}
	if rd.Capability.Effect != capabilities.Query {
		if out, bad := x.limited(rd); bad {
			return out
		}
	}
	if out, ok := x.fromMetadata(rd); !ok {
		return out
	}
	devices, out, ok := x.someDevices(rd)
	if !ok {
		return out
	}
	if len(devices) > 1 {
		return x.eachDevice(rd, devices)
	}
	d := devices[0]
	areas, out, ok := x.oneArea(rd, d)
	if !ok {
		return out
	}
	if out, ok := x.param(rd); !ok {
		return out
	}
	if out, ok := x.measure(rd, d); !ok {
		return out
	}
	if out, bad := x.elsewhere(d, areas); bad {
		return out
	}
	if made := x.r.made(rd.Capability, d); made != rd.Capability && x.demand.capabilities == nil {
		one := *rd.Pattern
		one.Capability = made
		if x.explain.Capability == rd.Capability.ID {
			x.explain.Capability = made.ID
		}
		rd.Pattern = &one
	}
	plan := x.r.planFor(rd, d, areas)
	if plan.Command.Watches() {
		if out, ok := x.watchable(&plan); !ok {
			return out
		}
	}
	for _, p := range rd.Capability.Parameters {
		if value, given := plan.Args.Get(p.Name); given && p.Outside(value) != "" {
			return x.refuse(fmt.Sprintf("%s: %s; ask for that", plan.Capability, p.Outside(value)), nil)
		}
	}
	plan.Want, plan.Asks = x.wants(), x.asksFor(&plan)
	if slices.Contains(plan.Want, "location") {
		if plan.Command == capabilities.Clean {
			plan.Place = strings.Join(x.r.roomsOf(d, areas), ", ")
		}
		plan.Place = cmp.Or(plan.Place, x.r.Site.Devices[d].Area)
	}
	switch d := x.demand.duration; {
	case d == 0 || d == plan.For:
	case plan.For != 0:
		return x.refuse(fmt.Sprintf("the text says %s, but requires says %s; make them agree", capabilities.DurationText(plan.For), capabilities.DurationText(d)), nil)
	case plan.Command != capabilities.SetSwitch && plan.Command != capabilities.Move && !plan.Command.Watches():
		return x.refuse(fmt.Sprintf("requires: for: %s cannot be done for a time; leave it out", plan.Capability), nil)
	default:
		plan.For = d
		plan.Summary += " for " + capabilities.DurationText(d)
	}
	if plan.For > 0 && plan.Command == capabilities.Press {
		return x.refuse(fmt.Sprintf("%s cannot be done: the %s is pressed and released at once, and is not on for a time; leave the time out", plan.Summary, x.r.Label(d)), nil)
	}
	if on, _ := plan.Args.Get("on"); plan.For > 0 && on != true && plan.Command != capabilities.Move && !plan.Command.Watches() {
		return x.refuse(fmt.Sprintf("%s cannot be done: only what is switched on can be for a time, and the %s stays off until told otherwise; leave the time out",
			plan.Summary, x.r.Label(d)), nil)
	}
	if out, bad := x.picture(&plan, d); bad {
		return out
	}
	if m := rd.slot("device"); m != nil && m.Count > 1 && !rd.sole { // of several it is not one plan
		return x.shallI(plan, fmt.Sprintf("%q is %d, and there is only the %s: ", m.Number, m.Count, x.r.Label(d)))
	}
	if x.doubtful(rd) && !rd.sole && plan.Actuates() {
		return x.shallI(plan, x.losing()+x.because(rd))
	}
	return capabilities.Outcome{Plan: &plan}
}

func (x *request) wants() []string {
	var list []string
	for _, h := range x.req.ResponseHint {
		list = append(list, h.Type)
	}
	return list
}

// explainReading notes how the text was understood.
func (x *request) explainReading(rd *reading, able []reading) {
	x.explain.Template, x.explain.Score, x.explain.Capability = rd.Text, 1, rd.Capability.ID
	x.explain.Evidence = rd.Capability.Evidence
	x.explain.Slots = map[string]string{}
	for _, b := range rd.slots {
		x.explain.Slots[b.Name] = lexicon.Join(x.Tokens[b.From:b.Match.End])
	}
	for _, o := range able {
		if !rd.same(&o) {
			x.explain.RunnerUp = o.Capability.ID + ": " + o.Text + " (1.00)"
			return
		}
	}
}
