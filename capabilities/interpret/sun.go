package interpret

import (
	"fmt"
	"time"

	"github.com/messkit/messkit/capabilities"
)

// twilight is its elevation at dawn and dusk, in degrees: civil twilight, until which
// things outside are seen without a lamp.
const twilight = -6

// sun is the next rise or set of the sun after a time, or dawn or dusk; why says what is
// missing for that.
func (r *Interpreter) sun(which string, from time.Time, tomorrow bool) (at time.Time, why string) {
	if why := r.Site.Unset; why != "" {
		return at, "nobody knows how late it is: " + why + "; say a length of time, or set the clock"
	}
	if r.Site.Where == nil {
		return at, "nobody here knows where on the earth this is; write it into the configuration (agent: position), or say a time"
	}
	if tomorrow {
		from = r.Site.Now
		from = time.Date(from.Year(), from.Month(), from.Day()+1, 0, 0, 0, 0, from.Location())
	}
	elevation := capabilities.Horizon
	if which == "dawn" || which == "dusk" {
		elevation = twilight
	}
	at, ok := r.Site.Where.NextCrossing(from, which == "up" || which == "dawn", elevation)
	if !ok {
		return at, "the sun does not do that here within a day; say a time"
	}
	return at, ""
}

// environment holds a plan to what a request says of the light, at the time at which
// it begins. The words for it are MESS's own (1.0 section 3.2).
func (x *request) environment(p *capabilities.Plan) (capabilities.Outcome, bool) {
	if x.req.Constraints == nil {
		return capabilities.Outcome{}, true
	}
	home := x.r.Site
	for _, want := range x.req.Constraints.Environment {
		up := want == "daylight"
		at := home.Now
		if p.NotBefore.After(at) {
			at = p.NotBefore
		}
		no := func(format string, args ...any) (capabilities.Outcome, bool) {
			return x.refuse(fmt.Sprintf("constraints.environment: %q: ", want)+fmt.Sprintf(format, args...), nil), false
		}
		switch {
		case !up && want != "darkness":
			return x.refuse(fmt.Sprintf("constraints.environment: nothing here can tell %q; ask when it is so, and leave it out", want), nil), false
		case home.Where == nil || home.Now.IsZero() || home.Unset != "":
			return no("nothing here can tell, as nobody knows where on the earth this is (agent: position), or how late; ask when it is so, and leave it out")
		case home.Where.Daylight(at) != up:
			return no("the sun stands at %.0f degrees; ask when it is so", home.Where.Elevation(at))
		}
	}
	return capabilities.Outcome{}, true
}
