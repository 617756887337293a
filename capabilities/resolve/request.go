// Package resolve makes one plan, question or refusal of the hypotheses of a request. It finds
// the devices, fills the parameters, asks which of several devices the requester means, and
// says why no device can do the request. It reads one order. Package interpret divides a text
// into orders.
package resolve

import (
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/mess"
)

// Resolver chooses the devices of one home. It is immutable and safe for concurrent use.
type Resolver struct {
	entity.Home
	SpelledNames lexicon.SpelledNames
	AbilityText  string   // a short text about the abilities of this home
	IDs          []string // of the capabilities that it has
}

// NewResolver makes a resolver for a home, with an index of all names.
func NewResolver(c *catalog.Catalog, home capabilities.Home) *Resolver {
	r := &Resolver{Home: *entity.NewHome(c, home)}
	r.SpelledNames = r.spell()
	r.AbilityText = r.examples()
	for _, one := range c.Capabilities {
		if r.reach(one) > 0 {
			r.IDs = append(r.IDs, one.ID)
		}
	}
	r.IDs = append(r.IDs, home.SiteCapabilities...)
	return r
}

// Request is a request while its hypotheses become one plan, a question or a refusal. It is
// not safe for concurrent use.
type Request struct {
	entity.Utterance
	Resolver     *Resolver
	Message      mess.Request
	Whole        []lexicon.Token // the text, of which passes take parts away
	InQuotes     bool            // its order is in quotation marks
	Given        mess.Object     // answers to earlier questions, by field
	Demand       Demand          // of requires and constraints
	Hypotheses   []Hypothesis
	Explain      capabilities.Trace
	Wait         *WaitCondition // the condition to wait for; nil for none
	ImageWords   string         // the words that ask for an image after the act, "" for none
	Exclusion    *Exclusion     // the excluded things; nil for none
	UnknownWords []string       // a plan without these words needs a confirmation
	Corrections  []string       // the known word for each of UnknownWords, if it is misspelled
	Disagrees    bool           // its words say another parameter than requires
	MaxSkips     int            // the largest number of unknown words that a hypothesis may skip
}

// Executable returns the hypotheses that a device can carry out, the most specific first.
func (x *Request) Executable(all []Hypothesis) []Hypothesis {
	var list []Hypothesis
	for _, rd := range all {
		if !x.Demand.setQuantity(&rd) {
			continue
		}
		if rd.Devices = x.Candidates(&rd); len(rd.Devices) > 0 && !rd.IsPartial() {
			list = append(list, rd)
		}
	}
	if len(list) == 0 {
		for _, rd := range all {
			if rd.Devices = x.namedSensors(&rd); len(rd.Devices) > 0 && !rd.IsPartial() {
				list = append(list, rd)
			}
		}
	}
	order.By(list, func(a, b Hypothesis) int { return int(b.How - a.How) })
	return list
}

// namedSensors returns the named devices if the text asks for all their measurements, though
// their class is no sensor. A plug may measure its power, and a vacuum its battery.
func (x *Request) namedSensors(rd *Hypothesis) []int {
	c := rd.Capability
	if !c.MeasuresQuantity() || rd.Slot("device") == nil || rd.Value("quantity") != "" || !x.Demand.setQuantity(rd) {
		return nil
	}
	return x.devicesThat(rd, func(d int) bool {
		dev := &x.Resolver.Site.Devices[d]
		return dev.Quantities == nil && slices.Contains(dev.Commands, capabilities.ReadState) && rd.Pattern.Suits(x.Resolver.Class[d])
	})
}

// devicesThat returns the devices that fit among those that the words of a hypothesis and the
// demands of the request allow. It calls fits for one device of each kind.
func (x *Request) devicesThat(rd *Hypothesis, fits func(d int) bool) []int {
	var list []int
	if meant, named := x.namedDevices(rd); named {
		list = x.Resolver.Index.FittingAmong(meant, fits)
	} else {
		list = x.Resolver.Index.Fitting(fits)
	}
	if x.Demand.location == "" && x.Demand.Capabilities == nil {
		return list
	}
	return slices.DeleteFunc(list, func(d int) bool { return !x.Demand.Allows(rd.Capability, x.Resolver.Site.Devices[d]) })
}

// Candidates returns the devices that can execute the hypothesis.
func (x *Request) Candidates(rd *Hypothesis) []int {
	quantity := rd.Value("quantity")
	list := x.devicesThat(rd, func(d int) bool {
		return x.Resolver.CanDo(rd.Capability, quantity, d) && rd.Pattern.Suits(x.Resolver.Class[d])
	})
	full := x.Resolver.Index.FittingAmong(list, func(d int) bool {
		return slices.Contains(x.Resolver.Site.Devices[d].Commands, rd.Capability.Command)
	})
	if len(full) > 0 {
		list = full
	}
	if q := x.Resolver.Catalog.Quantities[quantity]; len(list) > 1 && rd.Slot("device") == nil {
		list = x.Resolver.firstClass(list, q.Classes)
	}
	if thing := rd.Value("thing"); len(list) > 1 && thing != "" && rd.Slot("view") == nil && rd.Slot("device") == nil {
		list = x.Resolver.whereKept(list, thing)
	}
	return list
}

// whereKept keeps the devices that see the place where people keep a thing.
func (r *Resolver) whereKept(list []int, thing string) []int {
	for place, things := range r.Catalog.Frames.Lists.Kept {
		if !slices.Contains(things, thing) {
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(list), func(d int) bool { return !slices.Contains(r.Site.Devices[d].FieldOfView, place) })
		if len(kept) > 0 {
			return kept
		}
	}
	return list
}

// firstClass keeps the devices of the first class that the home has: a thermometer knows
// the temperature of a room better than its heater.
func (r *Resolver) firstClass(list []int, classes []string) []int {
	for _, class := range classes {
		kept := slices.DeleteFunc(slices.Clone(list), func(d int) bool { return r.Class[d] != class })
		if len(kept) > 0 {
			return kept
		}
	}
	return list
}

// namedDevices returns the devices that the words of the hypothesis allow, in order. The result
// named is false if the words name neither a device nor a place, so that they allow any device.
func (x *Request) namedDevices(rd *Hypothesis) (list []int, named bool) {
	var lists [][]int
	for _, b := range rd.Slots {
		switch b.Kind {
		case "device", "view", "spot":
			lists = append(lists, b.Match.Devices)
		case "area":
			lists = append(lists, x.Resolver.Index.InArea(b.Match.Value))
		}
	}
	if len(lists) == 0 {
		return nil, false
	}
	least := slices.MinFunc(lists, func(a, b []int) int { return len(a) - len(b) })
	if list = least; !slices.IsSorted(list) {
		list = slices.Sorted(slices.Values(list))
	}
	for _, other := range lists {
		if len(list) > 0 && (len(other) != len(least) || &other[0] != &least[0]) {
			is := lexicon.MemberTest(other)
			list = slices.DeleteFunc(slices.Clone(list), func(d int) bool { return !is(d) })
		}
	}
	return list, true
}

// allows reports whether the words of the hypothesis allow device d.
func (x *Request) allows(rd *Hypothesis, d int) bool {
	for _, b := range rd.Slots {
		switch b.Kind {
		case "device", "view", "spot":
			if !slices.Contains(b.Match.Devices, d) {
				return false
			}
		case "area":
			if !x.Resolver.IsIn(d, b.Match.Value) {
				return false
			}
		}
	}
	return true
}
