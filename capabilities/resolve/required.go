package resolve

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
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// ReadDemand reads requires and constraints. It reports a refusal of what cannot
// be had here.
func (x *Request) ReadDemand() (capabilities.Outcome, bool) {
	if out, bad := x.constraints(); bad {
		return out, true
	}
	var unknown []string
	for _, one := range x.Message.Requires {
		c := x.Resolver.Catalog.Find(one.ID)
		if slices.Contains(x.Resolver.Site.Facts, one.ID) {
			if err := x.factual(one.Meta); err != nil {
				return x.Reject(fmt.Sprintf("requires: %s: %v", one.ID, err), nil), true
			}
			continue
		}
		if c == nil {
			unknown = append(unknown, one.ID)
			continue
		}
		w := Wanted{Capability: c}
		if err := x.metadata(&w, one.Meta); err != nil {
			return x.Reject(fmt.Sprintf("requires: %s: %v", one.ID, err), nil), true
		}
		x.Demand.Capabilities = append(x.Demand.Capabilities, w)
	}
	// Others may stand beside a known one (access to the kitchen): the exchange
	// has matched those.
	if len(unknown) > 0 && x.Demand.Capabilities == nil {
		return x.Reject(fmt.Sprintf("requires: nothing here does %s; here are %s", strings.Join(unknown, ", "), strings.Join(x.Resolver.offered(), ", ")),
			x.Resolver.Nearest(unknown)), true
	}
	return capabilities.Outcome{}, false
}

// area is the place of the home that name is: an area, what a camera sees, or a
// spot to work on; "" if none.
func (x *Request) area(name string) string {
	tokens := x.Words().PlainTokens(name)
	found := ""
	for _, places := range []*lexicon.Trie[entity.NameMeaning]{x.Resolver.Names.Spots, x.Resolver.Names.Views, x.Resolver.Names.Areas} {
		places.Each(tokens, 0, func(end int, m entity.NameMeaning) {
			if end == len(tokens) && end > 0 {
				found = m.Last
			}
		})
	}
	return found
}

// metadata reads what a capability of requires is narrowed to.
func (x *Request) metadata(w *Wanted, meta any) error {
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
			w.Args = w.Args.Set(name, value)
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

func (x *Request) narrow(w *Wanted, key string, texts []string) error {
	switch key {
	case "device", "devices":
		w.Devices = texts
	case "area", "areas":
		w.Areas = texts
	case "quantity":
		if _, known := x.Resolver.Catalog.Quantities[texts[0]]; !known || len(texts) > 1 {
			return fmt.Errorf("quantity: %q is unknown; write one of %s", strings.Join(texts, ", "), strings.Join(lexicon.Keys(x.Resolver.Catalog.Quantities), ", "))
		}
		w.Quantity = texts[0]
	case "executor": // the exchange has looked at it
	case "for":
		d, err := mess.Duration(texts[0]).Duration()
		if err != nil || d <= 0 || d > lexicon.MaxDuration {
			return fmt.Errorf("for: %q is no length of time up to a year; write it like PT10M or 10m", texts[0])
		}
		x.Demand.duration = d
	default:
		return fmt.Errorf("%s: unknown metadata; known: %s", key, w.known())
	}
	return nil
}

// otherNames are other names of parameters.
var otherNames = map[string]string{"brightness": "level", "color": "colour"}

// parameter is the name of the parameter that a key of metadata means.
func (w *Wanted) parameter(key string) (name string, is bool) {
	return w.FindParameter(key, otherNames[key])
}

// valueOf reads a parameter as a plan bears it: a number within its range, or a colour.
// Less is less, whatever the sign: {dim: {change: 10}} is 10 percent darker.
func (x *Request) valueOf(c *grammar.Capability, name string, value any) (any, error) {
	p := c.Parameters[slices.IndexFunc(c.Parameters, func(p capabilities.Parameter) bool { return p.Name == name })]
	said := strings.TrimSpace(strings.TrimSuffix(fmt.Sprint(value), "%"))
	if p.Type != "number" {
		if hex, ok := x.Resolver.Catalog.Frames.Lists.Colours[strings.ToLower(said)]; ok && name == "colour" {
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
	l := &x.Resolver.Catalog.Frames
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
func (x *Request) fromMetadata(rd *Hypothesis) (capabilities.Outcome, bool) {
	w := x.Demand.of(rd.Capability)
	if w == nil {
		return capabilities.Outcome{}, true
	}
	for _, a := range w.Args {
		if said, ok := rd.Args.Get(a.Key); ok && said != a.Value {
			x.Disagrees = true
			return x.Reject(fmt.Sprintf("the text says %s %v, but requires says %v; make them agree", a.Key, said, a.Value), nil), false
		}
		rd.Args = rd.Args.Set(a.Key, a.Value)
		if rd.asks == a.Key {
			rd.asks = ""
		}
	}
	return capabilities.Outcome{}, true
}

// factual holds the metadata of a fact of the place to this home: where it is so, and of
// which things. Anything else nobody here can tell.
func (x *Request) factual(meta any) error {
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
					return fmt.Errorf("%s: there is no place %q here; there are %s", f.Key, name, oneOfMany(x.Resolver.PlaceNames()))
				}
			}
		case "device", "devices":
			for _, name := range texts {
				if !slices.ContainsFunc(x.Resolver.Site.Devices, func(d capabilities.Device) bool { return d.HasName(name) }) {
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

// Mention takes a name at word i into the reading, and returns its words.
func (x *Request) Mention(rd *Hypothesis, i int) int {
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
			rd.Slots = append(rd.Slots, grammar.BoundSlot{Kind: kind, Name: kind, From: i, Match: best})
			rd.How, rd.All = max(rd.How, best.Specificity), rd.All || best.All
			return best.End - i
		}
	}
	return 0
}
