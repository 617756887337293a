package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

func TestTwoOffersForOneDevice(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.lamp.set(func(l *lamp) { l.takes = 5 * time.Second })
		first := h.send(requester, "request: {id: a, intent: turn on the porch light}")
		second := h.send(requester, "request: {id: b, intent: turn off the porch light}")
		h.wantStatus(first, mess.InProgress)
		if s := h.wantStatus(second, mess.Waiting); s.WaitingFor.Resource != "porch-lamp" {
			h.t.Errorf("waits for %+v", s.WaitingFor)
		}
		h.advance(11 * time.Second)
		h.wantStatus(first, mess.Completed)
		h.wantStatus(second, mess.Completed)
		if h.lamp.acts() != "on, off" {
			h.t.Errorf("the lamp did: %s", h.lamp.acts())
		}
	})
}

func TestLeaseLostBeforeStart(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.send(requester, "request: {intent: vacuum both}")
		h.wantStatus(ref, mess.NeedsConfirmation)
		h.connection.setCut(true)
		h.advance(35 * time.Second)
		h.wantStatus(ref, mess.Pending)
		h.connection.setCut(false)
		h.advance(2 * time.Minute)
		h.wantStatus(ref, mess.NeedsConfirmation)
		if got, want := h.statuses(ref), "claimed needs_confirmation pending claimed needs_confirmation"; got != want {
			h.t.Errorf("%s, want %s", got, want)
		}
		if h.vacuum.acts() != "" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.acts())
		}
	})
}

// Another executor takes the thread during a lost connection: the first does not act, for any
// later message.
func TestAnotherExecutorHasClaim(t *testing.T) {
	withHarness(t, func(h *harness) {
		other := exchange.Actor{ID: "other-pi", Roles: exchange.ExecutorRole}
		h.send(other, "config: {executor: {id: other-pi, capabilities: [vacuum-floor], versions: [1.1.0]}}")
		ref := h.send(requester, "request: {intent: vacuum both}")
		h.connection.setCut(true)
		h.advance(35 * time.Second)
		h.send(other, "re: "+ref+"\nMESS: [{status: {code: claimed}}]")
		h.connection.setCut(false)
		h.advance(2 * time.Minute)
		h.send(other, "re: "+ref+"\nepoch: 2\nMESS: [{status: {code: in_progress}}]")
		h.send(other, "re: "+ref+"\nepoch: 2\nMESS: [{status: {code: completed}}]")
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Completed)
		if h.vacuum.acts() != "" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.acts())
		}
	})
}

// If all heartbeats fail and other calls work, the exchange ends the claim and offers the
// thread again, and the agent claims it again.
func TestLostHeartbeatsEndClaim(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.connection.set(func(l *connection) {
			l.before = func(m mess.Message) error {
				if _, ok := m.Items[0].(*mess.Config); ok {
					return mess.Errorf(mess.Unavailable, "lost")
				}
				return nil
			}
		})
		ref := h.send(requester, "request: {intent: vacuum both}")
		h.advance(40 * time.Second)
		if got, want := h.statuses(ref), "claimed needs_confirmation pending claimed needs_confirmation"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		h.send(person, "reply: {re: "+ref+", confirm: true}")
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Completed)
		if h.vacuum.acts() != "clean near sink+stove" {
			t.Errorf("the vacuum did: %s", h.vacuum.acts())
		}
	})
}

// The first claim reveals a short lease. The agent keeps it from then on, before the time of
// the next heartbeat.
func TestShortLeaseIsKept(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.close()
		cfg := exchange.DefaultConfig()
		cfg.Lease = 4 * time.Second
		h.openExchange(cfg)
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: vacuum both}")
		h.advance(time.Minute)
		if got, want := h.statuses(ref), "claimed needs_confirmation"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// With a copied card, two agents share an id and a key. An act that must not repeat does not,
// although both get every offer.
func TestTwoAgentsWithOneID(t *testing.T) {
	withHarness(t, func(h *harness) {
		j, err := journal.Open(h.t.TempDir())
		if err != nil {
			h.t.Fatal(err)
		}
		twin := &lamp{}
		a := agent.New(h.cfg, h.x.As(h.actor(), "test"), h.sentences, []device.Device{{Name: "porch-lamp", Label: "porch light", Driver: twin}},
			policy.New(h.policyCfg, time.Now, quiet()), j, time.Now, quiet())
		stop := runUntilStopped(h.t, a.Run)
		synctest.Wait()
		const n = 30
		for i := range n {
			ref := h.send(requester, fmt.Sprintf("request: {id: r%d, intent: ring the bell}", i))
			h.advance(5 * time.Second)
			h.wantStatus(ref, mess.Completed)
			h.lamp.set(func(l *lamp) { l.on = false })
			twin.set(func(l *lamp) { l.on = false })
		}
		stop()
		if err := j.Close(); err != nil {
			h.t.Error(err)
		}
		first, second := strings.Count(h.lamp.acts(), "on"), strings.Count(twin.acts(), "on")
		if first+second != n {
			h.t.Errorf("%d requests, and the two acted %d and %d times", n, first, second)
		}
	})
}
