package policy_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/drivers"
)

// plug is a lamp as a device, which may be on when it starts.
type plug struct {
	*lamp
	startErr error
}

var _ drivers.Device = plug{}

func (plug) Name() string                 { return "lamp" }
func (plug) SetName(string)               {}
func (plug) Connection() gobot.Connection { return nil }
func (p plug) Start() error               { return p.startErr }
func (plug) Halt() error                  { return nil }

// reader is a plug with readback.
type reader struct {
	plug
	on  bool
	err error
}

func (r reader) On(context.Context) (bool, error) { return r.on, r.err }

// max_on also limits a device that is on at its start.
func TestMaxOnCountsFromStart(t *testing.T) {
	tests := []struct {
		name  string
		limit time.Duration
		dev   func(l *lamp) drivers.Device
		want  string
	}{
		{"reads on", time.Minute, func(l *lamp) drivers.Device { return reader{plug{lamp: l}, true, nil} }, "off 1m0s"},
		{"reads off", time.Minute, func(l *lamp) drivers.Device { return reader{plug{lamp: l}, false, nil} }, ""},
		{"reads nothing", time.Minute, func(l *lamp) drivers.Device { return reader{plug{lamp: l}, false, errors.New("no answer")} }, "off 1m0s"},
		{"cannot report its state", time.Minute, func(l *lamp) drivers.Device { return plug{lamp: l} }, "off 1m0s"},
		{"no limit", 0, func(l *lamp) drivers.Device { return reader{plug{lamp: l}, true, nil} }, ""},
		{"does not start", time.Minute, func(l *lamp) drivers.Device { return plug{l, errors.New("no such line")} }, ""},
	}
	for _, tt := range tests {
		withLamp(t, settings.Limits{MaxOn: tt.limit}, func(t *testing.T, g *policy.Policy, l *lamp) {
			_ = g.Start(t.Context(), tt.dev(l), "lamp") // one of them fails
			advance(10 * time.Minute)
			if l.history() != tt.want {
				t.Errorf("%s: %q, want %q", tt.name, l.history(), tt.want)
			}
		})
	}
}

// detacher is a plug that can continue alone. It records how it ends.
type detacher struct {
	plug
	ended *string
}

var _ drivers.Detacher = detacher{}

func (l detacher) Halt() error   { *l.ended = "halted"; return nil }
func (l detacher) Detach() error { *l.ended = "left"; return nil }

// The end of the program halts every device during a stop, also one that could continue alone.
func TestNoDeviceContinuesDuringStop(t *testing.T) {
	for why, want := range map[string]string{"": "left", "smoke": "halted"} {
		withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
			var ended string
			if why != "" {
				g.Stop(why)
			}
			err := g.Halt(t.Context(), detacher{plug{lamp: l}, &ended}, "lamp")
			if err != nil || ended != want {
				t.Errorf("stop %q: the device %s, %v; want %s", why, ended, err, want)
			}
		})
	}
}
