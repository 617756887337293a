// Package wording puts states and measurements into words for people, and into numbers for
// programs.
package wording

import (
	"math"
	"strconv"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// UTC returns a time in UTC for comparison with other machines.
func UTC(at time.Time) mess.Time { return mess.TimeOf(at.UTC()) }

// Opening describes an opening in words.
func Opening(percent float64) string {
	switch {
	case percent < 1:
		return "closed"
	case percent > 99:
		return "open"
	}
	return Rounded(percent) + " % open"
}

// OnOff returns "on" or "off".
func OnOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Reading describes a measurement: "temperature 4.5 °C", "open".
func Reading(r drivers.Reading) string {
	if r.Quantity == "opening" { // of a cover, in percent
		return Opening(r.Value)
	}
	if says, ok := truths[r.Quantity]; ok && r.Unit == "" {
		return says[min(1, int(math.Abs(r.Value)))]
	}
	return r.Quantity + " " + Amount(r)
}

// truths holds the words for truth values 0 and 1 by quantity. An open contact reads as 0.
var truths = map[string][2]string{
	"contact": {"open", "closed"}, "lock": {"unlocked", "locked"}, "motion": {"nothing moves", "something moves"},
	"presence": {"nobody is there", "somebody is there"}, "occupancy": {"nobody is there", "somebody is there"},
}

// Amount returns a value with its unit; a value without a unit is a truth value.
func Amount(r drivers.Reading) string {
	switch {
	case r.Unit != "":
		return Rounded(r.Value) + " " + r.Unit
	case r.Value == 0:
		return "no"
	}
	return "yes"
}

// Number formats a number for programs: exact, without the rounding errors behind the twelfth
// digit (31.200000000000003).
func Number(f float64) string {
	if short, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 12, 64), 64); err == nil {
		f = short
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// Rounded formats a measurement for people: one decimal from 100 on, two from 1 on, and three
// digits below. No sensor of a home is more exact.
func Rounded(f float64) string {
	digits := 2
	switch a := math.Abs(f); {
	case a >= 100:
		digits = 1
	case a > 0 && a < 1:
		digits = min(12, 2-int(math.Floor(math.Log10(a))))
	}
	if short, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', digits, 64), 64); err == nil {
		f = short
	}
	if f == 0 {
		f = 0 // avoids -0
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// Stale is the age from which the answer states the age of a measurement in words. Battery
// sensors report once a minute at most.
const Stale = time.Minute

// Aged returns the time of a state, its age, and whether to trust the clock. It is empty
// without a time.
func Aged(at, now time.Time, clock string) mess.Object {
	if at.IsZero() {
		return nil
	}
	o := mess.Object{{Key: "at", Value: string(UTC(at))}, {Key: "age", Value: string(mess.DurationOf(now.Sub(at)))}}
	if clock != "" {
		o = append(o, mess.Field{Key: "clock", Value: clock})
	}
	return o
}
