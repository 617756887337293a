package interpret

import (
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/frame"
)

// bothOf reads an order that says a colour and a level as one for each, for the same things:
// "hall light red at 30 percent". Each must be a plan that needs no yes.
func (x *request) bothOf(ways []frame.Reading) (capabilities.Outcome, bool) {
	l := &x.r.Catalog.Frames
	i := slices.IndexFunc(ways, func(so frame.Reading) bool {
		return so.Signals.Has(l.Bits[catalog.ColorFeature]) && so.Signals.Has(l.Bits[catalog.LevelFeature]) && !so.Spread && !so.Vague
	})
	if i < 0 || x.MaxSkips > 0 || x.part {
		return capabilities.Outcome{}, false
	}
	var steps []capabilities.Plan
	for _, without := range []string{catalog.LevelFeature, catalog.ColorFeature} {
		one := ways[i]
		one.Signals &^= l.Bits[without]
		able := x.Able(x.FrameReadings([]frame.Reading{one}))
		if len(able) == 0 {
			return capabilities.Outcome{}, false
		}
		out := x.Choose(able)
		switch {
		case out.Question != nil && out.Question.Field != "go_ahead":
			return out, true
		case out.Plan == nil:
			return capabilities.Outcome{}, false
		}
		steps = append(steps, out.Plan.Each()...)
	}
	return x.InOrder(steps), true
}
