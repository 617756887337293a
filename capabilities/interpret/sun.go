package interpret

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
)

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
