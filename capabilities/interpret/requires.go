package interpret

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// demands reads requires and constraints. It reports a refusal of what cannot
// be had here.
func (x *request) demands() (capabilities.Outcome, bool) {
	if out, bad := x.constraints(); bad {
		return out, true
	}
	var unknown []string
	for _, one := range x.req.Requires {
		c := x.r.Catalog.Find(one.ID)
		if slices.Contains(x.r.Site.Facts, one.ID) {
			if err := x.factual(one.Meta); err != nil {
				return x.refuse(fmt.Sprintf("requires: %s: %v", one.ID, err), nil), true
			}
			continue
		}
		if c == nil {
			unknown = append(unknown, one.ID)
			continue
		}
		w := wanted{Capability: c}
		if err := x.metadata(&w, one.Meta); err != nil {
			return x.refuse(fmt.Sprintf("requires: %s: %v", one.ID, err), nil), true
		}
		x.demand.capabilities = append(x.demand.capabilities, w)
	}
	// Others may stand beside a known one (access to the kitchen): the exchange
	// has matched those.
	if len(unknown) > 0 && x.demand.capabilities == nil {
		return x.refuse(fmt.Sprintf("requires: nothing here does %s; here are %s", strings.Join(unknown, ", "), strings.Join(x.r.offered(), ", ")),
			x.r.nearest(unknown)), true
	}
	return capabilities.Outcome{}, false
}

// area is the place of the home that name is: an area, what a camera sees, or a
// spot to work on; "" if none.
func (x *request) area(name string) string {
	tokens := x.Words().PlainTokens(name)
	found := ""
	for _, places := range []*lexicon.Trie[entity.NameMeaning]{x.r.Names.Spots, x.r.Names.Views, x.r.Names.Areas} {
		places.Each(tokens, 0, func(end int, m entity.NameMeaning) {
			if end == len(tokens) && end > 0 {
				found = m.Last
			}
		})
	}
	return found
}

// metadata reads what a capability of requires is narrowed to.
func (x *request) metadata(w *wanted, meta any) error {
	if meta == nil {
		return nil
	}
	o, ok := meta.(mess.Object)
	if !ok {
		return fmt.Errorf("its metadata is no mapping; write {devices: [...], areas: [...]}")
	}
	for _, f := range o {
		if name, is := w.parameter(f.Key); is {
			value, err := x.valueOf(w.Capability, name, f.Value)
			if err != nil {
				return err
			}
			w.args = w.args.Set(name, value)
			continue
		}
		texts, ok := lexicon.TextList(f.Value)
		if !ok || len(texts) == 0 {
			return fmt.Errorf("%s: neither text nor a list of texts, and no parameter of it; known: %s", f.Key, w.known())
		}
		if err := x.narrow(w, f.Key, texts); err != nil {
			return err
		}
	}
	return nil
}

func (x *request) narrow(w *wanted, key string, texts []string) error {
	switch key {
	case "device", "devices":
		w.devices = texts
	case "area", "areas":
		w.areas = texts
	case "quantity":
		if _, known := x.r.Catalog.Quantities[texts[0]]; !known || len(texts) > 1 {
			return fmt.Errorf("quantity: %q is unknown; write one of %s", strings.Join(texts, ", "), strings.Join(lexicon.Keys(x.r.Catalog.Quantities), ", "))
		}
		w.quantity = texts[0]
	case "executor": // the exchange has looked at it
	case "for":
		d, err := mess.Duration(texts[0]).Duration()
		if err != nil || d <= 0 || d > lexicon.MaxDuration {
			return fmt.Errorf("for: %q is no length of time up to a year; write it like PT10M or 10m", texts[0])
		}
		x.demand.duration = d
	default:
		return fmt.Errorf("%s: unknown metadata; known: %s", key, w.known())
	}
	return nil
}

// otherNames are other names of parameters.
var otherNames = map[string]string{"brightness": "level", "color": "colour"}

// parameter is the name of the parameter that a key of metadata means.
func (w *wanted) parameter(key string) (name string, is bool) {
	return w.FindParameter(key, otherNames[key])
}

// valueOf reads a parameter as a plan bears it: a number within its range, or a colour.
// Less is less, whatever the sign: {dim: {change: 10}} is 10 percent darker.
func (x *request) valueOf(c *grammar.Capability, name string, value any) (any, error) {
	p := c.Parameters[slices.IndexFunc(c.Parameters, func(p capabilities.Parameter) bool { return p.Name == name })]
	said := strings.TrimSpace(strings.TrimSuffix(fmt.Sprint(value), "%"))
	if p.Type != "number" {
		if hex, ok := x.r.Catalog.Frames.Lists.Colours[strings.ToLower(said)]; ok && name == "colour" {
			return hex, nil
		}
		if name == "colour" && !catalog.HexColour(strings.ToLower(said)) {
			return nil, fmt.Errorf("colour: %q is none that is known here; write a name, like red, or #rrggbb", said)
		}
		return strings.ToLower(said), nil
	}
	n, err := strconv.ParseFloat(said, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return nil, fmt.Errorf("%s: %q is no number", name, fmt.Sprint(value))
	}
	l := &x.r.Catalog.Frames
	if i := slices.IndexFunc(l.Lists.Frames, func(f *catalog.Frame) bool { return f.Of == c && f.Change != 0 }); i >= 0 && name == "change" {
		n = math.Copysign(n, l.Lists.Frames[i].Change)
	}
	if why := p.Outside(n); why != "" {
		return nil, errors.New(why)
	}
	return n, nil
}

// fromMetadata puts the parameters of requires into a reading. What the text says must be the
// same.
func (x *request) fromMetadata(rd *reading) (capabilities.Outcome, bool) {
	w := x.demand.of(rd.Capability)
	if w == nil {
		return capabilities.Outcome{}, true
	}
	for _, a := range w.args {
		if said, ok := rd.args.Get(a.Key); ok && said != a.Value {
			x.disagrees = true
			return x.refuse(fmt.Sprintf("the text says %s %v, but requires says %v; make them agree", a.Key, said, a.Value), nil), false
		}
		rd.args = rd.args.Set(a.Key, a.Value)
		if rd.asks == a.Key {
			rd.asks = ""
		}
	}
	return capabilities.Outcome{}, true
}

// factual holds the metadata of a fact of the place to this home: where it is so, and of
// which things. Anything else nobody here can tell.
func (x *request) factual(meta any) error {
	o, ok := meta.(mess.Object)
	if !ok && meta != nil {
		return fmt.Errorf("its metadata is no mapping; write {areas: [...]}")
	}
	for _, f := range o {
		texts, ok := lexicon.TextList(f.Value)
		switch f.Key {
		case "executor": // the exchange has looked at it
			continue
		case "area", "areas", "room", "location":
			for _, name := range texts {
				if x.area(name) == "" {
					return fmt.Errorf("%s: there is no place %q here; there are %s", f.Key, name, oneOfMany(x.r.PlaceNames()))
				}
			}
		case "device", "devices":
			for _, name := range texts {
				if !slices.ContainsFunc(x.r.Site.Devices, func(d capabilities.Device) bool { return d.HasName(name) }) {
					return fmt.Errorf("%s: there is no %q here", f.Key, name)
				}
			}
		default:
			return fmt.Errorf("%s: nothing here can tell that of a fact of the place; known: areas, devices, executor", f.Key)
		}
		if !ok || len(texts) == 0 {
			return fmt.Errorf("%s: neither text nor a list of texts", f.Key)
		}
	}
	return nil
}

// demanded makes the outcome where requires names capabilities: the text may
// say less than a sentence, but nothing against it.
func (x *request) demanded() capabilities.Outcome {
	if able := x.able(x.readings); len(able) > 0 {
		return x.choose(able)
	}
	if out, ok := x.kin(); ok {
		return out
	}
	if out, ok := x.framesOfRequires(); ok {
		return out
	}
	if len(x.readings) > 0 {
		return x.contradicts()
	}
	if acts := x.shown(); len(acts) > 0 {
		return x.choose(acts)
	}
	if out, bad := x.constrained(); bad {
		return out
	}
	var able []reading
	for i := range x.demand.capabilities {
		w := &x.demand.capabilities[i]
		rd, out, ok := x.fromRequires(w)
		if !ok {
			return out
		}
		able = append(able, x.able([]reading{rd})...)
	}
	switch {
	case len(able) == 0:
		return x.refuse(fmt.Sprintf("requires: no device here is all of %s, as the request narrows it", strings.Join(x.demand.ids(), ", ")), nil)
	case len(able) > 1:
		return x.refuse(fmt.Sprintf("requires: %s are several tasks; make a request for each", strings.Join(x.demand.ids(), ", ")), nil)
	}
	return x.choose(able)
}

// kin reads a text that asks for what a capability of requires does as well, and leaves
// open how much of it, which its metadata say: "dim the light" may be to 40 percent.
func (x *request) kin() (capabilities.Outcome, bool) {
	if len(x.demand.capabilities) != 1 || len(x.demand.capabilities[0].args) == 0 || x.IsQuestion {
		return capabilities.Outcome{}, false
	}
	for i := range x.Tokens {
		if x.Words().CardinalEnd(x.Tokens, i) > i && x.Words().Fillers.Longest(x.Tokens, i) == 0 {
			return capabilities.Outcome{}, false
		}
	}
	w, req := &x.demand.capabilities[0], x.req
	req.Requires = nil
	o := x.r.said(req, x.given)
	c := x.r.Catalog.Find(o.Explain.Capability)
	if frame.HasValue(&x.Utterance, 0) || c == nil || c.Command != w.Command && !x.r.alike(c.ID, w.ID) || len(o.Explain.Leftover) > 0 {
		return capabilities.Outcome{}, false
	}
	rd := reading{Pattern: &grammar.Pattern{Capability: w.Capability, Text: "requires"}, how: lexicon.ByName}
	var meant [][]int
	if o.Plan != nil && len(o.Plan.Steps) == 0 && o.Plan.For == 0 && o.Plan.NotBefore.IsZero() {
		if d := x.r.Index.Device(o.Plan.Device); d >= 0 {
			meant = append(meant, []int{d})
		}
	}
	if o.Question != nil && o.Question.Field == "device" {
		for _, label := range o.Question.Options {
			meant = append(meant, x.r.Index.Labels[label])
		}
	}
	for _, d := range entity.Union(len(x.r.Index.Every), meant) {
		if x.r.CanDo(w.Capability, "", d) && x.demand.allows(x.r, w.Capability, x.r.Site.Devices[d]) {
			rd.devices = append(rd.devices, d)
		}
	}
	if len(rd.devices) == 0 {
		return capabilities.Outcome{}, false
	}
	return x.choose([]reading{rd}), true
}

// framesOfRequires reads a text by its words where requires names what to do.
func (x *request) framesOfRequires() (capabilities.Outcome, bool) {
	all, readings, explain := x.Tokens, x.readings, x.explain
	x.readings = nil
	if out, ok := x.plainly(); ok && (out.Refusal == nil || x.disagrees) {
		return out, true
	}
	x.SetTokens(all)
	x.readings, x.explain = readings, explain
	return capabilities.Outcome{}, false
}

// contradicts refuses text that asks for something else than requires.
func (x *request) contradicts() capabilities.Outcome {
	d := x.demand
	x.demand = demand{}
	able := x.able(x.readings)
	x.demand = d
	if len(able) == 0 {
		return x.notUnderstood()
	}
	return x.refuse(fmt.Sprintf("the text asks to %s, but requires asks for %s; make them agree",
		x.summary(&able[0]), strings.Join(d.ids(), ", ")), nil)
}

// fromRequires reads a text that is no sentence with what requires says. Words
// that order another capability are against it; so are names of other
// devices, which able sees. Words that nobody knows are let pass where requires
// says which device, unless the text is to be taken exactly.
func (x *request) fromRequires(w *wanted) (reading, capabilities.Outcome, bool) {
	rd := reading{Pattern: &grammar.Pattern{Capability: w.Capability, Text: "requires", Quantity: w.quantity}}
	if x.IsQuestion && w.Effect != capabilities.Query {
		return rd, x.refuse(fmt.Sprintf("a question never acts, and requires asks for %s; say it as an order", w.ID), nil), false
	}
	own := x.r.Catalog.WordsOf[w.ID]
	var leftover []string
	for i := 0; i < len(x.Tokens); {
		if n := x.mention(&rd, i); n > 0 {
			i += n
			continue
		}
		if n := x.Words().Fillers.Longest(x.Tokens, i); n > 0 {
			i += n
			continue
		}
		t := x.Tokens[i]
		if x.r.Catalog.OrderWords[t.Folded] && !own[t.Folded] {
			return rd, x.refuse(fmt.Sprintf("%q in the text does not go with %s in requires; make them agree", t.Text, w.ID), nil), false
		}
		if !own[t.Folded] {
			leftover = append(leftover, t.Text)
		}
		i++
	}
	x.explain.Leftover = leftover
	pinned := len(w.devices) > 0 || len(w.areas) > 0
	if len(leftover) > 0 && (!pinned || x.req.Precision == mess.Exact) {
		return rd, x.refuse(fmt.Sprintf("not understood: %s; leave it out, or say in requires which device", lexicon.QuoteList(leftover)), x.r.nearest(leftover)), false
	}
	return rd, capabilities.Outcome{}, true
}

// mention takes a name at word i into the reading, and returns its words.
func (x *request) mention(rd *reading, i int) int {
	for _, kind := range []string{"spot", "device", "view", "area"} {
		var best *lexicon.SlotValue
		list := x.FillSlot(kind, i)
		for k := range list {
			if kind != "area" && len(list[k].Devices) == 0 {
				continue // a class of which there is none here
			}
			if best == nil || list[k].End > best.End {
				best = &list[k]
			}
		}
		if best != nil && x.takes(rd, kind) {
			rd.slots = append(rd.slots, grammar.BoundSlot{Kind: kind, Name: kind, From: i, Match: best})
			rd.how, rd.all = max(rd.how, best.Specificity), rd.all || best.All
			return best.End - i
		}
	}
	return 0
}
