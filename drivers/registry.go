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

// nearest returns the one of names that is most similar to name, or "" if none is similar.
// Of equally similar names it returns the first.
func nearest(name string, names []string) string {
	best, least := "", allowed(name)+1
	for _, n := range names {
		if d := distance(fold(name), fold(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// allowed returns how many typing errors a name of this length may contain: one in every
// three letters. With more, a guess would be random.
func allowed(name string) int { return (len([]rune(fold(name))) + 2) / 3 }

// fold removes case, hyphens, underscores and spaces, which people rarely remember.
func fold(name string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
}

// distance counts the letters to insert, remove, replace or swap with their neighbor to
// turn a into b (optimal string alignment).
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	var before []int // the row before row
	row := make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i := range s {
		next := make([]int, len(t)+1)
		next[0] = i + 1
		for j := range t {
			cost := 1
			if s[i] == t[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(t)]
}
