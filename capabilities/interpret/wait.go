package interpret

import (
	"fmt"
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/mess"
)

// parseWait reads a text that waits for an event. The plan only observes: an act after the
// event is no part of it.
func (x *request) parseWait() (capabilities.Outcome, bool) {
	if x.Message.Precision == mess.Loose {
		return capabilities.Outcome{}, false
	}
	f, ok := x.WaitsFor()
	if !ok {
		return capabilities.Outcome{}, false
	}
	x.Read()
	if able := x.Able(x.Readings); len(able) > 0 { // "let me know if the door is open" asks how it is now
		return x.Choose(able), true
	}
	x.SetTokens(f.Event)
	x.Readings = nil
	x.Wait = &f
	x.readEvents(f.Object)
	able := x.Able(x.Readings)
	switch {
	case len(able) > 0:
		x.ImageWords = f.Photo
		return x.Choose(able), true
	case len(x.Readings) > 0:
		return x.Cannot(), true
	case x.JoinsNames():
		x.Explain.Leftover = lexicon.Texts(x.Tokens)
		return x.Reject(fmt.Sprintf("%q: one request waits for one event, and no order can follow it; make a request for each", lexicon.Join(x.Tokens)), nil), true
	}
	return capabilities.Outcome{}, false
}

// readEvents finds the readings of an event, or of an object to watch.
func (x *request) readEvents(object bool) {
	g := x.r.Catalog.Events
	if object {
		g = x.r.Catalog.Objects
	}
	walk := grammar.Walker{Words: x.Words(), Tokens: x.Tokens, Fill: x.SlotValues}
	walk.Found = func(s *grammar.Pattern, slots []grammar.BoundSlot) {
		rd := resolve.Hypothesis{Pattern: s, Slots: slots, Args: slices.Clone(s.Args)}
		for _, b := range slots {
			if b.Kind == "device" {
				rd.How = max(rd.How, b.Match.Specificity)
				rd.All = rd.All || b.Match.All
			}
			if b.Kind == "number" {
				n, ok := x.r.Catalog.ConvertTo(rd.Value("quantity"), b.Match)
				if !ok {
					return
				}
				rd.Args = rd.Args.Set("value", n)
			}
		}
		x.Readings = append(x.Readings, rd)
	}
	walk.Walk(g, 0)
	if object && len(x.Readings) == 0 { // "watch for somebody at the door"
		x.readEvents(false)
	}
}
