package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
)

// deadDevice is a lamp that does not reach its safe state.
type deadDevice struct{ lamp }

func (d *deadDevice) Halt() error { return errors.New("no route") }

// One dead device without any use does not make the shutdown unclean. A dead device that may be
// on does, by name.
func TestDeadDeviceAtShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := policy.New(settings.DefaultConfig(), time.Now, quiet())
		var devices []device.Device
		for _, name := range []string{"unplugged", "heater", "pump"} {
			devices = append(devices, device.Device{Name: name, Driver: &deadDevice{}})
		}
		var logged strings.Builder
		log := slog.New(slog.NewTextHandler(&logged, nil))
		devices = device.Start(t.Context(), g, devices, log)
		for i, on := range map[int]bool{1: true, 2: true} {
			plan := step(devices[i].Name, on)
			pass, err := g.Admit(t.Context(), policy.Order{Plan: plan}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := pass.Switch(t.Context(), devices[i].Driver.(*deadDevice), on); err != nil {
				t.Error(err)
			}
			pass.End()
		}
		err := device.Halt(context.WithoutCancel(t.Context()), g, devices, log)
		if got := device.Unsafe(fmt.Errorf("at the end: %w", errors.Join(err, err, errors.New("another")))); !slices.Equal(got, []string{"heater", "pump"}) {
			t.Errorf("not safe: %v; %v", got, err)
		}
		if !strings.Contains(fmt.Sprint(err), "the agent could not take heater to its safe state, and it may be on or moving; look at it: no route") {
			t.Error(err)
		}
		if !strings.Contains(logged.String(), `msg="not reached at the end; it was not in use" device=unplugged err="no route"`) || strings.Contains(fmt.Sprint(err), "unplugged") {
			t.Errorf("log is %s", logged.String())
		}
	})
}
