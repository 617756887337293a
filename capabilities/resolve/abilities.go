package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/mess"
)

// quantityText returns the name of a quantity in a sentence about a device.
func quantityText(quantity string) string {
	switch quantity {
	case "contact":
		return "whether it is open"
	case "lock":
		return "whether it is locked"
	case "motion":
		return "whether something moves"
	}
	return "its " + quantity
}

// someLabels returns the names of the devices for a person, at most four of them.
func (r *Resolver) someLabels(devices []int) string {
	labels := r.Labels(devices)
	if more := len(labels) - 4; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(labels[:4], ", "), more)
	}
	return strings.Join(labels, ", ")
}

// withArticle returns a class with its article: "an oven".
func withArticle(class string) string {
	if strings.ContainsRune("aeiou", rune(class[0])) {
		return "an " + lexicon.SpaceHyphens(class)
	}
	return "a " + lexicon.SpaceHyphens(class)
}

// abilities returns examples of requests for this home, and a reference to the full list.
func (r *Resolver) abilities() string { return r.AbilityText }

// exampleIDs are the capabilities that the examples show. The first three of this home
// count.
var exampleIDs = []string{"switch-on", "look", "vacuum-floor", "read-sensor", "open", "take-photo", "print-status", "start-appliance"}

// examples returns orders and questions that fit this home.
func (r *Resolver) examples() string {
	var list []string
	for _, id := range exampleIDs {
		c := r.Catalog.Find(id)
		if c == nil || len(list) == 3 {
			continue
		}
		for _, d := range r.Index.Fitting(func(d int) bool { return r.CanDo(c, "", d) && (id != "switch-on" || r.Class[d] == "light") }) {
			if say := r.Example(c, d, r.Site.Devices[d]); say != "" {
				list = append(list, fmt.Sprintf("%q", say))
				break
			}
		}
	}
	if len(list) == 0 {
		return "\"messkit capabilities\" lists all possible requests"
	}
	return fmt.Sprintf("ask like %s; \"messkit capabilities\" lists all possible requests", strings.Join(list, ", "))
}

// Example returns an order or question for a capability of a device. It is "" if the device
// observes nothing with a name.
func (r *Resolver) Example(c *grammar.Capability, d int, dev capabilities.Device) string {
	rd, areas := &Hypothesis{Pattern: &grammar.Pattern{Capability: c}}, []string(nil)
	if len(dev.WorkAreas) > 0 && c.Command == capabilities.Clean {
		areas = []string{dev.WorkAreas[0].Room}
	}
	switch {
	case len(dev.FieldOfView) > 0:
		rd.Slots = []grammar.BoundSlot{{Kind: "view", Name: "view", Match: &lexicon.SlotValue{Value: dev.FieldOfView[0]}}}
	case c.ID == "take-photo":
		return "take a photo with the " + r.Label(d)
	case c.ID == "look":
		return ""
	}
	return strings.TrimSuffix(r.planFor(rd, d, areas).Summary, " with the "+r.Label(d))
}

// abilitiesOf returns what device d can do.
func (r *Resolver) abilitiesOf(d int) string {
	can := r.descriptions(func(c *grammar.Capability) bool { return r.CanOffer(c, d) })
	return strings.ReplaceAll(strings.ReplaceAll(can, "something", "it"), "whether it is there", "whether something is there")
}

// descriptions returns the descriptions of the capabilities that fit.
func (r *Resolver) descriptions(can func(*grammar.Capability) bool) string {
	var list []string
	for _, c := range r.Catalog.Capabilities {
		if can(c) {
			list = append(list, c.Description)
		}
	}
	if len(list) == 0 {
		return "do nothing that this home knows"
	}
	return strings.Join(list, ", ")
}

// offeredIDs returns the IDs of the capabilities of this home.
func (r *Resolver) offeredIDs() []string { return slices.Clone(r.IDs) }

// Offers returns the offers of a home. It is faster than making a resolver for Resolver.Offers.
func Offers(c *catalog.Catalog, home capabilities.Home) []mess.Capability {
	return (&Resolver{Home: *entity.NewHomeWithoutNames(c, home)}).Offers()
}

// Offers returns the capabilities of the devices of this home as an executor registers them
// (MESS 1.0 section 8.3), with the devices and areas as metadata. If the risk depends on
// the class of a device, the metadata have the classes, too; parameters have their units and ranges.
func (r *Resolver) Offers() []mess.Capability {
	var list []mess.Capability
	for _, c := range r.Catalog.Capabilities {
		if can := r.Index.Fitting(func(d int) bool { return r.CanOffer(c, d) }); len(can) > 0 {
			devices, areas := r.offerOf(can)
			meta := mess.Object{{Key: "devices", Value: devices}}
			if len(areas) > 0 {
				meta = append(meta, mess.Field{Key: "areas", Value: areas})
			}
			if len(c.Risks) > 0 {
				meta = append(meta, mess.Field{Key: "classes", Value: r.classesOf(can)})
			}
			meta = append(meta, mess.Field{Key: "effect", Value: string(c.Effect)})
			if len(c.Parameters) > 0 {
				meta = append(meta, mess.Field{Key: "parameters", Value: parametersOf(c)})
			}
			list = append(list, mess.Capability{ID: c.ID, Meta: meta})
		}
	}
	for _, id := range r.Site.SiteCapabilities {
		list = append(list, mess.Capability{ID: id, Meta: mess.Object{{Key: "effect", Value: string(capabilities.Query)}}})
	}
	return list
}

// parametersOf returns the parameters of a capability by name, each with its unit and range.
func parametersOf(c *grammar.Capability) mess.Object {
	o := make(mess.Object, len(c.Parameters))
	for i, p := range c.Parameters {
		about := mess.Object{{Key: "type", Value: p.Type}}
		if p.Unit != "" {
			about = about.Set("unit", p.Unit)
		}
		if p.Min != nil {
			about = about.Set("min", *p.Min)
		}
		if p.Max != nil {
			about = about.Set("max", *p.Max)
		}
		o[i] = mess.Field{Key: p.Name, Value: about}
	}
	return o
}

// classesOf returns the classes of the devices by their names.
func (r *Resolver) classesOf(devices []int) mess.Object {
	o := make(mess.Object, len(devices))
	for i, d := range devices {
		o[i] = mess.Field{Key: r.Site.Devices[d].Name, Value: r.Site.Devices[d].Class}
	}
	return o
}

// offerOf returns the names of the devices that have a capability, and the places where
// they work.
func (r *Resolver) offerOf(can []int) (devices, areas []any) {
	places := map[string]bool{}
	for _, d := range can {
		dev := &r.Site.Devices[d]
		devices = append(devices, dev.Name)
		for _, place := range lexicon.Distinct(slices.Concat([]string{dev.Area}, entity.Rooms(dev.WorkAreas), dev.FieldOfView)) {
			places[strings.ToLower(place)] = true
		}
	}
	for _, place := range slices.Sorted(maps.Keys(places)) {
		areas = append(areas, place)
	}
	return devices, areas
}

// CanOffer reports whether device d has the capability for some quantity.
func (r *Resolver) CanOffer(c *grammar.Capability, d int) bool {
	if r.CanDo(c, "", d) {
		return true
	}
	for _, also := range c.Also {
		if r.CanDo(c, also.Quantity, d) {
			return true
		}
	}
	return false
}

// rangesText says which numbers devices of this home take, with their ranges.
func (r *Resolver) rangesText() string {
	var list []string
	for _, c := range r.Catalog.Capabilities {
		for _, p := range c.Parameters {
			if _, fixed := c.FixedArgs().Get(p.Name); !fixed && p.Type == "number" && p.Min != nil && p.Max != nil && r.reach(c) > 0 {
				list = append(list, fmt.Sprintf("%s: %s %v to %v %s", c.ID, p.Name, *p.Min, *p.Max, p.Unit))
			}
		}
	}
	if len(list) == 0 {
		return "nothing here takes a number"
	}
	return "these take a number here: " + strings.Join(list, "; ")
}

// Nearest returns the names that are near the words, otherwise the capabilities of this
// home.
func (r *Resolver) Nearest(words []string) []string {
	if list := r.NearestNames(words); len(list) > 0 {
		return list
	}
	return r.offeredIDs()
}

// NearestNames returns the names of this home that are nearest to the words.
func (r *Resolver) NearestNames(words []string) []string {
	type near struct {
		name string
		far  int
	}
	far := make([]int, len(r.SpelledNames.Names))
	asked := make([]lexicon.Spelling, len(words))
	for i, a := range words {
		asked[i] = lexicon.NewSpelling(strings.ToLower(a))
	}
	for i, b := range r.SpelledNames.Words {
		best := lexicon.MaxDistance
		for _, a := range asked {
			if a.MinDistance(b) < lexicon.MaxDistance {
				best = min(best, lexicon.Distance(a.Word, b.Word))
			}
		}
		for _, name := range r.SpelledNames.Of[i] {
			far[name] = max(far[name], lexicon.MaxDistance-best)
		}
	}
	var list []near
	for i, name := range r.SpelledNames.Names {
		if far[i] > 0 {
			list = append(list, near{name, lexicon.MaxDistance - far[i]})
		}
	}
	order.By(list, func(a, b near) int { return cmp.Compare(a.far, b.far) })
	var names []string
	for _, n := range list[:min(len(list), lexicon.MaxNearest)] {
		names = append(names, n.name)
	}
	return names
}

// closest returns the names that are closest to the text, at most MaxNearest of them and the
// closest first. It compares the words of the text with the words of a name, the words of a
// capability, and similar spellings. Equally close names keep their order.
func (x *Request) closest(names []string) []string {
	if len(names) < 2 {
		return names
	}
	words := make([]lexicon.Spelling, 0, len(x.Tokens))
	for _, t := range x.Tokens {
		if !slices.Contains(lexicon.MeaninglessWords, t.Folded) {
			words = append(words, lexicon.NewSpelling(t.Folded))
		}
	}
	var list []string
	var shares []float64 // of each in list
	known := x.Resolver.SpelledNames.CommonWords(words)
	for _, name := range names {
		share := known(name)
		if own := x.Resolver.Catalog.IDWords[name]; own != nil {
			share = lexicon.CommonWords(words, own, x.Resolver.Catalog.DescriptionWords[name])
		}
		at := len(list)
		for at > 0 && shares[at-1] < share {
			at--
		}
		if at < lexicon.MaxNearest {
			list, shares = slices.Insert(list, at, name), slices.Insert(shares, at, share)
			list, shares = list[:min(len(list), lexicon.MaxNearest)], shares[:min(len(list), lexicon.MaxNearest)]
		}
	}
	return list
}

// related returns the capabilities that share a word with the text. One letter may differ.
func (x *Request) related(ids []string) (list []string) {
	for _, id := range ids {
		if slices.ContainsFunc(x.Tokens, func(t lexicon.Token) bool {
			return !slices.Contains(lexicon.MeaninglessWords, t.Folded) && !slices.Contains(lexicon.PlacingWords, t.Folded) &&
				(slices.ContainsFunc(x.Resolver.Catalog.IDWords[id], func(own lexicon.Spelling) bool { return lexicon.Likeness(lexicon.NewSpelling(t.Folded), own) >= 0.75 }) || slices.Contains(x.Resolver.Catalog.DescriptionWords[id], t.Folded))
		}) {
			list = append(list, id)
		}
	}
	return list
}

func (r *Resolver) spell() (s lexicon.SpelledNames) {
	s.Names, s.At = r.allNames(), map[string]int{}
	s.Index, s.Has = make(map[string]int, len(s.Names)), make([][]int32, len(s.Names))
	for i, name := range s.Names {
		s.Index[name] = i
		s.Device = append(s.Device, len(r.Index.Labels[name]) > 0)
		for _, word := range lexicon.Distinct(lexicon.Split(name)) {
			n, known := s.At[word]
			if !known {
				n = len(s.Words)
				s.At[word], s.Words, s.Of = n, append(s.Words, lexicon.NewSpelling(word)), append(s.Of, nil)
			}
			s.Of[n] = append(s.Of[n], int32(i))
			s.Has[i] = append(s.Has[i], int32(n))
		}
	}
	return s
}

// devicesSharingWord returns the devices whose names have one of the words.
func (r *Resolver) devicesSharingWord(tokens []lexicon.Token) (list []string) {
	var found []int32
	for _, t := range tokens {
		if n, known := r.SpelledNames.At[t.Folded]; known && len(t.Folded) > 3 {
			found = append(found, r.SpelledNames.Of[n]...)
		}
	}
	slices.Sort(found)
	for _, i := range slices.Compact(found) {
		if r.SpelledNames.Device[i] {
			list = append(list, r.SpelledNames.Names[i])
		}
	}
	return list
}

func (r *Resolver) allNames() []string {
	var list []string
	for d, dev := range r.Site.Devices {
		list = append(list, r.Label(d), dev.Area)
		list = append(append(list, dev.FieldOfView...), entity.Rooms(dev.WorkAreas)...)
	}
	for _, c := range r.Catalog.Capabilities {
		list = append(list, c.ID)
	}
	return lexicon.Distinct(list)
}
