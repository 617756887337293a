package settings_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
)

func TestConfigReportsEveryError(t *testing.T) {
	cfg := settings.Config{
		Confirm: map[capabilities.Risk]settings.Confirm{capabilities.RiskMotion: settings.ConfirmRequester, "noise": settings.ConfirmOperator, capabilities.RiskComfort: "maybe"},
		Devices: map[string]settings.Limits{"lamp": {MaxOn: -1, Busy: "queue", Confirm: "boss"}},
	}
	err := cfg.Validate()
	for _, want := range []string{
		`confirm.motion: "requester" is weaker than "operator"`, "confirm.noise: unknown risk", `confirm.comfort: unknown value "maybe"`,
		"devices.lamp.max_on", "devices.lamp.busy", "devices.lamp.confirm",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
}

func FuzzParseHours(f *testing.F) {
	for _, s := range []string{"22:00-07:00", "9:00-17:30", "", "-", "24:00-25:00", "07:00-07:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := settings.ParseHours(s)
		if err != nil {
			if h != (settings.Hours{}) {
				t.Errorf("%q: an error and %v", s, h)
			}
			return
		}
		if again, err := settings.ParseHours(h.String()); err != nil || again != h {
			t.Errorf("%q prints as %q: %v, %v", s, h, again, err)
		}
	})
}

func TestHoursAsText(t *testing.T) {
	var h settings.Hours
	if err := h.UnmarshalText([]byte("9:05 - 17:30")); err != nil {
		t.Fatal(err)
	}
	if text, err := h.MarshalText(); err != nil || string(text) != "09:05-17:30" {
		t.Errorf("%s, %v", text, err)
	}
	if err := h.UnmarshalText([]byte("noon")); err == nil || h != (settings.Hours{}) {
		t.Errorf("%v, %v", h, err)
	}
}

func FuzzParseRate(f *testing.F) {
	for _, s := range []string{"20/h", "5/m", " 1 / d ", "0/h", "-1/h", "20", "/", "1/s", "99999999999999999999/h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := settings.ParseRate(s)
		if err != nil {
			if r != (settings.Rate{}) {
				t.Errorf("%q: an error and %v", s, r)
			}
			return
		}
		var again settings.Rate
		text, _ := r.MarshalText()
		if err := again.UnmarshalText(text); err != nil || again != r || r.N < 1 || r.Per <= 0 {
			t.Errorf("%q prints as %q: %v, %v", s, text, again, err)
		}
	})
}

func TestInvalidBoundsAreRejected(t *testing.T) {
	for want, b := range map[string]settings.Bounds{
		"neither min, max nor only": {},
		"keep words or numbers":     {Min: new(1.0), Only: []string{"a"}},
		"2 is more than max, 1":     {Min: new(2.0), Max: new(1.0)},
	} {
		if err := b.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", b, err, want)
		}
	}
}

func TestInvalidNeedsAreRejected(t *testing.T) {
	for want, n := range map[string]settings.Condition{
		"device: is missing":               {Is: "on"},
		"is: is missing":                   {Device: "d"},
		`is: unknown value "ajar"`:         {Device: "d", Is: "ajar"},
		"quantity: there is is: as well":   {Device: "d", Is: "on", Min: new(1.0)},
		"min: neither min nor max":         {Device: "d", Quantity: "power"},
		"max_age: -1s is negative":         {Device: "d", Is: "on", MaxAge: -time.Second},
		"d cannot report whether it is on": {Device: "d", Is: "on"},
		"d measures nothing":               {Device: "d", Is: "open"},
	} {
		err := errors.Join(n.Validate(), n.SupportedBy(thing{}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", n, err, want)
		}
	}
}

// thing is a device without any state.
type thing struct{}

func (thing) Name() string                 { return "d" }
func (thing) SetName(string)               {}
func (thing) Connection() gobot.Connection { return nil }
func (thing) Start() error                 { return nil }
func (thing) Halt() error                  { return nil }
