package homeassistant_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/drivers"
)

func pressed(t *testing.T, d drivers.Device) drivers.PressState {
	t.Helper()
	p, err := d.(drivers.PressReader).PressState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// One call of its service triggers a scene, a script or a button, and the entity reports
// the time.
func TestPress(t *testing.T) {
	for _, way := range []string{"live: false\n", ""} {
		for entity, call := range map[string]string{
			"scene.movie": "scene/turn_on", "script.night": "script/turn_on", "button.bell": "button/press", "input_button.test": "input_button/press",
		} {
			t.Run(entity+" "+way, func(t *testing.T) {
				h := newHome(t)
				d := started(t, config(h, entity)+way)
				if way == "" {
					settled(t, h, d)
				}
				before := pressed(t, d)
				if entity != "button.bell" && !before.At.IsZero() {
					t.Errorf("the entity was never pressed, and its time is %v", before.At)
				}
				if err := d.(drivers.Presser).Press(t.Context()); err != nil {
					t.Error(err)
				}
				if after := pressed(t, d); !after.At.After(before.At) || after.At.Location() == nil || after.Running {
					t.Errorf("before %v, after %+v", before.At, after)
				}
				h.mu.Lock()
				defer h.mu.Unlock()
				if !slices.Equal(h.calls, []string{call + " " + entity}) {
					t.Errorf("called %q", h.calls)
				}
			})
		}
	}
}

// The driver does not call a script that runs and would ignore the call.
func TestRunningScript(t *testing.T) {
	h := newHome(t)
	d := started(t, config(h, "script.long"))
	if err := d.(drivers.Presser).Press(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !pressed(t, d).Running {
		t.Error("Running is false, want true")
	}
	err := d.(drivers.Presser).Press(t.Context())
	if !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "script.long runs, and accepts no call") || h.count() != 1 {
		t.Errorf("%v, %d calls", err, h.count())
	}
	err = started(t, config(h, "script.often")).(drivers.Presser).Press(t.Context())
	if !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "runs 2 times, which is its limit") || h.count() != 1 {
		t.Errorf("%v, %d calls", err, h.count())
	}
}

// An entity that does not exist gets no call, and an invalid time is an error.
func TestPressFails(t *testing.T) {
	h := newHome(t)
	for entity, want := range map[string]string{"scene.gone": `"unavailable"`, "scene.none": "Home Assistant has no entity scene.none", "script.odd": "the attributes of a script"} {
		err := started(t, config(h, entity)+"live: false").(drivers.Presser).Press(t.Context())
		if !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", entity, err)
		}
	}
	if h.count() != 0 {
		t.Errorf("%d calls", h.count())
	}
	if p, err := started(t, config(h, "scene.odd")).(drivers.PressReader).PressState(t.Context()); err == nil || !strings.Contains(err.Error(), `reports "scening"`) {
		t.Errorf("%+v, %v", p, err)
	}
}

// If a call ends with a rejection or without an answer, its outcome is unknown, and the
// driver calls once.
func TestPressWithUnknownOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		way string
		set func(*home)
	}{
		"refused within, live": {"", func(h *home) { h.denies = "service_validation_error" }},
		"format, live":         {"", func(h *home) { h.denies = "invalid_format" }},
		"hangs up, live":       {"", func(h *home) { h.deaf = true }},
		"no answer, live":      {"timeout: 2s\n", func(h *home) { h.mute = "scene/turn_on" }},
		"refused within, REST": {"live: false\n", func(h *home) { h.denies = "any" }},
		"no answer, REST":      {"live: false\ntimeout: 2s\n", func(h *home) { h.mute = "scene/turn_on" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			d := started(t, config(h, "scene.movie")+c.way)
			if !strings.Contains(c.way, "live") {
				settled(t, h, d)
			}
			h.mu.Lock()
			c.set(h)
			h.mu.Unlock()
			err := d.(drivers.Presser).Press(t.Context())
			if err == nil || errors.Is(err, drivers.ErrNothingDone) || strings.Contains(err.Error(), token) {
				t.Error(err)
			}
			if n := h.count(); n != 1 {
				t.Errorf("%d calls", n)
			}
		})
	}
}
