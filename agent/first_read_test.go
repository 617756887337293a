package agent_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/drivers"
)

// wakingSensor is a sensor that has no reading before it wakes up.
type wakingSensor struct {
	fakeDevice
	wakes time.Time
	reads int
	err   error // nil: it is silent
}

func (m *wakingSensor) Read(context.Context) ([]drivers.Reading, error) {
	if m.reads++; time.Now().Before(m.wakes) {
		return nil, cmp.Or(m.err, drivers.ErrNoReadingYet)
	}
	return []drivers.Reading{{Quantity: "temperature", Value: 21.5, Unit: "°C"}}, nil
}

// After the start, the status shows the devices without a request.
func TestDevicesAreReadAtStart(t *testing.T) {
	awake, asleep := &wakingSensor{}, &wakingSensor{}
	withHarnessSetup(t, func(h *harness) {
		asleep.wakes = time.Now().Add(30 * time.Second)
		h.more = append(h.more, device.Device{Name: "awake", Driver: awake}, device.Device{Name: "asleep", Driver: asleep})
	}, func(h *harness) {
		defer runUntilStopped(h.t, func(ctx context.Context) error { h.agent.ReadFirst(ctx); return nil })()
		want := func(when, device, text string) {
			t.Helper()
			list := h.agent.Status().Devices
			d := list[slices.IndexFunc(list, func(d agent.DeviceStatus) bool { return d.Name == device })]
			got := ""
			if len(d.KnownStates) > 0 {
				got = d.KnownStates[0].Text
			}
			if got != text || d.Failed.Reason != "" {
				t.Errorf("%s: %s is %q (failed: %q), want %q", when, device, got, d.Failed.Reason, text)
			}
			if reads := device != "fridge-cam"; d.Reads != reads {
				t.Errorf("%s can be read: %v", device, d.Reads)
			}
		}
		h.advance(time.Second)
		want("at the start", "porch-lamp", "off")
		want("at the start", "awake", "temperature 21.5 °C")
		want("at the start", "asleep", "")
		want("at the start", "fridge-cam", "")
		h.advance(2 * time.Minute)
		want("later", "asleep", "temperature 21.5 °C")
		if awake.reads != 1 {
			t.Errorf("the agent read a device with a known state %d times, want 1", awake.reads)
		}
	})
}

// dimmedLamp is a lamp that is on, at 40 %.
type dimmedLamp struct{ lamp }

func (*dimmedLamp) Level(context.Context) (float64, error) { return 40, nil }
func (*dimmedLamp) Angle(context.Context) (float64, error) { return 15, nil }

// After the start, the executor knows the brightness of a lamp that nobody has dimmed, and an angle.
func TestLevelIsReadAtStart(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.more = append(h.more, device.Device{Name: "dimmed", Driver: &dimmedLamp{lamp{on: true}}})
	}, func(h *harness) {
		defer runUntilStopped(h.t, func(ctx context.Context) error { h.agent.ReadFirst(ctx); return nil })()
		h.advance(time.Second)
		list := h.agent.Status().Devices
		d := list[slices.IndexFunc(list, func(d agent.DeviceStatus) bool { return d.Name == "dimmed" })]
		var got []string
		for _, known := range d.KnownStates {
			got = append(got, known.Text)
		}
		if want := []string{"on", "level 40 %", "angle 15 °"}; !slices.Equal(got, want) {
			t.Errorf("the known states are %q, want %q", got, want)
		}
	})
}
