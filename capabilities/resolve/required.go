package resolve

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// ReadDemand reads requires and constraints. It refuses what this home does not have.
func (x *Request) ReadDemand() (capabilities.Outcome, bool) {
	if out, bad := x.readConstraints(); bad {
		return out, true
	}
	var unknown []string
	for _, one := range x.Message.Requires {
		c := x.Resolver.Catalog.Find(one.ID)
		if slices.Contains(x.Resolver.Site.SiteCapabilities, one.ID) {
			if err := x.checkSiteCapability(one.Meta); err != nil {
				return x.Reject(fmt.Sprintf("requires: %s: %v", one.ID, err), nil), true
			}
			continue
		}
		if c == nil {
			unknown = append(unknown, one.ID)
			continue
		}
		w := RequiredCapability{Capability: c}
		if err := x.readMetadata(&w, one.Meta); err != nil {
			return x.Reject(fmt.Sprintf("requires: %s: %v", one.ID, err), nil), true
		}
		x.Demand.Capabilities = append(x.Demand.Capabilities, w)
	}
	// Next to a known capability, others are allowed (access to the kitchen): the exchange has
	// matched those.
	if len(unknown) > 0 && x.Demand.Capabilities == nil {
		return x.Reject(fmt.Sprintf("requires: nothing here does %s; here are %s", strings.Join(unknown, ", "), strings.Join(x.Resolver.offeredIDs(), ", ")),
			x.Resolver.Nearest(unknown)), true
	}
	return capabilities.Outcome{}, false
}

// placeOf returns the place of the home with a name: an area, the view of a camera, or a
// spot to work on. It is "" if there is none.
func (x *Request) placeOf(name string) string {
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

// readMetadata reads the metadata of a capability in requires.
func (x *Request) readMetadata(w *RequiredCapability, meta any) error {
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
			return fmt.Errorf("%s: neither text nor a list of texts, and no parameter of it; known: %s", f.Key, w.knownKeys())
		}
		if err := x.readKey(w, f.Key, texts); err != nil {
			return err
		}
	}
	return nil
}

// readKey reads one key of the metadata.
func (x *Request) readKey(w *RequiredCapability, key string, texts []string) error {
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
		return fmt.Errorf("%s: unknown metadata; known: %s", key, w.knownKeys())
	}
	return nil
}

// otherNames are other names of parameters.
var otherNames = map[string]string{"brightness": "level", "color": "colour"}

// parameter returns the name of the parameter for a key of the metadata.
func (w *RequiredCapability) parameter(key string) (name string, is bool) {
	return w.FindParameter(key, otherNames[key])
}

// valueOf reads the value of a parameter as a plan has it: a number within its range, or a
// color. The sign of a difference comes from the capability: {dim: {change: 10}} is 10
// percent darker.
func (x *Request) valueOf(c *grammar.Capability, name string, value any) (any, error) {
	p := c.Parameters[slices.IndexFunc(c.Parameters, func(p capabilities.Parameter) bool { return p.Name == name })]
	text := strings.TrimSpace(strings.TrimSuffix(fmt.Sprint(value), "%"))
	if p.Type != "number" {
		if hex, ok := x.Resolver.Catalog.Frames.Lists.Colors[strings.ToLower(text)]; ok && name == "colour" {
			return hex, nil
		}
		if name == "colour" && !catalog.IsHexColor(strings.ToLower(text)) {
			return nil, fmt.Errorf("colour: %q is no known color; write a name, like red, or #rrggbb", text)
		}
		return strings.ToLower(text), nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return nil, fmt.Errorf("%s: %q is no number", name, fmt.Sprint(value))
	}
	l := &x.Resolver.Catalog.Frames
	if i := slices.IndexFunc(l.Lists.Frames, func(f *catalog.Frame) bool { return f.Of == c && f.Change != 0 }); i >= 0 && name == "change" {
		n = math.Copysign(n, l.Lists.Frames[i].Change)
	}
	if reason := p.RangeError(n); reason != "" {
		return nil, errors.New(reason)
	}
	return n, nil
}

// applyMetadata puts the parameters of requires into a hypothesis. It refuses a text with
// other values.
func (x *Request) applyMetadata(rd *Hypothesis) (capabilities.Outcome, bool) {
	w := x.Demand.of(rd.Capability)
	if w == nil {
		return capabilities.Outcome{}, true
	}
	for _, a := range w.Args {
		if inText, ok := rd.Args.Get(a.Key); ok && inText != a.Value {
			x.Disagrees = true
			return x.Reject(fmt.Sprintf("the text says %s %v, but requires says %v; make them agree", a.Key, inText, a.Value), nil), false
		}
		rd.Args = rd.Args.Set(a.Key, a.Value)
		if rd.asks == a.Key {
			rd.asks = ""
		}
	}
	return capabilities.Outcome{}, true
}

// checkSiteCapability checks the metadata of a site capability: where it holds, and for
// which devices. It refuses any other key.
func (x *Request) checkSiteCapability(meta any) error {
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
				if x.placeOf(name) == "" {
					return fmt.Errorf("%s: there is no place %q here; there are %s", f.Key, name, listPlaces(x.Resolver.PlaceNames()))
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

// ReadName reads a name at word i into the hypothesis, and returns the number of its words.
func (x *Request) ReadName(rd *Hypothesis, i int) int {
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

// Demand holds the demands of a request outside its text: requires, and the location of its
// constraints. It has priority over the text.
type Demand struct {
	Capabilities []RequiredCapability // none: any
	location     string               // an area of this home; "" for anywhere
	duration     time.Duration
}

// RequiredCapability is a capability of requires with its metadata. An empty field allows
// everything.
type RequiredCapability struct {
	*grammar.Capability
	Devices  []string
	Areas    []string
	Quantity string
	Args     mess.Object // parameters
}

// knownKeys returns the keys that the metadata of a capability may have.
func (w *RequiredCapability) knownKeys() string {
	list := []string{"areas", "devices", "executor", "for", "quantity"}
	if w.Effect != capabilities.Query {
		for _, p := range w.Parameters {
			list = append(list, p.Name)
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// of returns the demand for the capability, or nil if there is none.
func (d *Demand) of(c *grammar.Capability) *RequiredCapability {
	for i := range d.Capabilities {
		if d.Capabilities[i].Capability == c {
			return &d.Capabilities[i]
		}
	}
	return nil
}

// Allows reports whether the request allows a device for a capability.
func (d *Demand) Allows(c *grammar.Capability, dev capabilities.Device) bool {
	if d.location != "" && !entity.IsAtPlace(dev, d.location) {
		return false
	}
	if d.Capabilities == nil {
		return true
	}
	w := d.of(c)
	if w == nil {
		return false
	}
	named := len(w.Devices) == 0 || slices.ContainsFunc(w.Devices, func(name string) bool { return dev.HasName(name) })
	return named && !slices.ContainsFunc(w.Areas, func(area string) bool { return !entity.IsAtPlace(dev, area) })
}

// setQuantity reports whether a hypothesis asks for the quantity that the request demands of
// its capability. If the text names no quantity, it sets the demanded one.
func (d *Demand) setQuantity(rd *Hypothesis) bool {
	w := d.of(rd.Capability)
	if w == nil || w.Quantity == "" || rd.Value("quantity") == w.Quantity {
		return true
	}
	if rd.Value("quantity") != "" {
		return false
	}
	one := *rd.Pattern
	one.Quantity, rd.Pattern = w.Quantity, &one
	return true
}

// IDs returns the IDs of the required capabilities.
func (d *Demand) IDs() []string {
	var list []string
	for _, w := range d.Capabilities {
		list = append(list, w.ID)
	}
	return list
}

// takes reports whether a name of the kind means something to the capability.
func (x *Request) takes(rd *Hypothesis, kind string) bool {
	switch kind {
	case "spot":
		return rd.Capability.Command == capabilities.Clean
	case "view":
		return rd.Capability.Command == capabilities.TakePhoto || rd.Capability.Command == capabilities.Observe
	}
	return true
}
