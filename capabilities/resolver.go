package capabilities

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/mess"
)

// NewResolver makes a resolver for a home. It is cheap: the sentences are
// compiled once for a catalogue.
func NewResolver(c *Catalogue, home Home) *Resolver {
	r := &Resolver{catalogue: c, home: home, class: make([]string, len(home.Devices))}
	for i, d := range home.Devices {
		r.class[i] = c.class(d.Class)
	}
	r.names = newNames(c, home, r.class)
	r.all, r.named = r.spell(), mistakable(r.names.words)
	r.able = r.whatCan(func(c *capability) bool {
		devices, _ := r.offer(c)
		return len(devices) > 0
	})
	for _, c := range r.Offers() {
		r.ids = append(r.ids, c.ID)
	}
	return r
}

// Resolve turns a request into a plan, a question or a refusal.
func (r *Resolver) Resolve(req mess.Request) Outcome {
	return r.resolve(req, nil)
}

// request is one request on its way through the resolver.
type request struct {
	r         *Resolver
	req       mess.Request
	tokens    []token
	asks      bool        // the text is a question
	whole     []token     // the text, of which others take parts away
	quotes    bool        // what it orders stands in quotation marks
	given     mess.Object // answers to earlier questions, by field
	demand    demand      // what requires and constraints ask for
	matches   fillings
	readings  []reading
	explain   Explanation
	wait      *waitFor   // what it waits for; nil for nothing
	show      string     // the words that ask for a picture after the act, "" for none
	names     []bool     // which words are in names of things; nil if not asked yet
	uneven    bool       // of several things only the last has how much
	part      bool       // it is one of several orders
	spare     *exemption // what is left out of it; nil for nothing
	lost      []string   // what was said and is not understood: without it nothing is done but with a yes
	taken     []string   // what was taken for each of them, where it is misspelt
	disagrees bool       // its words say another parameter than requires
	skips     int        // how many words may be passed over as not understood
}

func (x *request) words() *words { return x.r.catalogue.words }

// reading is one way to understand the text.
type reading struct {
	*sentence
	slots   []bound
	args    mess.Object // that the words give, beside the capability's own
	asks    string      // the parameter that must be asked for
	number  float64     // that may be its value
	other   *sentence   // of the reading in which it is a difference
	doubt   string      // why a yes is needed
	lost    []string    // words that were passed over
	pieces  int         // that it was cut into
	nowhere bool        // it was said that it is for one place, and not which
	beyond  string      // a place that was named and is out of reach
	sole    bool        // it is one of a group
	how     how         // the most exact word for a device
	devices []int       // that can do it
	names   []bound     // of several things or places that were named one by one
	all     bool
}

func (rd *reading) slot(kind string) *match {
	for _, b := range rd.slots {
		if b.kind == kind {
			return b.match
		}
	}
	return nil
}

func (rd *reading) value(kind string) string {
	if kind == "quantity" && rd.quantity != "" {
		return rd.quantity
	}
	if m := rd.slot(kind); m != nil {
		return m.value
	}
	return ""
}

func (r *Resolver) resolve(req mess.Request, given mess.Object) Outcome {
	if len(req.Context) > 0 {
		return r.inContext(req, given)
	}
	return r.said(req, given)
}

// said resolves a request by its words, without its context.
func (r *Resolver) said(req mess.Request, given mess.Object) Outcome {
	x := &request{r: r, req: req, given: given}
	out := x.outcome()
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

func (x *request) outcome() Outcome {
	w := x.words()
	if len(x.req.Intent) <= maxText {
		x.tokens = w.tokens(x.req.Intent)
	}
	if len(x.req.Intent) > maxText || len(x.tokens) > maxTokens {
		return x.refuse("the request has more than 60 words; say in one sentence what is to be done", nil)
	}
	x.asks = w.asks(x.req.Intent, x.tokens)
	x.asks = x.asks || x.stillSo()
	x.agreeing()
	x.quotes, x.whole = x.quoting(), x.tokens
	if out, bad := x.signs(); bad {
		return out
	}
	if out, bad := x.demands(); bad {
		return out
	}
	if x.demand.capabilities == nil && x.stopsAll() {
		return x.refuse(fmt.Sprintf("%q is no request, for one waits for its turn: \"messkit stop\" at the place, the stop button of the console, or \"messkit stop --all\" stops everything at once; to stop one thing, name it", joined(x.tokens)), nil)
	}
	if x.demand.capabilities == nil && !x.part {
		if out, bad := x.alone(); bad {
			return out
		}
	}
	if out, ok := x.watched(); ok {
		return out
	}
	if x.demand.capabilities == nil && x.req.Precision != mess.Loose && x.strange() {
		if out, ok := x.leaves(); ok {
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
	walk := walker{words: x.words(), tokens: x.tokens, fill: x.placed}
	walk.found = func(s *sentence, slots []bound) {
		if s.asked && !x.asks {
			return
		}
		rd := reading{sentence: s, slots: slots, doubt: s.doubt, args: slices.Clone(s.args), all: s.all}
		if m := rd.slot("spot"); m != nil && len(m.rooms) > 1 && s.capability.Command != Clean { // two files are two prints
			return
		}
		for _, b := range slots {
			if slices.Contains(amountKinds, b.kind) {
				rd.args = rd.args.Set(b.name, b.match.amount)
				if r, bounded := s.within[b.name]; bounded && (b.match.amount < r.Min || b.match.amount > r.Max) {
					return
				}
			}
			if b.kind == "amount" {
				rd.doubt = unmeasured(b.match.amount)
			}
			if b.kind == "device" || b.kind == "view" || b.kind == "spot" {
				rd.how = max(rd.how, b.match.how)
				rd.all = rd.all || b.match.all
			}
		}
		x.readings = append(x.readings, rd)
	}
	if len(x.tokens) > 0 {
		walk.from(x.r.catalogue.grammar, 0)
	}
}

// able are the readings that some device can do, the most exact first.
func (x *request) able(readings []reading) []reading {
	var list []reading
	for _, rd := range readings {
		if !x.demand.measures(&rd) {
			continue
		}
		if rd.devices = x.candidates(&rd); len(rd.devices) > 0 && !rd.partly() {
			list = append(list, rd)
		}
	}
	if len(list) == 0 {
		for _, rd := range readings {
			if rd.devices = x.measuring(&rd); len(rd.devices) > 0 && !rd.partly() {
				list = append(list, rd)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b reading) int { return int(b.how - a.how) })
	return list
}

// measuring are the devices that are named and asked for all that they measure, though
// they are no sensors by their class: a plug that knows its power, a vacuum its battery.
func (x *request) measuring(rd *reading) []int {
	c := rd.capability
	if !c.senses() || rd.slot("device") == nil || rd.value("quantity") != "" || !x.demand.measures(rd) {
		return nil
	}
	var list []int
	for d, dev := range x.r.home.Devices {
		if dev.Quantities == nil && slices.Contains(dev.Commands, ReadState) && rd.sentence.suits(x.r.class[d]) && x.meant(rd, d) && x.demand.allows(x.r, c, dev) {
			list = append(list, d)
		}
	}
	return list
}

// senses reports whether a capability is to tell what is measured.
func (c *capability) senses() bool {
	return c.Command == ReadState && slices.ContainsFunc(c.Also, func(a fixed) bool { return a.Quantity != "" })
}

// candidates are the devices that can do what the reading says.
func (x *request) candidates(rd *reading) []int {
	var list []int
	for d, dev := range x.r.home.Devices {
		if x.r.can(rd.capability, rd.value("quantity"), d) && rd.sentence.suits(x.r.class[d]) && x.meant(rd, d) && x.demand.allows(x.r, rd.capability, dev) {
			list = append(list, d)
		}
	}
	full := slices.DeleteFunc(slices.Clone(list), func(d int) bool {
		return !slices.Contains(x.r.home.Devices[d].Commands, rd.capability.Command)
	})
	if len(full) > 0 {
		list = full
	}
	if q := x.r.catalogue.quantities[rd.value("quantity")]; len(list) > 1 && rd.slot("device") == nil {
		list = x.r.firstClass(list, q.Classes)
	}
	return list
}

// firstClass keeps the devices of the class that stands first: a thermometer
// knows the temperature of a room better than its heater.
func (r *Resolver) firstClass(list []int, classes []string) []int {
	for _, class := range classes {
		kept := slices.DeleteFunc(slices.Clone(list), func(d int) bool { return r.class[d] != class })
		if len(kept) > 0 {
			return kept
		}
	}
	return list
}

// can reports whether device d has the verb for a capability, and the class.
func (r *Resolver) can(c *capability, quantity string, d int) bool {
	if c.command(r.home.Devices[d]) == "" || quantity != "" && !r.home.Devices[d].tells(quantity) {
		return false
	}
	if q, ok := r.catalogue.quantities[quantity]; ok && len(q.Classes) > 0 {
		return slices.Contains(q.Classes, r.class[d])
	}
	return c.suits(r.class[d])
}

// tells reports whether a device may be asked for a quantity.
func (d Device) tells(quantity string) bool {
	return d.Quantities == nil || slices.Contains(d.Quantities, quantity)
}

// meant reports whether the words of the reading allow device d.
func (x *request) meant(rd *reading, d int) bool {
	for _, b := range rd.slots {
		switch b.kind {
		case "device", "view", "spot":
			if !slices.Contains(b.match.devices, d) {
				return false
			}
		case "area":
			if !x.r.in(d, b.match.value) {
				return false
			}
		}
	}
	return true
}

// choose makes one outcome of the readings that can be done.
func (x *request) choose(able []reading) Outcome {
	if x.asks { // "garage door open?" asks how it is
		looks := slices.DeleteFunc(slices.Clone(able), func(rd reading) bool { return rd.capability.Effect != Query })
		if len(looks) > 0 {
			able = looks
		}
	}
	able = ofItsKind(able)
	best := able[0]
	if best.capability.Effect == Query && len(best.devices) > 1 { // where one answers, nobody is asked which
		for _, rd := range able[1:] {
			if rd.how == best.how && rd.capability.Effect == Query && len(rd.devices) == 1 {
				best = rd
				break
			}
		}
	}
	x.explainReading(&best, able)
	if best.capability.Effect != Query {
		for _, rd := range able[1:] {
			if rd.how == best.how && rd.ofWhat() {
				return x.settle(&rd)
			}
			if rd.how == best.how && !best.same(&rd) {
				return x.whichMeaning(able)
			}
		}
	}
	for _, rd := range able[1:] {
		if rd.how == best.how && best.same(&rd) {
			best.devices = append(best.devices, subtract(rd.devices, best.devices)...)
		}
	}
	slices.Sort(best.devices)
	return x.settle(&best)
}

// ofItsKind leaves out what does the same with the same devices as a capability that
// is made for their classes: "start the kettle" is more than to switch something on.
func ofItsKind(able []reading) []reading {
	return slices.DeleteFunc(slices.Clone(able), func(rd reading) bool {
		c := rd.capability
		return len(c.Classes) == 0 && slices.ContainsFunc(able, func(o reading) bool {
			return len(o.capability.Classes) > 0 && o.capability.Command == c.Command && o.how >= rd.how && slices.Equal(o.devices, rd.devices) &&
				slices.Equal(o.capability.args(), c.args()) && slices.Equal(o.args, rd.args)
		})
	})
}

// made is the capability that stands for c with the class of device d, else c: to
// switch a kettle on is to start it, however it is said.
func (r *Resolver) made(c *capability, d int) *capability {
	for _, one := range r.catalogue.list {
		if one.Covers == c.ID && slices.Contains(one.Classes, r.class[d]) {
			return one
		}
	}
	return c
}

// ofWhat reports whether it is for all of it was not said what: "turn on everything".
func (rd *reading) ofWhat() bool {
	m := rd.slot("device")
	return m != nil && m.all && m.class == "" && m.how == byNothing
}

// same reports whether two readings would do the same.
func (rd *reading) same(o *reading) bool {
	if rd.capability != o.capability || rd.all != o.all {
		return false
	}
	for _, kind := range []string{"quantity", "thing", "view", "spot", "duration", "position"} {
		if rd.value(kind) != o.value(kind) {
			return false
		}
	}
	return rd.asks == o.asks && slices.Equal(rd.args, o.args)
}

func subtract(list, without []int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(d int) bool { return slices.Contains(without, d) })
}

// whichMeaning asks which of several things is meant.
func (x *request) whichMeaning(able []reading) Outcome {
	var options []string
	var of []*reading
	for i := range able {
		rd := &able[i]
		if rd.how != able[0].how {
			break
		}
		text := x.summary(rd)
		if !slices.Contains(options, text) {
			options, of = append(options, text), append(of, rd)
		}
	}
	if len(of) == 1 {
		return x.settle(of[0])
	}
	q := Question{Field: "meaning", Text: "which is meant: " + oneOf(options) + "?", Options: options}
	picked, out, ok := x.ask(q)
	if !ok {
		return out
	}
	if len(picked) > 1 {
		q.Text, q.Given = "only one can be meant; "+q.Text, without(x.given, q.Field)
		return Outcome{Question: &q}
	}
	return x.settle(of[slices.Index(options, picked[0])])
}

// summary says what a reading would do. Where there is not yet one device for
// it, it says what the text says.
func (x *request) summary(rd *reading) string {
	s := x.r.planFor(rd, rd.devices[0], x.areas(rd)).Summary
	for _, b := range rd.slots {
		if b.kind == "device" && len(rd.devices) > 1 && b.match.end > b.from {
			s = strings.Replace(s, x.r.label(rd.devices[0]), joined(x.words().plainTokens(joined(x.tokens[b.from:b.match.end]))), 1)
		}
	}
	return s
}

// settle takes a reading to one device, and that to a plan.
func (x *request) settle(rd *reading) Outcome {
	if rd.capability.Command.Watches() && rd.all && len(rd.devices) > 1 {
		return x.refuse(fmt.Sprintf("one request watches one thing; make a request for each of %s", strings.Join(x.r.labels(rd.devices), ", ")), x.r.labels(rd.devices))
	}
	if m := rd.slot("device"); rd.all && !rd.sole && len(rd.devices) > 1 && (m == nil || m.how != byNothing && (m.count == 0 || m.count == len(rd.devices))) {
		return x.group(rd)
	}
	if x.spare != nil && !rd.sole && rd.capability.Command != Clean {
		return x.refuse(fmt.Sprintf("%q rules something out, and only of several things can one be left out; name those that are meant", x.spare.said), nil)
	}
	if rd.capability.Effect != Query {
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
	if made := x.r.made(rd.capability, d); made != rd.capability && x.demand.capabilities == nil {
		one := *rd.sentence
		one.capability = made
		if x.explain.Capability == rd.capability.ID {
			x.explain.Capability = made.ID
		}
		rd.sentence = &one
	}
	plan := x.r.planFor(rd, d, areas)
	if plan.Command.Watches() {
		if out, ok := x.watchable(&plan); !ok {
			return out
		}
	}
	for _, p := range rd.capability.Parameters {
		if value, given := plan.Args.Get(p.Name); given && p.outside(value) != "" {
			return x.refuse(fmt.Sprintf("%s: %s; ask for that", plan.Capability, p.outside(value)), nil)
		}
	}
	plan.Want = x.wants()
	if slices.Contains(plan.Want, "location") {
		if plan.Command == Clean {
			plan.Place = strings.Join(x.r.roomsOf(d, areas), ", ")
		}
		plan.Place = cmp.Or(plan.Place, x.r.home.Devices[d].Area)
	}
	switch d := x.demand.duration; {
	case d == 0 || d == plan.For:
	case plan.For != 0:
		return x.refuse(fmt.Sprintf("the text says %s, but requires says %s; make them agree", spoken(plan.For), spoken(d)), nil)
	case plan.Command != SetSwitch && plan.Command != Move && !plan.Command.Watches():
		return x.refuse(fmt.Sprintf("requires: for: %s cannot be done for a time; leave it out", plan.Capability), nil)
	default:
		plan.For = d
		plan.Summary += " for " + spoken(d)
	}
	if on, _ := plan.Args.Get("on"); plan.For > 0 && on != true && plan.Command != Move && !plan.Command.Watches() {
		return x.refuse(fmt.Sprintf("%s cannot be done: only what is switched on can be for a time, and the %s stays off until told otherwise; leave the time out",
			plan.Summary, x.r.label(d)), nil)
	}
	if out, bad := x.picture(&plan, d); bad {
		return out
	}
	if m := rd.slot("device"); m != nil && m.count > 1 && !rd.sole { // of several it is not one plan
		return x.shallI(plan, fmt.Sprintf("%q is %d, and there is only the %s: ", m.number, m.count, x.r.label(d)))
	}
	if x.doubtful(rd) && !rd.sole && plan.Actuates() {
		return x.shallI(plan, x.losing()+x.because(rd))
	}
	return Outcome{Plan: &plan}
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
	x.explain.Template, x.explain.Score, x.explain.Capability = rd.text, 1, rd.capability.ID
	x.explain.Evidence = rd.capability.Evidence
	x.explain.Slots = map[string]string{}
	for _, b := range rd.slots {
		x.explain.Slots[b.name] = joined(x.tokens[b.from:b.match.end])
	}
	for _, o := range able {
		if !rd.same(&o) {
			x.explain.RunnerUp = o.capability.ID + ": " + o.text + " (1.00)"
			return
		}
	}
}
