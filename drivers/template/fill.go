package template

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Values maps the {names} of a template to their values.
type Values map[string]string

// With returns a copy of v with the entries of more.
func (v Values) With(more Values) Values {
	all := maps.Clone(v)
	if all == nil {
		all = Values{}
	}
	maps.Copy(all, more)
	return all
}

// gap matches a {name} in a template.
var gap = regexp.MustCompile(`\{[A-Za-z_][A-Za-z0-9_]*\}`)

// Placeholders lists the names in a text of a template.
func Placeholders(s string) []string {
	var names []string
	for _, g := range gap.FindAllString(s, -1) {
		names = append(names, g[1:len(g)-1])
	}
	return names
}

// PlaceholdersIn lists the names in a JSON body.
func PlaceholdersIn(body any) []string {
	switch body := body.(type) {
	case string:
		return Placeholders(body)
	case []any:
		var all []string
		for _, one := range body {
			all = append(all, PlaceholdersIn(one)...)
		}
		return all
	case map[string]any:
		var all []string
		for k, one := range body {
			all = append(all, append(PlaceholdersIn(one), Placeholders(k)...)...)
		}
		slices.Sort(all)
		return all
	}
	return nil
}

// RequirePlaceholder returns an error if a message to the device contains none of the names
// that it exists for. A timer command without a time, for example, would never end.
func RequirePlaceholder(where string, filled, names []string) error {
	if len(names) == 0 || slices.ContainsFunc(filled, func(g string) bool { return slices.Contains(names, g) }) {
		return nil
	}
	return fmt.Errorf("%s: the message does not contain the value for the device; write {%s} in its place", where, strings.Join(names, "}, {"))
}

// Text replaces the placeholders of s without escapes.
func (v Values) Text(s string) string { return v.fill(s, func(one string) string { return one }) }

// URL replaces the placeholders of a path with its query. A value may contain folders of a
// path. It cannot end the path or a query field.
func (v Values) URL(s string) string {
	path, query, asks := strings.Cut(s, "?")
	path = v.fill(path, func(one string) string {
		parts := strings.Split(one, "/")
		for i, p := range parts {
			parts[i] = url.PathEscape(p)
			if p == "." || p == ".." { // a client would take it for the parent folder (RFC 3986 §5.2.4)
				parts[i] = strings.ReplaceAll(p, ".", "%2E")
			}
		}
		return strings.Join(parts, "/")
	})
	if !asks {
		return path
	}
	return path + "?" + v.fill(query, func(one string) string { return strings.ReplaceAll(url.QueryEscape(one), "+", "%20") })
}

// JSON replaces the placeholders in a body. A string that consists of one numeric
// placeholder becomes a number.
func (v Values) JSON(body any) any {
	switch body := body.(type) {
	case string:
		if gap.FindString(body) == body && body != "" {
			if f, err := strconv.ParseFloat(v.Text(body), 64); err == nil && numeric(body) && !math.IsNaN(f) && !math.IsInf(f, 0) {
				return f
			}
		}
		return v.Text(body)
	case []any:
		list := make([]any, len(body))
		for i, one := range body {
			list[i] = v.JSON(one)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(body))
		for k, one := range body {
			m[v.Text(k)] = v.JSON(one)
		}
		return m
	}
	return body
}

// numbers lists the placeholders whose values are numbers. Other values stay strings, such
// as the file name 42.
var numbers = []string{"{for}", "{level}", "{red}", "{green}", "{blue}", "{channel}", "{position}", "{kelvin}", "{mireds}"}

func numeric(g string) bool { return slices.Contains(numbers, g) }

func (v Values) fill(s string, escape func(string) string) string {
	return gap.ReplaceAllStringFunc(s, func(g string) string {
		if one, ok := v[g[1:len(g)-1]]; ok {
			return escape(one)
		}
		return g
	})
}

// Param describes a value under with: for a {name} of the template.
type Param struct {
	About   string  `yaml:"about"`
	Default *string `yaml:"default"` // nil: the configuration must set it; "{name}": the value of name
	// Same maps values to an equivalent value: {"1": ""}.
	Same  map[string]string `yaml:"same"`
	Match string            `yaml:"match"` // regular expression for the whole value; "": letters, digits and . _ : -
}

// plainValue matches the values that a Param allows by default. They contain no syntax of
// addresses, topics or JSON.
const plainValue = `[A-Za-z0-9._:-]*`

// Validate returns the first error in the description.
func (p Param) Validate() error {
	if _, err := regexp.Compile(p.Match); err != nil {
		return fmt.Errorf("match: %w", err)
	}
	if d := p.Default; d != nil && !gap.MatchString(*d) && !p.fits(*d) {
		return fmt.Errorf("default: %q does not match %s", *d, p.pattern())
	}
	return nil
}

func (p Param) pattern() string { return cmp.Or(p.Match, plainValue) }

// fits reports whether value is allowed. It allows every value if the pattern is invalid,
// because Validate reports that.
func (p Param) fits(value string) bool {
	re, err := regexp.Compile(`^(?:` + p.pattern() + `)$`)
	return err != nil || re.MatchString(value)
}

// wants describes the allowed values for people.
func (p Param) wants() string { return cmp.Or(p.About, "write a value that matches "+p.pattern()) }

// Same replaces values by their equivalents, so that a caller can compare the values of two
// devices.
func (v Values) Same(params map[string]Param) Values {
	one := v.With(nil)
	for name, p := range params {
		if other, ok := p.Same[v[name]]; ok {
			one[name] = other
		}
	}
	return one
}

// Resolve returns the values of a device for the entries of its configuration. Each error
// begins with its key.
func Resolve(params map[string]Param, given map[string]string) (Values, []error) {
	v := Values{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, known := params[name]; !known {
			errs = append(errs, fmt.Errorf("with: this family has no %q; known: %s", name, strings.Join(slices.Sorted(maps.Keys(params)), ", ")))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		p := params[name]
		value, ok := given[name]
		switch {
		case !ok && p.Default == nil:
			errs = append(errs, fmt.Errorf("with: %s is missing: %s", name, p.wants()))
			continue
		case !ok && gap.MatchString(*p.Default):
			continue // set below, when the other values are known
		case !ok:
			value = *p.Default
		}
		if !p.fits(value) {
			errs = append(errs, fmt.Errorf("with: %s: %q is invalid; %s", name, value, p.wants()))
		}
		v[name] = value
	}
	for name, p := range params {
		if _, ok := given[name]; !ok && p.Default != nil && gap.MatchString(*p.Default) {
			v[name] = Values(given).Text(*p.Default)
		}
	}
	return v, errs
}
