package format

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
)

// check returns the errors of an object, by a table of fields.
func check(v *strictyaml.Value, table []field, p Profile) []string {
	var wrong []string
	for _, f := range table {
		at, there := find(v, f.path)
		switch {
		case !there: // the parent is missing or no object, and has an error of its own
		case at == nil || at.Kind == strictyaml.Null:
			if f.need == decisive || f.need == required && p == Strict {
				wrong = append(wrong, "Missing required field: "+f.path)
			}
		default:
			if text := f.wrong(at); text != "" {
				wrong = append(wrong, fmt.Sprintf("Field %s: %s", f.path, text))
			}
		}
	}
	return wrong
}

// find returns the value at a path. there is false if its parent does not exist.
func find(v *strictyaml.Value, path string) (at *strictyaml.Value, there bool) {
	for key := range strings.SplitSeq(path, ".") {
		if v == nil || v.Kind != strictyaml.Map {
			return nil, false
		}
		v = v.Get(key)
	}
	return v, true
}

// wrong returns why a value is invalid, "" if it is valid.
func (f field) wrong(v *strictyaml.Value) string {
	switch f.kind {
	case text, words, date:
		return f.wrongText(v)
	case number:
		return f.wrongNumber(v)
	case truth:
		return unless(v.Kind == strictyaml.Bool, "is not true or false")
	case object:
		return unless(v.Kind == strictyaml.Map, "is not an object")
	case list:
		return unless(v.Kind == strictyaml.List, "is not an array")
	case objects:
		return unless(all(v, strictyaml.Map), "is not an array of objects")
	case some:
		return unless(all(v, strictyaml.String) && len(v.List) > 0, "is not an array of at least one string")
	}
	return unless(all(v, strictyaml.String), "is not an array of strings")
}

func (f field) wrongText(v *strictyaml.Value) string {
	switch {
	case v.Kind != strictyaml.String:
		return "is not a string"
	case f.kind != words && v.Text == "":
		return "is empty"
	case f.of != nil && !slices.Contains(f.of, v.Text):
		return fmt.Sprintf("%.60q is not one of %s", v.Text, strings.Join(f.of, ", "))
	}
	if f.kind == date {
		if _, err := mess.Time(v.Text).Time(); err != nil {
			return fmt.Sprintf("%.60q is not a time with its offset, like 2025-12-25T12:00:00Z", v.Text)
		}
	}
	return ""
}

func (f field) wrongNumber(v *strictyaml.Value) string {
	n, err := strconv.ParseFloat(v.Text, 64)
	switch {
	case v.Kind != strictyaml.Number || err != nil:
		return "is not a number"
	case n < f.low, f.over && n == f.low, f.high > 0 && n > f.high:
		return fmt.Sprintf("%.20s is out of range", v.Text)
	}
	return ""
}

func unless(ok bool, text string) string {
	if ok {
		return ""
	}
	return text
}

// all reports whether v is a list of values of one kind.
func all(v *strictyaml.Value, k strictyaml.Kind) bool {
	return v.Kind == strictyaml.List && !slices.ContainsFunc(v.List, func(one *strictyaml.Value) bool { return one.Kind != k })
}
