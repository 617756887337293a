package agent_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/drivers/sim"
	"github.com/messkit/messkit/mess"
)

// A running task, and one that waits for a confirmation, keep their device. A device without a task is removed:
// later requests name the reason, and other devices go on.
func TestDeviceIsRemovedLater(t *testing.T) {
	withHarness(t, func(h *harness) {
		waits := h.send(requester, "request: {intent: vacuum both}")
		h.wantStatus(waits, mess.NeedsConfirmation)
		wantKept(h, "vacuum", waits)
		h.send(person, "reply: {re: "+waits+", confirm: true}")
		h.wantStatus(waits, mess.InProgress)
		wantKept(h, "vacuum", waits)
		h.advance(time.Minute)
		h.wantStatus(waits, mess.Completed)

		release, err := h.agent.KeepDevice("porch-lamp")
		if err != nil {
			h.t.Fatal(err)
		}
		if _, err := h.agent.KeepDevice("porch-lamp"); err == nil {
			h.t.Error("two operators change one device")
		}
		late := h.send(requester, "request: {intent: turn on the porch light}")
		if s := h.wantStatus(late, mess.Declined); s.Reason == nil || !strings.Contains(s.Reason.Detail, "removes or changes it now") {
			h.t.Errorf("%+v", s.Reason)
		}
		if err := h.agent.RemoveDevice(h.t.Context(), "porch-lamp"); err != nil {
			h.t.Fatal(err)
		}
		release()
		gone := h.send(requester, "request: {intent: turn on the porch light}")
		if s := h.wantStatus(gone, mess.Declined); s.Reason == nil || !strings.Contains(s.Reason.Detail, "no device") {
			h.t.Errorf("%+v", s.Reason)
		}
		for _, d := range h.agent.Status().Devices {
			if d.Name == "porch-lamp" {
				h.t.Error("the device is still there")
			}
		}
		if err := h.agent.RemoveDevice(h.t.Context(), "porch-lamp"); err == nil {
			h.t.Error("a device was removed twice")
		}
		other := h.startCleaning()
		h.advance(time.Minute)
		h.wantStatus(other, mess.Completed)
		if h.lamp.acts() != "" {
			h.t.Errorf("the lamp did: %s", h.lamp.acts())
		}
	})
}

// A task that waits for an answer to its question has no plan. It keeps no device, also after a restart
// of the agent.
func TestQuestionKeepsNoDevice(t *testing.T) {
	withHarness(t, func(h *harness) {
		asks := h.send(requester, "request: {intent: vacuum the kitchen}")
		h.wantStatus(asks, mess.NeedsInput)
		for range 2 {
			for _, name := range []string{"porch-lamp", "vacuum"} {
				release, err := h.agent.KeepDevice(name)
				if err != nil {
					h.t.Fatal(err)
				}
				release()
			}
			h.restart()
		}
		h.wantStatus(asks, mess.NeedsInput)
	})
}

// wantKept checks that a task keeps its device.
func wantKept(h *harness, device, ref string) {
	h.t.Helper()
	if _, err := h.agent.KeepDevice(device); err == nil || !strings.Contains(err.Error(), ref) {
		h.t.Errorf("%s: %v, want the task %s", device, err, ref)
	}
}

// A device without a map has none, and during a stop nothing reads one.
func TestFloorMap(t *testing.T) {
	withHarness(t, func(h *harness) {
		if _, err := h.agent.FloorMap(h.t.Context(), "porch-lamp"); !errors.Is(err, agent.ErrNoMap) {
			h.t.Error(err)
		}
		if _, err := h.agent.FloorMap(h.t.Context(), "none"); !errors.Is(err, agent.ErrNoMap) {
			h.t.Error(err)
		}
	})
	home := sim.NewVacuum("robot", sim.DefaultVacuumConfig(), sim.NewWorld(time.Now))
	withHarnessSetup(t, func(h *harness) { h.more = []device.Device{{Name: "robot", Driver: home}} }, func(h *harness) {
		m, err := h.agent.FloorMap(h.t.Context(), "robot")
		if err != nil || len(m.Data) == 0 || len(m.Rooms) != len(home.Rooms()) || m.Robot == nil || *m.Robot != *m.Dock {
			h.t.Errorf("%v: %+v, %+v", err, m.Rooms, m.Robot)
		}
		h.policy.Stop("smoke")
		if _, err := h.agent.FloorMap(h.t.Context(), "robot"); err == nil {
			h.t.Error("a map was read during a stop")
		}
		h.policy.ResetStop()
	})
}
