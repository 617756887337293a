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

// place is what stands beside the words about where: a known place, or all of
// this home. What is neither is no place to act in.
func (x *Request) place(a *mess.Area) (capabilities.Outcome, bool) {
	w := x.Words()
	switch {
	case a == nil:
		return capabilities.Outcome{}, false
	case a.Name == "" && len(a.Extra) > 0:
		return x.Reject(fmt.Sprintf("constraints.location: %s is unknown; write the name of a place, like %s", a.Extra[0].Key, oneOfMany(x.Resolver.PlaceNames())), nil), true
	case a.Name == "":
		return x.Reject(fmt.Sprintf("constraints.location: nothing here knows where it is on a map; name a place, like %s, or leave it out", oneOfMany(x.Resolver.PlaceNames())), nil), true
	}
	if x.Demand.location = x.area(a.Name); x.Demand.location == "" && !w.Whole(w.Home, w.Tokens(a.Name)) {
		return x.Reject(fmt.Sprintf("constraints.location: there is no place %q here; there are %s", a.Name, oneOfMany(x.Resolver.PlaceNames())), x.Resolver.Near(lexicon.Split(a.Name))), true
	}
	return capabilities.Outcome{}, false
}

// CheckTiming refuses what is to begin when nobody needs it any more: needed_by wins over
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
	return x.Reject(fmt.Sprintf("it is asked for %s, and %s is before that, on %s; make them agree",
		OnDay(p.NotBefore), key, OnDay(until.In(p.NotBefore.Location()))), nil), true
}

// OnDay writes a moment with its day, for a person.
func OnDay(t time.Time) string { return t.Format("Monday 2 January at 15:04:05") }

func oneOfMany(list []string) string {
	if len(list) == 0 {
		return "home"
	}
	return strings.Join(list, ", ")
}

// constraints refuses what nobody here can hold to.
func (x *Request) constraints() (capabilities.Outcome, bool) {
	c := x.Message.Constraints
	if c == nil {
		return capabilities.Outcome{}, false
	}
	list, within := c.Extra, "constraints."
	if len(list) == 0 && c.Timing != nil {
		list, within = c.Timing.Extra, "constraints.timing."
	}
	if len(list) > 0 {
		return x.misplaced(within, list[0].Key), true
	}
	return x.place(c.Location)
}

func (x *Request) misplaced(within, key string) capabilities.Outcome {
	if meant := keyLike(key); meant != "" {
		return x.Reject(fmt.Sprintf("%s%s is unknown; did you mean %s?", within, key, meant), nil)
	}
	return x.Reject(fmt.Sprintf("%s%s is unknown, and so cannot be kept; leave it out", within, key), nil)
}

// limiting are the keys of a request that limit what is done, by the last part
// of their names.
var limiting = []string{
	"precision", "needed_by", "confirm_before", "requires", "context", "constraints",
	"constraints.location", "constraints.timing", "constraints.environment", "constraints.depends_on",
	"constraints.timing.not_before", "constraints.timing.expires",
}

// unheeded are keys that others may mean to limit an act with, and that nobody here
// knows.
var unheeded = []string{
	"dry_run", "dryrun", "simulate", "simulation", "simulated", "preview", "test", "condition", "conditions", "if", "only_if", "unless", "when", "while", "schedule", "at", "after", "before", "until",
	"delay", "duration", "for", "approval", "approve", "require_confirmation", "confirm", "cancelled", "enabled", "disabled", "limit", "limits", "max", "device", "area", "room", "parameters", "args",
}

// keyLike is the key that was meant by one in the wrong place or in other
// letters, "" if none.
func keyLike(key string) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s[strings.LastIndexByte(s, '.')+1:]))
	}
	for _, known := range limiting {
		if lexicon.Distance(plain(key), plain(known)) <= 1 {
			return known
		}
	}
	return ""
}

// limited refuses an act that something beside its words may limit.
func (x *Request) limited(rd *Hypothesis) (capabilities.Outcome, bool) {
	for _, f := range x.Message.Extra {
		if keyLike(f.Key) != "" || slices.Contains(unheeded, strings.ToLower(strings.NewReplacer("-", "_", " ", "_").Replace(f.Key))) {
			return x.misplaced("", f.Key), true
		}
	}
	return capabilities.Outcome{}, false
}

// elsewhere refuses to clean in another place than the constraints name.
func (x *Request) elsewhere(d int, areas []string) (capabilities.Outcome, bool) {
	place := x.Demand.location
	for _, area := range areas {
		in := strings.EqualFold(area, place) || slices.ContainsFunc(x.Resolver.Site.Devices[d].Spots, func(s capabilities.Spot) bool {
			return s.Name == area && strings.EqualFold(s.Room, place)
		})
		if place != "" && !in {
			return x.Reject(fmt.Sprintf("the request is for %q, but constraints.location says %q; make them agree", area, place), nil), true
		}
	}
	return capabilities.Outcome{}, false
}

// CheckEnvironment holds a plan to what a request says of the light, at the time at which
// it begins. The words for it are MESS's own (1.0 section 3.2).
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
		case home.Where == nil || home.Now.IsZero() || home.Unset != "":
			return no("nothing here can tell, as nobody knows where on the earth this is (agent: position), or how late; ask when it is so, and leave it out")
		case home.Where.Daylight(at) != up:
			return no("the sun stands at %.0f degrees; ask when it is so", home.Where.Elevation(at))
		}
	}
	return capabilities.Outcome{}, true
}
