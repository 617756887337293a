package interpret_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// got returns an outcome in one line: "switch-on porch-lamp", "? area: a, b" or "no:
// reason".
func got(o capabilities.Outcome) string {
	switch {
	case o.Plan != nil:
		return o.Plan.Capability + " " + o.Plan.Device
	case o.Question != nil:
		return "? " + o.Question.Field + ": " + strings.Join(o.Question.Options, ", ")
	case o.Refusal != nil:
		return "no: " + o.Refusal.Reason
	}
	return "nothing"
}

func TestResolve(t *testing.T) {
	tests := []struct{ intent, want string }{
		// Orders.
		{"turn on the porch light", "switch-on porch-lamp"},
		{"Turn on the porch light.", "switch-on porch-lamp"},
		{"switch the porch lamp on", "switch-on porch-lamp"},
		{"porch light on please", "switch-on porch-lamp"},
		{"could you please turn the front door light on", "switch-on porch-lamp"},
		{"hey, turn off the light on the porch", "switch-off porch-lamp"},
		{"turn the porch's light off", "switch-off porch-lamp"},
		{"turn off the lamps on the porch", "switch-off porch-lamp"},
		{"all porch lights off", "switch-off porch-lamp"},
		{"I'd like you to shut off my reading lamp now please", "switch-off reading-lamp"},
		{"take a photo of the porch", "take-photo porch-cam"},
		{"send me a picture from the front door", "take-photo porch-cam"},
		{"take a picture with the fridge camera", "take-photo fridge-cam"},
		{"vacuum the hall", "vacuum-floor robot"},
		{"start the robot vacuum cleaner", "vacuum-floor robot"},
		{"send the vacuum back to its dock", "dock-vacuum robot"},

		// Questions.
		{"what's in the fridge?", "look fridge-cam"},
		{"What is in the refrigerator", "look fridge-cam"},
		{"show me the front door", "look porch-cam"},
		{"is the porch light on?", "read-switch porch-lamp"},
		{"Is the porch light on", "read-switch porch-lamp"},
		{"did I leave the heater on", "read-switch heater"},
		{"what's the temperature in the bathroom?", "read-sensor bath-climate"},
		{"how warm is it in the bathroom", "read-sensor bath-climate"},
		{"is the back door open?", "read-sensor back-door"},
		{"how full is the vacuum?", "read-sensor robot"},
		{"can you turn on the porch light?", "? go_ahead: yes, no"},
		{"start the vacuum?", "? go_ahead: yes, no"},

		// Several.
		{"turn on the light", "? device: porch light, reading lamp, ceiling light"},
		{"turn off the lights in the living room", "switch-off reading-lamp,ceiling"},
		{"take a photo", "? device: porch camera, fridge camera"},
		{"vacuum the kitchen", "? area: near sink, by stove, both"},
		{"turn on all the lights", "switch-on porch-lamp,reading-lamp,ceiling"},
		{"turn everything off", `no: "all" of what? name a kind of device, like lights`},
		{"turn on the porch light and vacuum the hall", "several porch-lamp,robot"},

		// Devices that this home does not have.
		{"turn on the kitchen light", "no: there is no light in the kitchen"},
		{"turn on the coffee machine", "no: there is no coffee machine here"},
		{"take a photo of the living room", "no: no camera here sees the living room"},
		{"turn on the porsch light", "? go_ahead: yes, no"},
		{"turn on the heater in the hall", "no: heater is not in the hall"},
	}
	r := resolver()
	for _, tt := range tests {
		if o := r.Resolve(ask(tt.intent)); got(o) != tt.want {
			t.Errorf("Resolve(%q) = %q, want %q", tt.intent, got(o), tt.want)
		}
	}
}

// No request of this list acts, and the reason quotes the obstacle.
func TestObstaclesAreQuoted(t *testing.T) {
	tests := []struct{ intent, because string }{
		{"turn on the porch light in ten minutes", `"in ten minutes" is a time`},
		{"turn on the porch light at 8", `"at 8" is a time`},
		{"turn on the porch light at eight", `"at eight" is a time`},
		{"turn on the porch light tomorrow", `"tomorrow" is a time`},
		{"turn on the porch light every evening", `"every evening": a request runs once; messkit has no schedules for recurring orders`},
		{"turn on the porch light if it rains", `waits for "if it rains"`},
		{"turn off the porch light when I leave", `waits for "when i leave"`},
		{"turn off the lights except the heater", `"except the heater": there is none of that among`},
		{"turn off the lights except my favourite", `"except my favourite" excludes something`},
		{"don't turn on the porch light", `"do not turn on the porch light" excludes something`},
		{"do not vacuum the hall", `excludes something`},
		{"turn on the porch light without the heater", `excludes something`},
		{"turn on the green porch light", `not understood: "green"`},
		{"turn the porch light on to 50 percent", `porch light cannot do that (set how bright a light is) here`},
		{"order a pizza", `not understood: "order", "pizza"; ask like "turn on the porch light"`},
		{"porch light", `"porch light" is a name without an order`},
		{"the porch light's on", `not understood`},
		{"how do you turn on the vacuum", `no known order or question`},
		{"", `no known order or question`},
		{strings.Repeat("light ", 61), `more than 60 words`},
		{strings.Repeat("x", 1<<20), `more than 60 words`},
	}
	r := resolver()
	for _, tt := range tests {
		o, text := r.Resolve(ask(tt.intent)), ""
		switch {
		case o.Refusal != nil:
			text = o.Refusal.Reason
		case o.Question != nil:
			text = o.Question.Text
		}
		if !strings.Contains(text, tt.because) {
			t.Errorf("Resolve(%q) = %q %q, want a refusal or question with %q", tt.intent, got(o), text, tt.because)
		}
	}
}

func TestPlanIsWhole(t *testing.T) {
	r := resolver()
	tests := []struct {
		req  mess.Request
		want capabilities.Plan
	}{
		{
			mess.Request{Intent: "turn on the heater for ten minutes", ResponseHint: []mess.ResponseHint{{Type: "confirmation"}, {Type: "image"}}},
			capabilities.Plan{
				Capability: "switch-on", Device: "heater", Command: capabilities.SetSwitch, Args: mess.Object{{Key: "on", Value: true}},
				Risk: capabilities.RiskAppliance, Effect: capabilities.Idempotent, For: 10 * time.Minute, Reversible: true,
				Summary: "turn on the heater for 10 minutes", Consequences: "the heater will be on", Want: []string{"confirmation", "image"},
			},
		},
		{
			ask("vacuum near the sink"),
			capabilities.Plan{
				Capability: "vacuum-floor", Device: "robot", Command: capabilities.Clean,
				Args: mess.Object{{Key: "areas", Value: []string{"near sink"}}}, Risk: capabilities.RiskMotion, Effect: capabilities.Once,
				Summary: "vacuum near sink", Consequences: "the vacuum will move about the kitchen and take up what lies there",
			},
		},
		{
			ask("start vacuuming"),
			capabilities.Plan{
				Capability: "vacuum-floor", Device: "robot", Command: capabilities.Clean,
				Args: mess.Object{{Key: "areas", Value: []string{}}}, Risk: capabilities.RiskMotion, Effect: capabilities.Once,
				Summary: "vacuum all floors", Consequences: "the vacuum will move about all floors and take up what lies there",
			},
		},
		{
			ask("how warm is it in the bathroom?"),
			capabilities.Plan{
				Capability: "read-sensor", Device: "bath-climate", Command: capabilities.ReadState,
				Args: mess.Object{{Key: "quantity", Value: "temperature"}}, Risk: capabilities.RiskObserve, Effect: capabilities.Query,
				Reversible: true, Summary: "read the temperature from the bathroom sensor",
			},
		},
		{
			ask("take a photo of the porch"), // its camera observes nothing itself
			capabilities.Plan{
				Capability: "take-photo", Device: "porch-cam", Command: capabilities.TakePhoto, Risk: capabilities.RiskObserve,
				Effect: capabilities.Query, Reversible: true, Summary: "take a photo of the porch with the porch camera",
			},
		},
	}
	for _, tt := range tests {
		o := r.Resolve(tt.req)
		if o.Plan == nil {
			t.Errorf("Resolve(%q) = %q, want a plan", tt.req.Intent, got(o))
			continue
		}
		if diff := cmp.Diff(tt.want, *o.Plan); diff != "" {
			t.Errorf("Resolve(%q): (-want +got)\n%s", tt.req.Intent, diff)
		}
	}
}

func TestSpots(t *testing.T) {
	tests := []struct {
		intent string
		want   []string
	}{
		{"vacuum by the sink", []string{"near sink"}},
		{"vacuum the rice spill in front of the kitchen sink", []string{"near sink"}},
		{"clean up the crumbs", []string{"by stove"}},
		{"vacuum next to the stove", []string{"by stove"}},
		{"vacuum the hall", []string{"hall"}},
	}
	for _, tt := range tests {
		o := resolver().Resolve(ask(tt.intent))
		if o.Plan == nil {
			t.Errorf("Resolve(%q) = %q, want a plan", tt.intent, got(o))
			continue
		}
		if areas, _ := o.Plan.Args.Get("areas"); !cmp.Equal(areas, any(tt.want)) {
			t.Errorf("Resolve(%q): areas %v, want %v", tt.intent, areas, tt.want)
		}
	}
}

func TestCleanFloorAsksNothing(t *testing.T) {
	h := exampleHome()
	i := slices.IndexFunc(h.Devices, func(d capabilities.Device) bool { return d.Name == "robot" })
	h.Devices[i].WorkAreas = h.Devices[i].WorkAreas[:2] // the rooms alone
	o := interpret.New(catalog.Default(), h).Resolve(ask("vacuum the kitchen"))
	if o.Plan == nil {
		t.Fatalf("Resolve = %q, want a plan", got(o))
	}
	if areas, _ := o.Plan.Args.Get("areas"); !cmp.Equal(areas, any([]string{"kitchen"})) {
		t.Errorf("areas %v, want [kitchen]", areas)
	}
}

func TestExplanation(t *testing.T) {
	o := resolver().Resolve(ask("switch the porch lamp on for ten minutes"))
	want := capabilities.Trace{
		Template:   "<turn> {device} [<in> {area}] [to] on [for {duration}]",
		Capability: "switch-on",
		Evidence:   mess.ReadBack,
		Slots:      map[string]string{"device": "porch lamp", "duration": "ten minutes"},
		Score:      1,
	}
	if diff := cmp.Diff(want, o.Explain); diff != "" {
		t.Errorf("Explain (-want +got)\n%s", diff)
	}
	o = resolver().Resolve(ask("turn on the green light"))
	if diff := cmp.Diff([]string{"green"}, o.Explain.Leftover); diff != "" {
		t.Errorf("Leftover (-want +got)\n%s", diff)
	}
}

func TestConfiguredRiskWins(t *testing.T) {
	h := exampleHome()
	h.Devices[0].Risk = capabilities.RiskAccess
	o := interpret.New(catalog.Default(), h).Resolve(ask("turn on the porch light"))
	if o.Plan == nil || o.Plan.Risk != capabilities.RiskAccess {
		t.Errorf("Resolve = %q %+v, want risk access", got(o), o.Plan)
	}
}

// A feeder is a switch, but its effect is once. A query of it changes nothing.
func TestConfiguredEffectWins(t *testing.T) {
	h := exampleHome()
	h.Devices[0].Effect = capabilities.Once
	for intent, want := range map[string]capabilities.Effect{
		"turn on the porch light": capabilities.Once, "is the porch light on?": capabilities.Query,
	} {
		o := interpret.New(catalog.Default(), h).Resolve(ask(intent))
		if o.Plan == nil || o.Plan.Effect != want {
			t.Errorf("Resolve(%s) = %q %+v, want effect %s", intent, got(o), o.Plan, want)
		}
	}
}

func TestEmptyHome(t *testing.T) {
	r := interpret.New(catalog.Default(), capabilities.Home{})
	for _, intent := range []string{"turn on the light", "what's in the fridge?", "vacuum", "turn everything on"} {
		if o := r.Resolve(ask(intent)); o.Refusal == nil {
			t.Errorf("Resolve(%q) = %q, want a refusal", intent, got(o))
		}
	}
	if offers := r.Offers(); len(offers) != 0 {
		t.Errorf("Offers() = %v, want none", offers)
	}
}

func FuzzResolve(f *testing.F) {
	for _, s := range []string{
		"turn on the porch light", "can you turn on the porch light?", "vacuum the kitchen", "all all all lights on",
		"don’t", "what's in the fridge", "turn on the light for 99999999999999999999 hours", "?", "'s 's", "the the the the", "on\x00 \xff", "light \xff", "'\xff", "turn on the light for 1.5h and 2.\xff", "❌ yes", "turn on the light for 1 hour 2 minutes and a half",
	} {
		f.Add(s)
	}
	r := resolver()
	f.Fuzz(func(t *testing.T, intent string) {
		o := r.Resolve(ask(intent))
		n := 0
		for _, set := range []bool{o.Plan != nil, o.Question != nil, o.Refusal != nil} {
			if set {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("Resolve(%q) is %d things, want one", intent, n)
		}
		if o.Plan != nil && o.Plan.Actuates() && strings.Contains(intent, "?") {
			t.Fatalf("Resolve(%q) would act on a question: %s", intent, o.Plan.Summary)
		}
		if o.Question != nil {
			r.Answer(*o.Question, nil, intent, ask(intent))
		}
		catalog.MatchYesNo(intent)
	})
}

func BenchmarkResolve(b *testing.B) {
	r := resolver()
	for _, intent := range []string{"turn on the porch light", "vacuum the rice spill in front of the kitchen sink", "order a pizza for tonight"} {
		b.Run(intent, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Resolve(ask(intent))
			}
		})
	}
}

func BenchmarkNewResolver(b *testing.B) {
	c, h := catalog.Default(), exampleHome()
	b.ReportAllocs()
	for b.Loop() {
		interpret.New(c, h)
	}
}
