package capabilities

import (
	"slices"
	"strings"
)

// Reports reports whether a device may measure a quantity.
func (d *Device) Reports(quantity string) bool {
	return d.Quantities == nil || slices.Contains(d.Quantities, quantity)
}

// HasName reports whether the device has the name.
func (d Device) HasName(name string) bool {
	return strings.EqualFold(d.Name, name) || strings.EqualFold(d.Label, name) ||
		slices.ContainsFunc(d.Aliases, func(a string) bool { return strings.EqualFold(a, name) })
}

// Prints reports whether the spots of a device are files.
func (d *Device) Prints() bool { return slices.Contains(d.Commands, Print) }
