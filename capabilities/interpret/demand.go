package interpret

import (
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/mess"
)

// demand is what a request asks for outside its text: requires, and the
// location of its constraints. It beats the text.
type demand struct {
	capabilities []wanted // none: any
	location     string   // an area of this home; "" for anywhere
	duration     time.Duration
}

// wanted is a capability of requires with its metadata. Empty is any.
type wanted struct {
	*grammar.Capability
	devices  []string
	areas    []string
	quantity string
	args     mess.Object // parameters
}

// known are the keys that the metadata of a capability may have.
func (w *wanted) known() string {
	list := []string{"areas", "devices", "executor", "for", "quantity"}
	if w.Effect != capabilities.Query {
		for _, p := range w.Parameters {
			list = append(list, p.Name)
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// of is what is wanted of the capability, nil if it is not wanted.
func (d *demand) of(c *grammar.Capability) *wanted {
	for i := range d.capabilities {
		if d.capabilities[i].Capability == c {
			return &d.capabilities[i]
		}
	}
	return nil
}

// allows reports whether a device may be used for a capability.
func (d *demand) allows(r *Interpreter, c *grammar.Capability, dev capabilities.Device) bool {
	if d.location != "" && !entity.Reaches(dev, d.location) {
		return false
	}
	if d.capabilities == nil {
		return true
	}
	w := d.of(c)
	if w == nil {
		return false
	}
	named := len(w.devices) == 0 || slices.ContainsFunc(w.devices, func(name string) bool { return dev.HasName(name) })
	return named && !slices.ContainsFunc(w.areas, func(area string) bool { return !entity.Reaches(dev, area) })
}

// measures reports whether a reading asks for the quantity that is wanted of its
// capability, and has it ask for that where the text names none.
func (d *demand) measures(rd *reading) bool {
	w := d.of(rd.Capability)
	if w == nil || w.quantity == "" || rd.value("quantity") == w.quantity {
		return true
	}
	if rd.value("quantity") != "" {
		return false
	}
	one := *rd.Pattern
	one.Quantity, rd.Pattern = w.quantity, &one
	return true
}

func (d *demand) ids() []string {
	var list []string
	for _, w := range d.capabilities {
		list = append(list, w.ID)
	}
	return list
}

// takes reports whether a name of the kind means something to the capability.
func (x *request) takes(rd *reading, kind string) bool {
	switch kind {
	case "spot":
		return rd.Capability.Command == capabilities.Clean
	case "view":
		return rd.Capability.Command == capabilities.TakePhoto || rd.Capability.Command == capabilities.Observe
	}
	return true
}
