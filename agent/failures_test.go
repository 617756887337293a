package agent_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// failureOf returns the last failure of a device in the status.
func (h *harness) failureOf(name string) device.Failure {
	h.t.Helper()
	for _, d := range h.agent.Status().Devices {
		if d.Name == name {
			return d.Failed
		}
	}
	h.t.Fatalf("no device %s", name)
	return device.Failure{}
}

// The status keeps a failure until the device works again.
func TestFailureStaysUntilDeviceWorks(t *testing.T) {
	withHarness(t, func(h *harness) {
		none := device.Failure{}
		if h.failureOf("fridge-cam") != none || h.failureOf("porch-lamp") != none {
			h.t.Error("nothing has been used")
		}
		h.fridge.broken = errors.New("no picture within 5s")
		h.wantStatus(h.send(requester, `request: {intent: "what's in the fridge?"}`), mess.Failed)
		began := h.failureOf("fridge-cam").At
		h.advance(time.Hour)
		if f := h.failureOf("fridge-cam"); f.At != began || time.Since(f.At) < time.Hour || !strings.Contains(f.Reason, "no picture within 5s") {
			h.t.Errorf("%+v", f)
		}
		if f := h.failureOf("porch-lamp"); f != none {
			h.t.Errorf("another one: %+v", f)
		}
		h.fridge.broken = nil
		h.wantStatus(h.send(requester, `request: {intent: "what's in the fridge?"}`), mess.Completed)
		if f := h.failureOf("fridge-cam"); f != none {
			h.t.Errorf("failure of a working device is %+v, want none", f)
		}
	})
}

// A cancel or a busy device neither adds nor removes a failure.
func TestCancelAndBusyAreNoFailures(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.startCleaning()
		h.advance(13 * time.Second)
		h.send(requester, "cancel: {re: "+ref+"}")
		h.wantStatus(ref, mess.Cancelled)
		if f := h.failureOf("vacuum"); f != (device.Failure{}) {
			h.t.Errorf("failure after a cancel is %+v, want none", f)
		}
		h.lamp.set(func(l *lamp) { l.broken = errors.New("the wire is cut") })
		h.wantStatus(h.send(requester, "request: {intent: ring the bell}"), mess.Failed)
		cut := h.failureOf("porch-lamp")
		h.lamp.set(func(l *lamp) { l.broken = drivers.ErrBusy })
		h.advance(time.Hour)
		h.wantStatus(h.send(requester, "request: {intent: ring the bell}"), mess.Failed)
		if f := h.failureOf("porch-lamp"); f != cut || !strings.Contains(f.Reason, "the wire is cut") {
			h.t.Errorf("%+v, and it was %+v", f, cut)
		}
	})
}

// The exchange knows which devices have failed, when and why, until they work again; also after
// a restart of the agent.
func TestExchangeKnowsFailedDevices(t *testing.T) {
	withHarness(t, func(h *harness) {
		known := func() (list []string) {
			h.advance(time.Second)
			for _, e := range h.x.Executors() {
				for _, f := range e.FailingDevices() {
					if time.Since(f.At) > time.Hour+time.Minute || time.Since(f.At) < 0 {
						h.t.Errorf("%+v", f)
					}
					list = append(list, f.Device+": "+f.Reason)
				}
			}
			return list
		}
		if list := known(); len(list) != 0 {
			h.t.Errorf("nothing has been used: %q", list)
		}
		h.fridge.broken = errors.New("no picture within 5s" + strings.Repeat("é", 500))
		h.wantStatus(h.send(requester, `request: {intent: "what's in the fridge?"}`), mess.Failed)
		h.advance(time.Hour)
		list := known()
		if len(list) != 1 || !strings.HasPrefix(list[0], "fridge-cam: ") || !strings.Contains(list[0], "no picture within 5s") || len(list[0]) > 300 || !utf8.ValidString(list[0]) {
			h.t.Fatalf("%q", list)
		}
		h.fridge.broken = nil
		h.wantStatus(h.send(requester, `request: {intent: "what's in the fridge?"}`), mess.Completed)
		if list := known(); len(list) != 0 {
			h.t.Errorf("failures of a working device are %q, want none", list)
		}
	})
}

// If the policy cannot switch a device off at the end of its time, the status reports that
// until it is off, and no reader sees a healthy device.
func TestFailedSwitchOffIsReported(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.policyCfg.Devices = map[string]settings.Limits{"porch-lamp": {MaxOn: 10 * time.Second}}
	}, func(h *harness) {
		looks := func() (string, error) {
			return device.NewSelfTest(h.policy, nil, time.Now).Use(t.Context(), device.Device{Name: "porch-lamp", Driver: h.lamp})
		}
		h.wantStatus(h.send(requester, "request: {intent: turn on the porch light}"), mess.Completed)
		h.lamp.set(func(l *lamp) { l.broken = errors.New("the wire is cut") })
		h.advance(11 * time.Second)
		over := time.Now().Add(-time.Second)
		h.advance(time.Minute)
		const reason = "it may still be on after its time, because messkit cannot switch it off; messkit tries again, check the device: the wire is cut"
		if f := h.failureOf("porch-lamp"); f.Reason != reason || !f.At.Equal(over) {
			t.Errorf("%+v, and its time was over at %v", f, over)
		}
		if failure, err := looks(); err == nil || err.Error() != reason {
			t.Errorf("%q, %v", failure, err)
		}
		if list := h.x.Executors()[0].FailingDevices(); len(list) != 1 || list[0].Reason != reason {
			t.Errorf("%+v", list)
		}
		h.lamp.set(func(l *lamp) { l.broken = nil })
		h.advance(time.Minute)
		if f := h.failureOf("porch-lamp"); f != (device.Failure{}) || h.lamp.get().on {
			t.Errorf("failure is %+v, want none and the lamp off", f)
		}
		if _, err := looks(); err != nil {
			t.Error(err)
		}
	})
}
