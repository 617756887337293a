package family

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

// Values are what stands for the {names} in a template.
type Values map[string]string

// With is v and more.
func (v Values) With(more Values) Values {
	all := maps.Clone(v)
	if all == nil {
		all = Values{}
	}
	maps.Copy(all, more)
	return all
}

// gap is a {name} in a template.
var gap = regexp.MustCompile(`\{[A-Za-z_][A-Za-z0-9_]*\}`)

// Gaps lists the names in a template's text.
func Gaps(s string) []string {
	var names []string
	for _, g := range gap.FindAllString(s, -1) {
		names = append(names, g[1:len(g)-1])
	}
	return names
}

// GapsIn lists the names in a body of JSON.
func GapsIn(body any) []string {
	switch body := body.(type) {
	case string:
		return Gaps(body)
	case []any:
		var all []string
		for _, one := range body {
			all = append(all, GapsIn(one)...)
		}
		return all
	case map[string]any:
		var all []string
		for k, one := range body {
			all = append(all, append(GapsIn(one), Gaps(k)...)...)
		}
		slices.Sort(all)
		return all
	}
	return nil
}

// Needed tells that what goes to a device has none of the names that it is there
// for: a timer that is not told its time would never end.
func Needed(where string, filled, names []string) error {
	if len(names) == 0 || slices.ContainsFunc(filled, func(g string) bool { return slices.Contains(names, g) }) {
		return nil
	}
	return fmt.Errorf("%s: the device is not told what is wanted of it; write {%s} where it belongs", where, strings.Join(names, "}, {"))
}

// Text fills the gaps of s as they are.
func (v Values) Text(s string) string { return v.fill(s, func(one string) string { return one }) }

// URL fills the gaps of a path with its query. A value may name folders in a
// path, and cannot end the path or a field of the query.
func (v Values) URL(s string) string {
	path, query, asks := strings.Cut(s, "?")
	path = v.fill(path, func(one string) string {
		parts := strings.Split(one, "/")
		for i, p := range parts {
			parts[i] = url.PathEscape(p)
			if p == "." || p == ".." { // RFC 3986 §5.2.4 would take it for a way up
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

// JSON fills the gaps in a body. A text that is nothing but a gap becomes a
// number where the value is one.
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

// numbers are the gaps whose values are numbers by nature. A file may be called
// 42.gcode or 42, and is a text.
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

// Param is something that a configuration may say under with:, for a {name} in
// the template.
type Param struct {
	About   string  `yaml:"about"`
	Default *string `yaml:"default"` // none: it has to be said; "{name}": what name is
	// Same are values that mean what another does: {"1": ""}.
	Same  map[string]string `yaml:"same"`
	Match string            `yaml:"match"` // a regular expression for the whole value; "": letters, digits and . _ : -
}

// plainValue is what a value may be unless its Param says otherwise: what is no
// part of the grammar of addresses, topics and JSON.
const plainValue = `[A-Za-z0-9._:-]*`

// Validate tells what cannot be.
func (p Param) Validate() error {
	if _, err := regexp.Compile(p.Match); err != nil {
		return fmt.Errorf("match: %w", err)
	}
	if d := p.Default; d != nil && !gap.MatchString(*d) && !p.fits(*d) {
		return fmt.Errorf("default: %q is not what match lets through: %s", *d, p.pattern())
	}
	return nil
}

func (p Param) pattern() string { return cmp.Or(p.Match, plainValue) }

// fits reports whether it may be a value. A pattern that cannot be read is told by
// Validate.
func (p Param) fits(value string) bool {
	re, err := regexp.Compile(`^(?:` + p.pattern() + `)$`)
	return err != nil || re.MatchString(value)
}

// wants says what a value may be, for a person.
func (p Param) wants() string { return cmp.Or(p.About, "write what fits "+p.pattern()) }

// Same are values with one of all that mean the same, by which two devices can be told
// apart.
func (v Values) Same(params map[string]Param) Values {
	one := v.With(nil)
	for name, p := range params {
		if other, ok := p.Same[v[name]]; ok {
			one[name] = other
		}
	}
	return one
}

// Resolve makes the values of a device from what its configuration says. Each
// mistake begins with its key.
func Resolve(params map[string]Param, said map[string]string) (Values, []error) {
	v := Values{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(said)) {
		if _, known := params[name]; !known {
			errs = append(errs, fmt.Errorf("with: there is no %q in this family; known: %s", name, strings.Join(slices.Sorted(maps.Keys(params)), ", ")))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		p := params[name]
		value, ok := said[name]
		switch {
		case !ok && p.Default == nil:
			errs = append(errs, fmt.Errorf("with: %s is missing: %s", name, p.wants()))
			continue
		case !ok && gap.MatchString(*p.Default):
			continue // when the others are known
		case !ok:
			value = *p.Default
		}
		if !p.fits(value) {
			errs = append(errs, fmt.Errorf("with: %s: %q cannot be; %s", name, value, p.wants()))
		}
		v[name] = value
	}
	for name, p := range params {
		if _, ok := said[name]; !ok && p.Default != nil && gap.MatchString(*p.Default) {
			v[name] = Values(said).Text(*p.Default)
		}
	}
	return v, errs
}
