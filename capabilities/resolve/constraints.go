package resolve

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// readLocation reads constraints.location: a known place, or the whole home. It refuses any
// other location.
func (x *Request) readLocation(a *mess.TargetArea) (capabilities.Outcome, bool) {
	w := x.Words()
	switch {
	case a == nil:
		return capabilities.Outcome{}, false
	case a.Name == "" && len(a.Extra) > 0:
		return x.Reject(fmt.Sprintf("constraints.location: %s is unknown; write the name of a place, like %s", a.Extra[0].Key, listPlaces(x.Resolver.PlaceNames())), nil), true
	case a.Name == "":
		return x.Reject(fmt.Sprintf("constraints.location: this home does not know positions on a map; name a place, like %s, or leave it out", listPlaces(x.Resolver.PlaceNames())), nil), true
	}
	if x.Demand.location = x.placeOf(a.Name); x.Demand.location == "" && !w.Whole(w.Home, w.Tokens(a.Name)) {
		return x.Reject(fmt.Sprintf("constraints.location: there is no place %q here; there are %s", a.Name, listPlaces(x.Resolver.PlaceNames())), x.Resolver.NearestNames(lexicon.Split(a.Name))), true
	}
	return capabilities.Outcome{}, false
}

// CheckTiming refuses a plan that begins after the requester needs it: needed_by wins over
// constraints.timing.expires (MESS 1.1 section 1.1).
func (x *Request) CheckTiming(p *capabilities.Plan) (capabilities.Outcome, bool) {
	if p.NotBefore.IsZero() {
		return capabilities.Outcome{}, false
	}
	key, until, err := "needed_by", time.Time{}, error(nil)
	switch c := x.Message.Constraints; {
	case x.Message.NeededBy != "":
		until, err = x.Message.NeededBy.Time()
	case c != nil && c.Timing != nil && c.Timing.Expires != "":
		key = "constraints.timing.expires"
		until, err = c.Timing.Expires.Time(x.Resolver.Site.Now)
	default:
		return capabilities.Outcome{}, false
	}
	if err != nil || p.NotBefore.Before(until) {
		return capabilities.Outcome{}, false
	}
	return x.Reject(fmt.Sprintf("the request is for %s, and %s is before that, on %s; make them agree",
		OnDay(p.NotBefore), key, OnDay(until.In(p.NotBefore.Location()))), nil), true
}

// OnDay returns a moment with its day for a person.
func OnDay(t time.Time) string { return t.Format("Monday 2 January at 15:04:05") }

// listPlaces returns the places with commas, or "home" if there are none.
func listPlaces(list []string) string {
	if len(list) == 0 {
		return "home"
	}
	return strings.Join(list, ", ")
}

// readConstraints refuses the constraints that this home cannot keep.
func (x *Request) readConstraints() (capabilities.Outcome, bool) {
	c := x.Message.Constraints
	if c == nil {
		return capabilities.Outcome{}, false
	}
	list, within := c.Extra, "constraints."
	if len(list) == 0 && c.Timing != nil {
		list, within = c.Timing.Extra, "constraints.timing."
	}
	if len(list) > 0 {
		return x.rejectKey(within, list[0].Key), true
	}
	return x.readLocation(c.Location)
}

// rejectKey refuses an unknown key and suggests the key that the requester may mean.
func (x *Request) rejectKey(within, key string) capabilities.Outcome {
	if meant := similarKey(key); meant != "" {
		return x.Reject(fmt.Sprintf("%s%s is unknown; did you mean %s?", within, key, meant), nil)
	}
	return x.Reject(fmt.Sprintf("%s%s is unknown, and this home cannot obey it; leave it out", within, key), nil)
}

// limitingKeys are the keys of a request that limit an act. Only the last part of the name
// counts.
var limitingKeys = []string{
	"precision", "needed_by", "confirm_before", "requires", "context", "constraints",
	"constraints.location", "constraints.timing", "constraints.environment", "constraints.depends_on",
	"constraints.timing.not_before", "constraints.timing.expires",
}

// unsupportedLimits are the keys with which other systems limit an act, and which this home
// does not support.
var unsupportedLimits = []string{
	"dry_run", "dryrun", "simulate", "simulation", "simulated", "preview", "test", "condition", "conditions", "if", "only_if", "unless", "when", "while", "schedule", "at", "after", "before", "until",
	"delay", "duration", "for", "approval", "approve", "require_confirmation", "confirm", "cancelled", "enabled", "disabled", "limit", "limits", "max", "device", "area", "room", "parameters", "args",
}

// similarKey returns the key that the requester may mean by one in the wrong place or with
// another spelling, or "" if there is none.
func similarKey(key string) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s[strings.LastIndexByte(s, '.')+1:]))
	}
	for _, known := range limitingKeys {
		if lexicon.Distance(plain(key), plain(known)) <= 1 {
			return known
		}
	}
	return ""
}

// rejectUnknownLimits refuses an act if an unknown key of the request may limit it.
func (x *Request) rejectUnknownLimits() (capabilities.Outcome, bool) {
	for _, f := range x.Message.Extra {
		if similarKey(f.Key) != "" || slices.Contains(unsupportedLimits, strings.ToLower(strings.NewReplacer("-", "_", " ", "_").Replace(f.Key))) {
			return x.rejectKey("", f.Key), true
		}
	}
	return capabilities.Outcome{}, false
}

// rejectOtherPlace refuses to clean a place that constraints.location does not include.
func (x *Request) rejectOtherPlace(d int, areas []string) (capabilities.Outcome, bool) {
	place := x.Demand.location
	for _, area := range areas {
		in := strings.EqualFold(area, place) || slices.ContainsFunc(x.Resolver.Site.Devices[d].WorkAreas, func(s capabilities.WorkArea) bool {
			return s.Name == area && strings.EqualFold(s.Room, place)
		})
		if place != "" && !in {
			return x.Reject(fmt.Sprintf("the request is for %q, but constraints.location says %q; make them agree", area, place), nil), true
		}
	}
	return capabilities.Outcome{}, false
}

// CheckEnvironment compares constraints.environment with the daylight at the time when a
// plan begins. The words are those of MESS 1.0 section 3.2.
func (x *Request) CheckEnvironment(p *capabilities.Plan) (capabilities.Outcome, bool) {
	if x.Message.Constraints == nil {
		return capabilities.Outcome{}, true
	}
	home := x.Resolver.Site
	for _, want := range x.Message.Constraints.Environment {
		up := want == "daylight"
		at := home.Now
		if p.NotBefore.After(at) {
			at = p.NotBefore
		}
		no := func(format string, args ...any) (capabilities.Outcome, bool) {
			return x.Reject(fmt.Sprintf("constraints.environment: %q: ", want)+fmt.Sprintf(format, args...), nil), false
		}
		switch {
		case !up && want != "darkness":
			return x.Reject(fmt.Sprintf("constraints.environment: nothing here can tell %q; ask when it is so, and leave it out", want), nil), false
		case home.Location == nil || home.Now.IsZero() || home.ClockDoubt != "":
			return no("this home does not know its position (agent: position) or the time; ask when it is so, and leave it out")
		case home.Location.Daylight(at) != up:
			return no("the sun is at %.0f degrees; ask when it is so", home.Location.Elevation(at))
		}
	}
	return capabilities.Outcome{}, true
}
