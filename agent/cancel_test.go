package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/mess"
)

func TestCancelBeforeStart(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.send(requester, "request: {intent: vacuum both}")
		h.send(requester, "cancel: {re: "+ref+"}")
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Cancelled)
		if h.vacuum.acts() != "" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.acts())
		}
	})
}

// While one request starts a device, a cancel of the next one and the status do not wait
// for that start.
func TestCancelDuringDeviceStart(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.stopAgent()
		h.lamp.set(func(l *lamp) { l.unplug = true })
		h.startAgent()
		h.advance(time.Second)
		h.lamp.set(func(l *lamp) { l.unplug, l.starts = false, 8*time.Second })
		first := h.send(requester, "request: {intent: turn on the porch light}")
		h.advance(time.Second)
		second := h.send(requester, "request: {intent: turn off the porch light}")
		h.advance(time.Second)
		h.send(requester, "cancel: {re: "+second+"}")
		h.advance(time.Second)
		h.wantStatus(second, mess.Cancelled)
		asked := time.Now()
		h.failureOf("porch-lamp")
		if took := time.Since(asked); took > 0 {
			h.t.Errorf("the status took %v", took)
		}
		h.advance(time.Minute)
		h.wantStatus(first, mess.Completed)
		if h.lamp.acts() != "on" {
			h.t.Errorf("the lamp did: %s", h.lamp.acts())
		}
	})
}

func TestCancelDuringAct(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.startCleaning()
		h.advance(13 * time.Second)
		h.send(requester, "cancel: {re: "+ref+"}")
		s := h.wantStatus(ref, mess.Cancelled)
		if s.Reason.Effect != mess.EffectPartial || !strings.Contains(s.Reason.Detail, "done: near sink; not done: stove") {
			h.t.Errorf("%+v", s.Reason)
		}
		if h.vacuum.acts() != "clean near sink+stove, stopped" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.acts())
		}
	})
}

func TestLateCancel(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.lamp.running = func() { // and its act ignores that
			if _, err := h.postWithoutWait(requester, "cancel: {re: last}"); err != nil {
				h.t.Error(err)
			}
		}
		h.wantStatus(h.send(requester, "request: {intent: turn on the porch light}"), mess.Completed)
	})
}

func TestCancelInHeartbeatAck(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.startCleaning()
		h.connection.set(func(l *connection) { l.dropIncoming = true })
		h.send(requester, "cancel: {re: "+ref+"}")
		h.wantStatus(ref, mess.InProgress)
		h.advance(10 * time.Second)
		h.wantStatus(ref, mess.Cancelled)
	})
}
