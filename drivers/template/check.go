package template

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// CheckPlace returns an error for an invalid path to a value in an answer. "" is valid and
// means the whole answer.
func CheckPlace(where, place string, with map[string]Param) error {
	switch {
	case place == "":
		return nil
	case slices.Contains(strings.Split(place, "."), ""):
		return fmt.Errorf("%s: %q has a dot without a key next to it; write keys and numbers of list items with one dot between them, like meters.0.power", where, place)
	case strings.ContainsAny(place, "[]"):
		return fmt.Errorf("%s: %q has brackets; write the number of a list item after a dot, like meters.0.power", where, place)
	}
	return errors.Join(CheckPlaceholders(where, Placeholders(place), with)...)
}

// CheckPlaceholders returns an error for each name in gaps without a value. own lists the names
// that messkit sets.
func CheckPlaceholders(where string, gaps []string, with map[string]Param, own ...string) []error {
	var errs []error
	for _, g := range gaps {
		if _, known := with[g]; !known && !slices.Contains(own, g) {
			errs = append(errs, fmt.Errorf("%s: {%s} has no value; add the name under with", where, g))
		}
	}
	return errs
}

// CheckAbout returns an error for an invalid address of the manufacturer's documentation.
// "" is valid and means none.
func CheckAbout(docs string) error {
	if u, err := url.Parse(docs); docs != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "") {
		return fmt.Errorf("docs: %q is not a web address; write the address of the manufacturer's description of the messages, or omit the key", docs)
	}
	return nil
}

// CheckOff returns an error if the messages for on and off are equal, because the driver
// could then not select the state.
func CheckOff(on, off any) error {
	if reflect.DeepEqual(on, off) && reflect.ValueOf(on).Len() > 0 {
		return errors.New("switch.off: equal to switch.on; write the message that turns the device off. This driver does not support a device that only toggles")
	}
	return nil
}

// CheckLevel returns the errors in the words for on and off.
func CheckLevel(where string, l Level, with map[string]Param) []error {
	errs := []error{CheckPlace(where+".value", l.Value, with)}
	on, off := l.words()
	for _, word := range on {
		if slices.Contains(off, word) {
			errs = append(errs, fmt.Errorf("%s: %q is a word for on and for off; use different words for on and off", where, word))
		}
	}
	return errs
}

// CheckNames returns an error for each name under with that cannot be a {placeholder}.
func CheckNames(with map[string]Param, own ...string) []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(with)) {
		switch {
		case !slices.Equal(Placeholders("{"+name+"}"), []string{name}):
			errs = append(errs, fmt.Errorf("with.%s: {%s} is not a valid placeholder; use only letters, digits and _", name, name))
		case slices.Contains(own, name):
			errs = append(errs, fmt.Errorf("with.%s: messkit sets {%s} itself; use another name", name, name))
		}
	}
	return errs
}

// CheckReadings returns the errors in the quantities and units of a template.
func CheckReadings(list []Reading) []error {
	var errs []error
	first := map[string]int{}
	for i, r := range list {
		where := fmt.Sprintf("readings[%d]", i)
		if r.Quantity == "" {
			continue // the caller reports missing keys
		}
		if n, twice := first[r.Quantity]; twice {
			errs = append(errs, fmt.Errorf("%s.quantity: %q is also the quantity of readings[%d]; give each a different name, like \"bed temperature\"", where, r.Quantity, n))
		} else {
			first[r.Quantity] = i
		}
		if err := r.checkUnit(where); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
