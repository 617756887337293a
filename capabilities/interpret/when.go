package interpret

import (
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/timeexpr"
)

// later puts what was said of time into a plan.
func (x *request) later(p *capabilities.Plan, t timeexpr.Timing) (capabilities.Outcome, bool) {
	now := x.r.Site.Now
	if !t.Begin.IsZero() && t.Begin.Sub(now) > timeexpr.MaxAhead {
		return x.Reject(fmt.Sprintf("%q is more than a day ahead; put it into constraints.timing.not_before, which is kept whatever happens here, and leave the words out", strings.Join(t.Said, " ")), nil), false
	}
	begin := t.Begin
	if begin.IsZero() {
		begin = now
	}
	lasts := t.Lasts
	if t.Ends {
		if !t.End.After(begin) {
			t.End = t.End.AddDate(0, 0, 1)
		}
		lasts = t.End.Sub(begin).Round(time.Second)
	}
	if lasts > 0 {
		for i := range p.Each() {
			one := p
			if len(p.Steps) > 0 {
				one = &p.Steps[i]
			}
			if limit, _ := one.Args.Get("limit"); one.Command.Watches() && limit == "default" {
				one.Summary = strings.TrimSuffix(one.Summary, fmt.Sprintf(", for %s at most", capabilities.DurationText(one.For)))
				if out, ok := x.LastingFor(one, lasts); !ok {
					return out, false
				}
				continue
			}
			on, _ := one.Args.Get("on")
			if one.Command != capabilities.SetSwitch || on != true || one.For > 0 && one.For != lasts {
				return x.Reject(fmt.Sprintf("%q is a length of time, and that cannot be kept here; only what is switched on can be for a time", strings.Join(t.Said, " ")), nil), false
			}
			one.For = lasts
			one.Summary += " for " + capabilities.DurationText(lasts)
		}
		if len(p.Steps) > 0 {
			*p = capabilities.Sequence(p.Steps)
		}
	}
	if !t.Begin.IsZero() {
		p.NotBefore = t.Begin
		p.Summary += fmt.Sprintf(", on %s", t.Begin.Format("Monday 2 January at 15:04:05"))
	}
	return capabilities.Outcome{}, true
}
