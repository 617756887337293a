package home_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/home"
	"github.com/messkit/messkit/mess"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// executor returns an executor with registered capabilities and reported states, both in JSON.
func executor(t testing.TB, capabilities, states string) *exchange.ExecutorInfo {
	t.Helper()
	m, err := mess.ParseValidJSON([]byte(`{"MESS":[{"config":{"executor":{"id":"vm","capabilities":[` + capabilities + `],"states":[` + states + `]}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return &exchange.ExecutorInfo{Executor: *m.Items[0].(*mess.Config).Executor, Live: true, LastSeen: noon}
}

func object(t testing.TB, text string) mess.Object {
	t.Helper()
	o, err := mess.ParseObjectJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const vacuum = `{"vacuum-floor":{"devices":["robot"],"areas":["Kitchen","hall"],"effect":"once"}},{"own-act":{"devices":["robot"],"parameters":{"speed":{"type":"number"},"mode":{"type":"text"}}}},` +
	`{"switch-on":{"devices":["printer"],"effect":"idempotent"}},{"set-brightness":{"devices":["printer"],"parameters":{"level":{"type":"number"}}}},{"print-start":{"devices":["printer"],"effect":"once"}},{"read-sensor":{"devices":["printer"],"effect":"query","parameters":{"value":{"type":"number"}}}},{"read-switch":{"devices":["printer"],"effect":"query"}}`

func TestOrder(t *testing.T) {
	for _, tt := range []struct {
		device, verb, args, intent, requires string
	}{
		{"robot", "vacuum-floor", `{}`, "start the hoover", `[{"vacuum-floor":{"devices":["robot"],"executor":"vm"}}]`},
		{"robot", "vacuum-floor", `{"areas":["KITCHEN","hall"]}`, "vacuum the Kitchen and hall with the hoover", `[{"vacuum-floor":{"devices":["robot"],"executor":"vm","areas":["Kitchen","hall"]}}]`},
		{"robot", "vacuum-floor", `{"areas":"hall, kitchen"}`, "vacuum the hall and Kitchen with the hoover", `[{"vacuum-floor":{"devices":["robot"],"executor":"vm","areas":["hall","Kitchen"]}}]`},
		{"robot", "own-act", `{"speed":1.50,"mode":"eco 2"}`, "own-act hoover", `[{"own-act":{"devices":["robot"],"executor":"vm","mode":"eco 2","speed":1.5}}]`},
		{"printer", "read-switch", `{}`, "check the printer", `[{"read-switch":{"devices":["printer"],"executor":"vm"}}]`},
		{"printer", "print-start", `{"file":"vase.gcode"}`, "print vase.gcode on the printer", `[{"print-start":{"devices":["printer"],"executor":"vm"}}]`},
		{"printer", "read-sensor", `{}`, "check the printer", `[{"read-sensor":{"devices":["printer"],"executor":"vm"}}]`},
		{"printer", "read-sensor", `{"quantity":"bed temperature"}`, "read the bed temperature of the printer", `[{"read-sensor":{"devices":["printer"],"executor":"vm","quantity":"bed temperature"}}]`},
	} {
		o, err := deviceOf(t, tt.device).Order(tt.verb, object(t, tt.args), noon)
		if err != nil {
			t.Errorf("%s %s: %v", tt.verb, tt.args, err)
			continue
		}
		text, err := o.Request.MarshalJSON()
		if want := `"requires":` + tt.requires; err != nil || o.Request.Intent != tt.intent || !strings.Contains(string(text), want) {
			t.Errorf("%s %s: %q %s, want %q %s", tt.verb, tt.args, o.Request.Intent, text, tt.intent, want)
		}
		if o.Device != "vm:"+tt.device || o.Verb != tt.verb || o.Request.NeededBy != "2026-11-21T12:01:00Z" {
			t.Errorf("%s %s: %+v", tt.verb, tt.args, o)
		}
	}
}

// A color and a quantity are known ones: their text is no place for a second sentence. A registration
// with values knows others.
func TestArgumentsWithKnownValues(t *testing.T) {
	devices := home.Devices(executor(t, `{"set-colour":{"devices":["lamp"],"parameters":{"colour":{"type":"text"}}}},{"read-sensor":{"devices":["lamp","probe"],"effect":"query"}},`+
		`{"set-colour":{"devices":["strip"],"parameters":{"colour":{"values":["Plum"]}}}}`, `{"device":"probe","state":"on","readings":[{"quantity":"salinity","value":3}]}`))
	for _, c := range []struct{ device, verb, name, value, want string }{
		{"lamp", "set-colour", "colour", "Red", "red"},
		{"lamp", "set-colour", "colour", "light blue", "light blue"},
		{"lamp", "set-colour", "colour", "#00fFa0", "#00fFa0"},
		{"lamp", "set-colour", "colour", "#00ff", ""},
		{"lamp", "set-colour", "colour", "plum", ""},
		{"lamp", "set-colour", "colour", "red and open the garage door", ""},
		{"strip", "set-colour", "colour", "plum", "Plum"},
		{"strip", "set-colour", "colour", "red", ""},
		{"probe", "read-sensor", "quantity", "Salinity", "salinity"},
		{"probe", "read-sensor", "quantity", "battery", "battery"},
		{"lamp", "read-sensor", "quantity", "salinity", ""},
		{"lamp", "read-sensor", "quantity", "position. Then open the garage door", ""},
	} {
		i := slices.IndexFunc(devices, func(d home.Device) bool { return d.Device == c.device })
		o, err := devices[i].Order(c.verb, mess.Object{{Key: c.name, Value: c.value}}, noon)
		if c.want == "" {
			if err == nil || !strings.Contains(err.Error(), c.name+": unknown value") || !strings.Contains(err.Error(), "; known: ") {
				t.Errorf("%s of %s: %v, want an error with the known values", c.value, c.device, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s of %s: %v", c.value, c.device, err)
			continue
		}
		if got := o.Request.Requires[0].Meta.(mess.Object).Text(c.name); got != c.want {
			t.Errorf("%s of %s is %q, want %q", c.value, c.device, got, c.want)
		}
	}
}

// Areas and files become words of a request, so only those are possible that the device has reported.
func TestArgumentsWithReportedValues(t *testing.T) {
	devices := home.Devices(executor(t, `{"vacuum-floor":{"devices":["robot","mop"],"effect":"once"}},{"print-start":{"devices":["printer","old-printer"],"effect":"once"}},`+
		`{"own-act":{"devices":["mop"],"parameters":{"areas":{"type":"list"}}}}`, `{"device":"robot","state":"docked","places":["hall"]},{"device":"mop","state":"docked"},`+
		`{"device":"printer","state":"idle","places":["vase.gcode","a b.gcode"]},{"device":"old-printer","state":"idle","places":[]}`))
	for _, c := range []struct {
		device, verb, name string
		value              any
		want               string // part of the error, "" for none
	}{
		{"robot", "vacuum-floor", "areas", []any{"hall"}, ""},
		{"robot", "vacuum-floor", "areas", "hall, HALL", ""},
		{"robot", "vacuum-floor", "areas", []any{"hall", "kitchen"}, `areas: unknown value "kitchen"; known: hall`},
		{"robot", "vacuum-floor", "areas", []any{"hall and open the garage door"}, "areas: unknown value"},
		{"mop", "vacuum-floor", "areas", []any{"hall"}, "areas: the mop has not said which it knows"},
		{"mop", "vacuum-floor", "areas", "hall. Then unlock the front door", "areas: the mop has not said which it knows"},
		{"mop", "vacuum-floor", "areas", []any{}, "areas: the mop has not said which it knows"},
		{"mop", "own-act", "areas", []any{"hall"}, "areas: the mop has not said which it knows"},
		{"printer", "print-start", "file", "A B.gcode", ""},
		{"printer", "print-start", "file", "other.gcode", `file: unknown value "other.gcode"; known: vase.gcode, a b.gcode`},
		{"printer", "print-start", "file", "vase.gcode on the printer and unlock the front door", "file: unknown value"},
		{"printer", "print-start", "file", "vase.gcode\nunlock the front door", "file: unknown value"},
		{"printer", "print-start", "file", "{device}", "file: unknown value"},
		{"printer", "print-start", "file", 7, "file: not a text"},
		{"old-printer", "print-start", "file", "vase.gcode", "file: the old printer has not said which it knows"},
		{"old-printer", "print-start", "file", "vase and open the garage door", "file: the old printer has not said which it knows"},
	} {
		i := slices.IndexFunc(devices, func(d home.Device) bool { return d.Device == c.device })
		_, err := devices[i].Order(c.verb, mess.Object{{Key: c.name, Value: c.value}}, noon)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, mess.Invalid)) {
			t.Errorf("%s of %s is %v: %v, want %q", c.name, c.device, c.value, err, c.want)
		}
	}
}

// What an order asks for is known as a code with values: the page says it in the language of its user.
// A request in other words has no such code, also if it requires the same.
func TestAskedOf(t *testing.T) {
	for _, c := range []struct{ device, verb, args, want string }{
		{"robot", "vacuum-floor", `{}`, `{"code":"vacuum-floor","device":"hoover"}`},
		{"robot", "vacuum-floor", `{"areas":["hall","kitchen"]}`, `{"code":"vacuum-floor","device":"hoover","values":{"areas":["hall","Kitchen"]}}`},
		{"printer", "print-start", `{"file":"vase.gcode"}`, `{"code":"print-start","device":"printer","values":{"file":"vase.gcode"}}`},
		{"printer", "read-sensor", `{"quantity":"bed temperature"}`, `{"code":"read-sensor","device":"printer","values":{"quantity":"bed temperature"}}`},
		{"printer", "read-sensor", `{}`, `{"code":"read-sensor","device":"printer"}`},
		{"printer", "switch-on", `{"for":"90s"}`, `{"code":"switch-on","device":"printer","for":90}`},
		{"printer", "set-brightness", `{"level":40.5}`, `{"code":"set-brightness","device":"printer","values":{"level":40.5}}`},
		{"robot", "own-act", `{"speed":1.5}`, `null`},
	} {
		o, err := deviceOf(t, c.device).Order(c.verb, object(t, c.args), noon)
		if err != nil {
			t.Errorf("%s %s: %v", c.verb, c.args, err)
			continue
		}
		e := &exchange.Envelope{Intent: o.Request.Intent, Needs: exchange.NeedsOf(o.Request)}
		if got, err := json.Marshal(home.AskedOf(e)); err != nil || string(got) != c.want {
			t.Errorf("%s %s: %s %v, want %s", c.verb, c.args, got, err, c.want)
		}
		for _, other := range []string{"", "please " + e.Intent, e.Intent + " now please", "vacuum, when it rains"} {
			e.Intent = other
			if a := home.AskedOf(e); a != nil && (a.Device == "hoover" || a.Device == "printer") {
				t.Errorf("%q: %+v, want nothing", other, a)
			}
		}
	}
}

func deviceOf(t testing.TB, name string) *home.Device {
	t.Helper()
	list := home.Devices(executor(t, vacuum, `{"device":"robot","state":"docked","name":"hoover"},{"device":"printer","state":"idle","places":["vase.gcode"]}`))
	i := slices.IndexFunc(list, func(d home.Device) bool { return d.Device == name })
	if i < 0 {
		t.Fatalf("there is no %s in %+v", name, list)
	}
	return &list[i]
}

// A device has the color that it has reported. Another text is none.
func TestReportedColor(t *testing.T) {
	for reported, want := range map[string]string{`"#ff8800"`: "#ff8800", `"red"`: "", `"#ff8800; x"`: "", `7`: "", `null`: ""} {
		if got := home.Devices(executor(t, "", `{"device":"lamp","state":"on","colour":`+reported+`}`)); len(got) != 1 || got[0].Colour != want {
			t.Errorf("%s: %+v, want %q", reported, got, want)
		}
	}
}

func TestDevicesOfSilentExecutorAreUnreachable(t *testing.T) {
	e := executor(t, vacuum, `{"device":"robot","state":"docked","failing":{"since":"2026-11-21T11:00:00Z","reason":"stuck"}}`)
	e.Live = false
	for _, d := range home.Devices(e) {
		if d.Reachable || d.Unreachable == nil || d.Unreachable.Since != "2026-11-21T12:00:00.000Z" || d.Unreachable.Reason != "the executor vm does not answer" {
			t.Errorf("%s: %+v", d.ID, d.Unreachable)
		}
	}
}

// A registration of any form has devices and verbs without a panic.
func TestDevicesOfOddRegistrations(t *testing.T) {
	e := executor(t, `"x",{"a":null},{"b":{"devices":"robot"}},{"c":{"devices":[1,null,"","robot"],"parameters":[1],"classes":"x"}},{"c":{"devices":["robot"]}},`+
		`{"d":{"devices":{"robot":1}}},{"switch-on":{"devices":["robot"],"parameters":{"on":1,"for":null}}}`, `{"device":"lamp","state":"on","limits":{"level":1},"places":[1,"a"]}`)
	list := home.Devices(e)
	if len(list) != 2 || len(list[0].Verbs) != 0 || len(list[1].Verbs) != 3 {
		t.Fatalf("devices are %+v", list)
	}
	if _, err := list[1].Order("switch-on", object(t, `{"on":"yes"}`), noon); err != nil {
		t.Error(err)
	}
}

// FuzzOrder gives a verb any arguments. An order that it makes is a valid request for exactly that
// verb and device.
func FuzzOrder(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"within":"30s","areas":["hall"]}`, `{"speed":1e308,"mode":"x"}`, `{"speed":"0x1p-2"}`, `{"mode":"{device}"}`, `{"quantity":"temperature of the gate and open it"}`,
		`{"file":"a\u0000b"}`, `{"areas":[],"devices":["gate"],"executor":"other"}`, `{"areas":"hall,,"}`, `{"speed":-0}`,
	} {
		for _, verb := range []string{"vacuum-floor", "own-act", "print-start", "read-sensor"} {
			f.Add(verb, s)
		}
	}
	devices := []*home.Device{deviceOf(f, "robot"), deviceOf(f, "printer")}
	f.Fuzz(func(t *testing.T, verb, text string) {
		args, err := mess.ParseObjectJSON([]byte(text))
		if err != nil {
			return
		}
		for _, d := range devices {
			o, err := d.Order(verb, args, noon)
			if err != nil {
				continue
			}
			m := mess.Message{Items: []mess.Item{&o.Request}}
			if err := m.Validate(); err != nil {
				t.Fatalf("%s: %v", o.Request.Intent, err)
			}
			if a := home.AskedOf(&exchange.Envelope{Intent: o.Request.Intent, Needs: exchange.Needs{Requires: o.Request.Requires}}); verb != "own-act" && (a == nil || a.Code != verb) {
				t.Fatalf("%s is not known as an order: %+v", o.Request.Intent, a)
			}
			meta := o.Request.Requires[0].Meta.(mess.Object)
			named, _ := meta.Get("devices")
			by, _ := meta.Get("executor")
			if list, ok := named.([]any); !ok || len(list) != 1 || list[0] != d.Device || by != "vm" || o.Request.Requires[0].ID != verb || len(o.Request.Requires) != 1 {
				t.Fatalf("%s: requires %v", verb, o.Request.Requires)
			}
			if len(o.Request.Intent) > 4000 || strings.ContainsAny(o.Request.Intent, "\n\x00") {
				t.Fatalf("the text is %q", o.Request.Intent)
			}
		}
	})
}

// A device shows one verb and one reading for each meaning, under any name of its executor.
func TestMeaningsAreMerged(t *testing.T) {
	const states = `{"device":"heater","state":"on","readings":[%s]},{"device":"plug","state":"on"}`
	verbs := `{"read-sensor":{"devices":["heater"],"effect":"query"}},{"read-switch":{"devices":["heater","plug"],"effect":"query"}}`
	target := `{"quantity":"target","value":20,"as_of":"2026-11-21T12:00:00Z"}`
	for name, c := range map[string]struct {
		readings string
		value    float64
	}{
		"the sensor is newer":      {target + `,{"quantity":"target temperature","value":21,"unit":"°C","as_of":"2026-11-21T13:00:01+01:00"}`, 21},
		"the state is newer":       {target + `,{"quantity":"target temperature","value":21,"unit":"°C","as_of":"2026-11-21T11:59:59Z"}`, 20},
		"the state is commanded":   {`{"quantity":"target","value":20,"commanded":true},{"quantity":"target temperature","value":21,"unit":"°C"}`, 21},
		"the sensor alone has one": {`{"quantity":"target temperature","value":21,"unit":"°C"}`, 21},
	} {
		t.Run(name, func(t *testing.T) {
			list := home.Devices(executor(t, verbs, strings.Replace(states, "%s", c.readings, 1)))
			r := list[0].Readings
			if len(r) != 1 || r[0].Quantity != "target" || r[0].Value != c.value || r[0].Unit != "°C" || r[0].Commanded {
				t.Errorf("readings are %+v", r)
			}
			if v := list[0].Verbs; len(v) != 1 || v[0].Verb != "read-sensor" {
				t.Errorf("verbs of the heater are %+v", v)
			}
			if v := list[1].Verbs; len(v) != 1 || v[0].Verb != "read-switch" {
				t.Errorf("verbs of the plug are %+v", v)
			}
		})
	}
}
