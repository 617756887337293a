package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/home"
	"github.com/messkit/messkit/internal/cli/requests"
	"github.com/messkit/messkit/mess"
)

// verbArguments has arguments for the verbs of the simulated home, beside none.
var verbArguments = map[string][]mess.Object{
	"brighten":        {{{Key: "change", Value: mess.Number("20")}}},
	"dim":             {{{Key: "change", Value: mess.Number("12.5")}}},
	"drive-back":      {{{Key: "for", Value: "2s"}}},
	"drive-forward":   {{{Key: "for", Value: "500ms"}}},
	"move-servo":      {{{Key: "angle", Value: mess.Number("45.5")}}, {{Key: "angle", Value: mess.Number("160")}}},
	"print-start":     {{{Key: "file", Value: "benchy"}}},
	"pulse":           {{{Key: "for", Value: "1s"}}, {{Key: "for", Value: "0.5s"}}},
	"set-brightness":  {{{Key: "level", Value: mess.Number("40")}}, {{Key: "level", Value: mess.Number("0")}}, {{Key: "level", Value: mess.Number("0.5")}}, {{Key: "level", Value: mess.Number("100")}}},
	"set-colour":      {{{Key: "colour", Value: "blue"}}, {{Key: "colour", Value: "#102030"}}},
	"set-opening":     {{{Key: "opening", Value: mess.Number("0")}}, {{Key: "opening", Value: mess.Number("40")}}, {{Key: "opening", Value: mess.Number("100")}}},
	"set-temperature": {{{Key: "temperature", Value: mess.Number("21.5")}}, {{Key: "temperature", Value: mess.Number("7")}}},
	"set-white":       {{{Key: "kelvin", Value: mess.Number("2700")}}},
	"switch-on":       {{{Key: "for", Value: "90m"}}, {{Key: "for", Value: "1h"}}, {{Key: "for", Value: "75s"}}, {{Key: "for", Value: "PT1M"}}},
	"turn-left":       {{{Key: "for", Value: "2s"}}},
	"turn-right":      {{{Key: "for", Value: "2s"}}},
	"vacuum-floor":    {{{Key: "areas", Value: []any{"kitchen"}}}, {{Key: "areas", Value: "kitchen, living room"}}},
}

// The values that the exchange takes for a color and a quantity are those of the interpreter.
func TestKnownValuesAreThoseOfInterpreter(t *testing.T) {
	c := catalog.Default()
	info := exchange.ExecutorInfo{Executor: mess.Executor{ID: "vm", Capabilities: simulatedInterpreter(t).Offers()}, Live: true}
	devices := home.Devices(&info)
	for _, known := range []struct {
		verb, name, more string
		want             []string
	}{
		{"set-colour", "colour", "#rrggbb, ", slices.Sorted(maps.Keys(c.Frames.Lists.Colors))},
		{"read-sensor", "quantity", "", slices.Sorted(maps.Keys(c.Quantities))},
	} {
		i := slices.IndexFunc(devices, func(d home.Device) bool {
			return slices.ContainsFunc(d.Verbs, func(v home.Verb) bool { return v.Verb == known.verb })
		})
		if i < 0 {
			t.Fatalf("no device has %s", known.verb)
		}
		_, err := devices[i].Order(known.verb, mess.Object{{Key: known.name, Value: "none of them"}}, time.Now())
		if want := "known: " + known.more + strings.Join(known.want, ", "); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want the end %q", known.verb, err, want)
		}
	}
}

// The interpreter understands the request of each verb of each device in the simulated home as that
// capability of that device, with these arguments, and has no question.
func TestVerbsAreUnderstood(t *testing.T) {
	r := simulatedInterpreter(t)
	info := exchange.ExecutorInfo{Executor: mess.Executor{ID: "vm", Capabilities: r.Offers()}, Live: true}
	info.States = []mess.DeviceState{{Device: "printer", State: "idle", Extra: mess.Object{{Key: mess.PlacesField, Value: []any{"benchy", "vase"}}}}}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	seen := map[string]bool{}
	for _, d := range home.Devices(&info) {
		for _, v := range d.Verbs {
			list := verbArguments[v.Verb]
			if !slices.ContainsFunc(slices.Collect(maps.Values(v.Parameters)), func(p home.Parameter) bool { return p.Needed }) {
				list = append(slices.Clone(list), nil)
			}
			if len(list) == 0 {
				t.Errorf("%s needs arguments; add them to verbArguments", v.Verb)
			}
			seen[v.Verb] = true
			for _, args := range list {
				checkVerb(t, r.Resolve, &d, v.Verb, args, now)
			}
		}
	}
	if len(seen) < 40 {
		t.Errorf("the simulated home has only %d verbs: %v", len(seen), slices.Sorted(maps.Keys(seen)))
	}
	for verb := range verbArguments {
		if !seen[verb] {
			t.Errorf("no device has the verb %s", verb)
		}
	}
}

func checkVerb(t *testing.T, resolve func(mess.Request) capabilities.Outcome, d *home.Device, verb string, args mess.Object, now time.Time) {
	t.Helper()
	o, err := d.Order(verb, args, now)
	if err != nil {
		t.Errorf("%s %s %v: %v", d.ID, verb, args, err)
		return
	}
	out := resolve(o.Request)
	if out.Plan == nil || out.Plan.Capability != verb || out.Plan.Device != d.Device || len(out.Plan.Steps) > 0 {
		p := requests.PlannedOf(o.Request.Intent, out)
		t.Errorf("%s %s %v: %q is a %s: %s", d.ID, verb, args, o.Request.Intent, p.Outcome, p.Reason)
		return
	}
	for _, a := range args {
		if got := planned(out.Plan, a.Key); got != meantBy(a) {
			t.Errorf("%s %s: %q plans %s %q, want %q", d.ID, verb, o.Request.Intent, a.Key, got, meantBy(a))
		}
	}
	if strings.Contains(o.Request.Intent, "{") {
		t.Errorf("%q has an argument without a value", o.Request.Intent)
	}
}

// planned returns an argument of a plan as text.
func planned(p *capabilities.Plan, key string) string {
	if key == "for" {
		return p.For.String()
	}
	value, _ := p.Args.Get(key)
	switch v := value.(type) {
	case []string:
		return strings.Join(v, ", ")
	case float64:
		if key == "change" {
			v = math.Abs(v)
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// meantBy returns an argument of an order as text.
func meantBy(a mess.Field) string {
	switch v := a.Value.(type) {
	case []any:
		return fmt.Sprint(v[0])
	case string:
		if d, err := mess.Duration(v).Duration(); err == nil && a.Key == "for" {
			return d.String()
		}
		if v == "blue" {
			return "#0000ff"
		}
	}
	return fmt.Sprint(a.Value)
}
