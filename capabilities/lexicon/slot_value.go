package lexicon

import (
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
)

// MergeInto adds a value to a list. Values of one length and class become one: the more specific
// one wins, and MergeInto unites equally specific ones.
func (m SlotValue) MergeInto(list []SlotValue) []SlotValue {
	j := slices.IndexFunc(list, func(o SlotValue) bool { return o.End == m.End && o.Class == m.Class })
	switch {
	case j < 0:
		list = append(list, m)
	case m.Specificity > list[j].Specificity:
		list[j] = m
	case m.Specificity == list[j].Specificity:
		list[j] = list[j].Union(m)
	}
	return list
}

// Specificity is how exactly words name a device. A greater value is more exact.
type Specificity int

// The specificities, from the least exact to the most exact one.
const (
	Unspecified Specificity = iota // no word for it
	ByClass                        // "the light"
	ByPlace                        // "the kitchen light"
	ByName                         // "the reading lamp"
)

// SlotValue is a possible meaning of words in a slot of a sentence.
type SlotValue struct {
	End         int
	Value       string // area, view or quantity as the home writes it
	Specificity Specificity
	Devices     []int                   // possible devices
	Class       string                  // if the words name a class
	All         bool                    // "all lights"
	Count       int                     // "two lights"; 0 without a number
	Number      string                  // the word for it
	Spots       []capabilities.WorkArea // places to work on
	Parts       []NamedGroup            // the groups of a list of names
	Rooms       []string                // several of them, by name; nil for one
	Duration    time.Duration
	Amount      float64 // percent, degrees or kelvin, or of a number
	Unit        string  // of a number, as a quantity has it; "" for none
}

// NamedGroup is the meaning of one name in a list of names.
type NamedGroup struct {
	Devices []int
	All     bool // all of them; otherwise the interpreter asks which one
}

// Union returns a value that has the devices and spots of both.
func (m SlotValue) Union(o SlotValue) SlotValue {
	m.Devices = slices.Concat(m.Devices, Subtract(o.Devices, m.Devices))
	m.Spots = slices.Clone(m.Spots)
	for _, s := range o.Spots {
		if !slices.Contains(m.Spots, s) {
			m.Spots = append(m.Spots, s)
		}
	}
	return m
}

// Both returns a value for two places, in the order of the text. Its devices are those that know
// both places, or all devices of m and o if none does.
func (m SlotValue) Both(o SlotValue) SlotValue {
	m.Rooms = Distinct(slices.Concat(m.Rooms, o.Rooms))
	m.Value, m.End, m.Spots = strings.Join(m.Rooms, " and "), o.End, nil
	either := m.Union(o).Devices
	inOne, inOther := MemberTest(m.Devices), MemberTest(o.Devices)
	m.Devices = slices.DeleteFunc(slices.Clone(either), func(d int) bool { return !inOne(d) || !inOther(d) })
	if len(m.Devices) == 0 {
		m.Devices = either
	}
	return m
}
