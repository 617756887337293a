package drivers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/order"
)

// Registry contains the kinds of drivers that a program knows. It is immutable and safe for
// concurrent use.
type Registry struct {
	kinds []Kind // sorted by name
}

// NewRegistry returns a registry of kinds. It panics if a kind has no name or no Open, or
// if two kinds have the same name: these are errors of the program.
func NewRegistry(kinds []Kind) *Registry {
	r := &Registry{kinds: slices.Clone(kinds)}
	order.By(r.kinds, byName)
	for i, k := range r.kinds {
		switch {
		case k.Name == "":
			panic("drivers: a kind has no name")
		case k.Open == nil:
			panic(fmt.Sprintf("drivers: kind %q has no Open function", k.Name))
		case i > 0 && r.kinds[i-1].Name == k.Name:
			panic(fmt.Sprintf("drivers: two kinds have the name %q", k.Name))
		}
	}
	return r
}

// Kinds returns every kind, sorted by name.
func (r *Registry) Kinds() []Kind { return slices.Clone(r.kinds) }

// Lookup returns the kind with this name, or an *UnknownKindError.
func (r *Registry) Lookup(name string) (Kind, error) {
	i, ok := slices.BinarySearchFunc(r.kinds, Kind{Name: name}, byName)
	if ok {
		return r.kinds[i], nil
	}
	known := r.names()
	return Kind{}, &UnknownKindError{Kind: name, Nearest: cmp.Or(nearest(name, known), r.about(name)), Known: known}
}

// about returns the only kind whose name or description contains name, such as a type of
// chip. It returns "" if there is none or several. It ignores simulated kinds.
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

// UnknownKindError is the error of Lookup for an unknown name.
type UnknownKindError struct {
	Kind    string   // the name that Lookup searched for
	Nearest string   // the most similar known name, or else the only kind that mentions the name; "" for none
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
