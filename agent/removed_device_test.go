package agent_test

import (
	"strings"
	"testing"
	"time"

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

// wantKept checks that a task keeps its device.
func wantKept(h *harness, device, ref string) {
	h.t.Helper()
	if _, err := h.agent.KeepDevice(device); err == nil || !strings.Contains(err.Error(), ref) {
		h.t.Errorf("%s: %v, want the task %s", device, err, ref)
	}
}
