package resolve

import (
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/mess"
)

// Demand is what a request asks for outside its text: requires, and the location of its
// constraints. It beats the text.
type Demand struct {
	Capabilities []Wanted // none: any
	location     string   // an area of this home; "" for anywhere
	duration     time.Duration
}

// Wanted is a capability of requires with its metadata. An empty field allows everything.
type Wanted struct {
	*grammar.Capability
	Devices  []string
	Areas    []string
	Quantity string
	Args     mess.Object // parameters
}

// knownKeys returns the keys that the metadata of a capability may have.
func (w *Wanted) knownKeys() string {
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
func (d *Demand) of(c *grammar.Capability) *Wanted {
	for i := range d.Capabilities {
		if d.Capabilities[i].Capability == c {
			return &d.Capabilities[i]
		}
	}
	return nil
}

// Allows reports whether the request allows a device for a capability.
func (d *Demand) Allows(r *Resolver, c *grammar.Capability, dev capabilities.Device) bool {
	if d.location != "" && !entity.Reaches(dev, d.location) {
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
	return named && !slices.ContainsFunc(w.Areas, func(area string) bool { return !entity.Reaches(dev, area) })
}

// setQuantity reports whether a reading asks for the quantity that the request demands of
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
