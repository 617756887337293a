package policy_test

import (
	"context"
	"testing"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
)

// fixedState is a lamp with readback.
type fixedState bool

func (s fixedState) On(context.Context) (bool, error) { return bool(s), nil }

// A reported state is known until the next act; then the commanded state is, until the next
// reading. A device without readings is unknown, also after a start.
func TestKnownStateOfDevice(t *testing.T) {
	is := func(g *policy.Policy, when, quantity string, value float64, commanded bool) {
		t.Helper()
		s := g.LastStates("lamp")
		if len(s) != 1 || s[0].Quantity != quantity || s[0].Value != value || s[0].Commanded != commanded || s[0].At.IsZero() {
			t.Errorf("%s: %+v", when, s)
		}
	}
	g, l := newPolicy(settings.Config{}), plug{lamp: &lamp{}}
	if s := g.LastStates("lamp"); s != nil {
		t.Errorf("before it is there: %+v", s)
	}
	look := begin(t, g, capabilities.Plan{Device: "lamp", Command: capabilities.ReadState, Risk: capabilities.RiskObserve, Effect: capabilities.Query})
	read := func(on fixedState) {
		t.Helper()
		if _, err := look.On(t.Context(), on); err != nil {
			t.Fatal(err)
		}
	}
	read(false)
	is(g, "read", "on", 0, false)
	switchLamp(t, g, l.lamp, true, 0)
	is(g, "commanded", "on", 1, true)
	read(true)
	is(g, "read again", "on", 1, false)
	if err := g.Halt(t.Context(), l, "lamp"); err != nil {
		t.Fatal(err)
	}
	if s := g.LastStates("lamp"); s != nil {
		t.Errorf("after its end: %+v", s)
	}
}
