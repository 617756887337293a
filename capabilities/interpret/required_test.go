package interpret_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// needs returns a capability of requires, narrowed by pairs of key and value.
func needs(id string, pairs ...any) mess.Capability {
	var meta mess.Object
	for i := 0; i+1 < len(pairs); i += 2 {
		meta = append(meta, mess.Field{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	if meta == nil {
		return mess.Capability{ID: id}
	}
	return mess.Capability{ID: id, Meta: meta}
}

func TestRequires(t *testing.T) {
	list := func(s ...any) []any { return s }
	tests := []struct {
		name, intent string
		requires     []mess.Capability
		want         string
	}{
		{"agrees", "turn on the porch light", []mess.Capability{needs("switch-on")}, "switch-on porch-lamp"},
		{"narrows", "turn on the light", []mess.Capability{needs("switch-on", "devices", list("ceiling"))}, "switch-on ceiling"},
		{"says the verb", "porch light", []mess.Capability{needs("switch-on")}, "switch-on porch-lamp"},
		{"says it all", "make it cosy", []mess.Capability{needs("switch-on", "devices", list("ceiling"))}, "switch-on ceiling"},
		{"area", "floor", []mess.Capability{needs("vacuum-floor", "areas", list("kitchen"))}, "vacuum-floor robot"},
		{"beside another's", "vacuum the hall", []mess.Capability{needs("vacuum-floor"), needs("home-hall-access")}, "vacuum-floor robot"},
		{"view by area", "picture", []mess.Capability{needs("take-photo", "areas", list("fridge"))}, "take-photo fridge-cam"},

		{
			"other verb", "turn off the porch light",
			[]mess.Capability{needs("switch-on", "devices", list("porch-lamp"))},
			"no: the text asks to turn off the porch light, but requires asks for switch-on; make them agree",
		},
		{
			"other verb without a sentence", "porch light off off",
			[]mess.Capability{needs("switch-on", "devices", list("porch-lamp"))},
			`no: "off" in the text does not go with switch-on in requires; make them agree`,
		},
		{
			"other device", "turn on the heater",
			[]mess.Capability{needs("switch-on", "devices", list("ceiling"))},
			"no: the text asks to turn on the heater, but requires asks for switch-on; make them agree",
		},
		{
			"question", "is the porch light on?",
			[]mess.Capability{needs("switch-on", "devices", list("porch-lamp"))},
			"no: the text asks to look whether the porch light is on, but requires asks for switch-on; make them agree",
		},
		{
			"question without a sentence", "porch light?",
			[]mess.Capability{needs("switch-on")},
			"no: a question never acts, and requires asks for switch-on; say it as an order",
		},
		{
			"negation", "not the porch light",
			[]mess.Capability{needs("switch-on", "devices", list("porch-lamp"))},
			`no: "not the porch light" excludes something, and the interpreter only understands plain orders; say the order and its device`,
		},
		{
			"unknown word and no device", "cosy porch light",
			[]mess.Capability{needs("switch-on")},
			`no: not understood: "cosy"; leave it out, or say in requires which device`,
		},
		{
			"unknown metadata", "turn on the porch light",
			[]mess.Capability{needs("switch-on", "watts", list("5"))},
			"no: requires: switch-on: watts: unknown metadata; known: areas, devices, executor, for, quantity",
		},
		{
			"other duration", "turn on the heater for ten minutes",
			[]mess.Capability{needs("switch-on", "for", "1h")},
			"no: the text says 10 minutes, but requires says 1 hour; make them agree",
		},
		{
			"no duration", "vacuum the hall",
			[]mess.Capability{needs("vacuum-floor", "for", "1h")},
			"no: requires: for: vacuum-floor takes no duration; leave it out",
		},
		{"no such device", "x", []mess.Capability{needs("switch-on", "devices", list("moon"))}, "no: requires: no device here is all of switch-on, as the request narrows it"},
	}
	r := resolver()
	for _, tt := range tests {
		o := r.Resolve(mess.Request{Intent: tt.intent, Requires: tt.requires})
		if got(o) != tt.want {
			t.Errorf("%s: Resolve(%q) = %q, want %q", tt.name, tt.intent, got(o), tt.want)
		}
	}
}

func TestUnknownRequiresAreRejected(t *testing.T) {
	o := resolver().Resolve(mess.Request{Intent: "turn on the porch light", Requires: []mess.Capability{needs("3d-print-fdm")}})
	if o.Refusal == nil || !strings.Contains(o.Refusal.Reason, "nothing here does 3d-print-fdm") {
		t.Errorf("Resolve = %q, want a refusal", got(o))
	}
}

func TestRequiresGivesParameters(t *testing.T) {
	o := resolver().Resolve(mess.Request{
		Intent:   "vacuum the kitchen", // asks nothing: requires has the area
		Requires: []mess.Capability{needs("vacuum-floor", "areas", []any{"kitchen"})},
	})
	if o.Plan == nil {
		t.Fatalf("Resolve = %q, want a plan", got(o))
	}
	if areas, _ := o.Plan.Args.Get("areas"); !cmp.Equal(areas, any([]string{"kitchen"})) {
		t.Errorf("areas %v, want [kitchen]", areas)
	}
	o = resolver().Resolve(mess.Request{Intent: "heater", Requires: []mess.Capability{needs("switch-on", "for", "PT10M")}})
	if o.Plan == nil || o.Plan.For != 10*time.Minute || o.Plan.Summary != "turn on the heater for 10 minutes" {
		t.Errorf("Resolve = %q, want a plan for 10 minutes", got(o))
	}
}

func TestExactTakesNoUnknownWord(t *testing.T) {
	req := mess.Request{Intent: "make it cosy", Precision: mess.Exact, Requires: []mess.Capability{needs("switch-on", "devices", []any{"ceiling"})}}
	if o := resolver().Resolve(req); o.Refusal == nil {
		t.Errorf("Resolve = %q, want a refusal", got(o))
	}
}

func TestLocationNarrows(t *testing.T) {
	req := ask("turn on the light")
	req.Constraints = &mess.Constraints{Location: &mess.TargetArea{Name: "porch"}}
	if o := resolver().Resolve(req); got(o) != "switch-on porch-lamp" {
		t.Errorf("Resolve = %q, want switch-on porch-lamp", got(o))
	}
}

func TestOffers(t *testing.T) {
	list := func(s ...any) []any { return s }
	h := exampleHome()
	h.Devices = h.Devices[:4] // three lamps and the porch camera
	lights := mess.Object{{Key: "porch-lamp", Value: "light"}, {Key: "reading-lamp", Value: "light"}, {Key: "ceiling", Value: "light"}}
	want := []mess.Capability{
		needs("take-photo", "devices", list("porch-cam"), "areas", list("front door", "porch"), "effect", "query"),
		needs("check-visual", "devices", list("porch-cam"), "areas", list("front door", "porch"), "effect", "query"),
		needs("look", "devices", list("porch-cam"), "areas", list("front door", "porch"), "effect", "query"),
		needs("switch-on", "devices", list("porch-lamp", "reading-lamp", "ceiling"), "areas", list("living room", "porch"), "classes", lights, "effect", "idempotent"),
		needs("switch-off", "devices", list("porch-lamp", "reading-lamp", "ceiling"), "areas", list("living room", "porch"), "classes", lights, "effect", "idempotent"),
		needs("read-switch", "devices", list("porch-lamp", "reading-lamp", "ceiling"), "areas", list("living room", "porch"), "effect", "query"),
	}
	offers := interpret.New(catalog.Default(), h).Offers()
	if diff := cmp.Diff(want, offers); diff != "" {
		t.Errorf("Offers() (-want +got)\n%s", diff)
	}
}

func TestDigest(t *testing.T) {
	plan := capabilities.Plan{
		Capability: "vacuum-floor", Device: "robot", Command: capabilities.Clean, Risk: capabilities.RiskMotion,
		Args: mess.Object{{Key: "areas", Value: []string{"hall"}}, {Key: "deep", Value: true}},
	}
	same := plan
	same.Summary = "other words"
	same.Args = mess.Object{{Key: "deep", Value: true}, {Key: "areas", Value: []any{"hall"}}}
	if plan.Digest() != same.Digest() {
		t.Error("the digest depends on words or on the order of arguments")
	}
	const fixed = 64
	if len(plan.Digest()) != fixed {
		t.Errorf("Digest() = %q, want %d hex digits", plan.Digest(), fixed)
	}
	seen := map[string]string{plan.Digest(): "the plan"}
	for name, change := range map[string]func(*capabilities.Plan){
		"capability": func(p *capabilities.Plan) { p.Capability = "x" },
		"device":     func(p *capabilities.Plan) { p.Device = "x" },
		"command":    func(p *capabilities.Plan) { p.Command = capabilities.Dock },
		"args":       func(p *capabilities.Plan) { p.Args = mess.Object{{Key: "areas", Value: []string{"kitchen"}}} },
		"risk":       func(p *capabilities.Plan) { p.Risk = capabilities.RiskAccess },
		"for":        func(p *capabilities.Plan) { p.For = time.Minute },
	} {
		p := plan
		change(&p)
		if other, taken := seen[p.Digest()]; taken {
			t.Errorf("a plan with another %s has the digest of %s", name, other)
		}
		seen[p.Digest()] = name
	}
}
