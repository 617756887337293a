package strictyaml

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

type field struct {
	name  string
	index []int
}

// fieldsOf lists the fields with a name; those of an embedded struct count as
// the outer one's.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" && name != "-" && f.IsExported() {
			fields = append(fields, field{name, f.Index})
		}
	}
	return fields
}

func names(fields []field) string {
	return strings.Join(slices.Sorted(slices.Values(namesOf(fields))), ", ")
}

// suggest returns the known key that differs from the unknown one by a slip.
func suggest(key string, known []field) string {
	for _, f := range known {
		if f.name != key && isOneEditAway(key, f.name) {
			return fmt.Sprintf(" (did you mean %s?)", f.name)
		}
	}
	return ""
}

// Meant returns a suggestion for an unknown key of a struct: " (did you mean class?)", ""
// for none.
func Meant(key string, of any) string { return suggest(key, fieldsOf(reflect.TypeOf(of))) }

// isOneEditAway reports whether a and b differ by one added, missing, changed or swapped letter.
func isOneEditAway(a, b string) bool {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	a, b = a[i:], b[i:]
	switch len(a) - len(b) {
	case 1:
		return a[1:] == b
	case -1:
		return a == b[1:]
	case 0:
		return a != "" && (a[1:] == b[1:] || len(a) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:])
	}
	return false
}

// Keys lists the keys of a struct, in order.
func Keys(of any) []string { return namesOf(fieldsOf(reflect.TypeOf(of))) }

func namesOf(fields []field) []string {
	list := make([]string, len(fields))
	for i, f := range fields {
		list[i] = f.name
	}
	return list
}
