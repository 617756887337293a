package drivers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/order"
)

// Registry is the kinds of drivers that a program knows. It is immutable and
// safe for concurrent use.
type Registry struct {
	kinds []Kind // sorted by name
}

// NewRegistry makes a registry of kinds. It panics where a kind has no name, no
// Open, or a name that is taken: these are mistakes in the program.
func NewRegistry(kinds []Kind) *Registry {
	r := &Registry{kinds: slices.Clone(kinds)}
	order.By(r.kinds, byName)
	for i, k := range r.kinds {
		switch {
		case k.Name == "":
			panic("drivers: a kind has no name")
		case k.Open == nil:
			panic(fmt.Sprintf("drivers: kind %q cannot be opened", k.Name))
		case i > 0 && r.kinds[i-1].Name == k.Name:
			panic(fmt.Sprintf("drivers: the name %q is taken twice", k.Name))
		}
	}
	return r
}

// Kinds returns every kind, sorted by name.
func (r *Registry) Kinds() []Kind { return slices.Clone(r.kinds) }

// Lookup returns the kind called name, or an *UnknownKindError.
func (r *Registry) Lookup(name string) (Kind, error) {
	i, ok := slices.BinarySearchFunc(r.kinds, Kind{Name: name}, byName)
	if ok {
		return r.kinds[i], nil
	}
	known := r.names()
	return Kind{}, &UnknownKindError{Kind: name, Nearest: cmp.Or(nearest(name, known), r.about(name)), Known: known}
}

// about is the kind of driver for what is called so, as a relay or a chip is by who
// owns it; "" where there is none, or several that are not simulated.
func (r *Registry) about(name string) (found string) {
	name = fold(name)
	if len(name) < 4 {
		return ""
	}
	for _, k := range r.kinds {
		if strings.HasPrefix(k.Name, "sim-") || !strings.Contains(fold(k.Name+" "+k.About), name) {
			continue
		}
		if found != "" {
			return ""
		}
		found = k.Name
	}
	return found
}

func (r *Registry) names() []string {
	names := make([]string, len(r.kinds))
	for i, k := range r.kinds {
		names[i] = k.Name
	}
	return names
}

func byName(a, b Kind) int { return strings.Compare(a.Name, b.Name) }

// UnknownKindError is what Lookup returns for a name that it does not know.
type UnknownKindError struct {
	Kind    string   // what was asked for
	Nearest string   // the known name that a slip of the keys would explain, or the only one that is for this; "" for none
	Known   []string // sorted
}

func (e *UnknownKindError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "unknown driver %q", e.Kind)
	if e.Nearest != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Nearest)
	}
	fmt.Fprintf(&b, "; known drivers: %s", strings.Join(e.Known, ", "))
	return b.String()
}
