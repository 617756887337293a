package drivers

import (
	"fmt"
	"slices"
	"strings"
)

// Registry is the kinds of drivers that a program knows. It is immutable and
// safe for concurrent use.
type Registry struct {
	kinds []Kind // sorted by name
}

// NewRegistry makes a registry of kinds. It panics where a kind has no name, no
// Open, or a name that is taken: these are mistakes in the program.
func NewRegistry(kinds []Kind) *Registry {
	r := &Registry{kinds: slices.SortedFunc(slices.Values(kinds), byName)}
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
	return Kind{}, &UnknownKindError{Kind: name, Nearest: nearest(name, known), Known: known}
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
	Nearest string   // the known name that a slip of the keys would explain; "" for none
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
