package interpret

import (
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
)

// bothOf reads an order that says a colour and a level as one for each, for the same things:
// "hall light red at 30 percent". Each must be a plan that needs no yes.
func (x *request) bothOf(ways []framed) (capabilities.Outcome, bool) {
	l := &x.r.Catalog.Frames
	i := slices.IndexFunc(ways, func(so framed) bool {
		return so.signals.Has(l.Bits[catalog.ColorFeature]) && so.signals.Has(l.Bits[catalog.LevelFeature]) && !so.spread && !so.vague
	})
	if i < 0 || x.skips > 0 || x.part {
		return capabilities.Outcome{}, false
	}
	var steps []capabilities.Plan
	for _, without := range []string{catalog.LevelFeature, catalog.ColorFeature} {
		one := ways[i]
		one.signals &^= l.Bits[without]
		able := x.able(x.fitting([]framed{one}))
		if len(able) == 0 {
			return capabilities.Outcome{}, false
		}
		out := x.choose(able)
		switch {
		case out.Question != nil && out.Question.Field != "go_ahead":
			return out, true
		case out.Plan == nil:
			return capabilities.Outcome{}, false
		}
		steps = append(steps, out.Plan.Each()...)
	}
	return x.inOrder(steps), true
}
