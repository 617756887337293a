package family

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// CheckPlace tells what is wrong with a place in an answer; "" is the whole of it.
func CheckPlace(where, place string, with map[string]Param) error {
	switch {
	case place == "":
		return nil
	case slices.Contains(strings.Split(place, "."), ""):
		return fmt.Errorf("%s: %q has a dot with nothing beside it; write keys and numbers of list items with one dot between them, like meters.0.power", where, place)
	case strings.ContainsAny(place, "[]"):
		return fmt.Errorf("%s: %q has brackets; write the number of a list item behind a dot, like meters.0.power", where, place)
	}
	for _, g := range Gaps(place) {
		if _, known := with[g]; !known {
			return fmt.Errorf("%s: nobody fills {%s}; write it under with", where, g)
		}
	}
	return nil
}

// CheckAbout tells what is wrong with where the maker describes the messages, "" for
// nowhere.
func CheckAbout(docs string) error {
	if u, err := url.Parse(docs); docs != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "") {
		return fmt.Errorf("docs: %q is no page; write the address where the maker describes the messages, or leave it out", docs)
	}
	return nil
}

// CheckOff tells that a device is told the very same for on and for off: which of the
// two it would do, nobody could say.
func CheckOff(on, off any) error {
	if reflect.DeepEqual(on, off) && reflect.ValueOf(on).Len() > 0 {
		return errors.New("switch.off: is the very same as switch.on; write what switches it off. What only changes over cannot be told what to be")
	}
	return nil
}

// CheckLevel tells what is wrong with how on is told from off.
func CheckLevel(where string, l Level, with map[string]Param) []error {
	errs := []error{CheckPlace(where+".value", l.Value, with)}
	on, off := l.words()
	for _, word := range on {
		if slices.Contains(off, word) {
			errs = append(errs, fmt.Errorf("%s: %q is a word for on and for off; write on and off, each with words of its own", where, word))
		}
	}
	return errs
}

// CheckNames tells which names under with no {gap} can have.
func CheckNames(with map[string]Param, own ...string) []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(with)) {
		switch {
		case !slices.Equal(Gaps("{"+name+"}"), []string{name}):
			errs = append(errs, fmt.Errorf("with.%s: {%s} is no gap; a name has letters, digits and _", name, name))
		case slices.Contains(own, name):
			errs = append(errs, fmt.Errorf("with.%s: {%s} is filled by messkit; take another name", name, name))
		}
	}
	return errs
}

// CheckReadings tells what is wrong with the quantities of a family and their units.
func CheckReadings(list []Measure) []error {
	var errs []error
	first := map[string]int{}
	for i, m := range list {
		where := fmt.Sprintf("readings[%d]", i)
		if m.Quantity == "" {
			continue // that is told by who knows what else is missing
		}
		if n, twice := first[m.Quantity]; twice {
			errs = append(errs, fmt.Errorf("%s.quantity: %q is that of readings[%d] too; give each a name of its own, like \"bed temperature\"", where, m.Quantity, n))
		} else {
			first[m.Quantity] = i
		}
		if err := m.checkUnit(where); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
