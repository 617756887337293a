package exchange_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

func TestCandidatesOfRequest(t *testing.T) {
	executors := map[string]string{
		"plain":    "capabilities: [take-photo]",
		"newer":    "capabilities: [take-photo, print], versions: [1.0.0, 1.1.0]",
		"fdm":      "capabilities: [{print: {variant: [fdm, sla], material: pla, fast: true}}]",
		"vacuum":   "capabilities: [{vacuum-floor: {areas: [kitchen, hallway]}}]",
		"near":     "capabilities: [walk], location: {lat: 37.77, lng: -122.42}",
		"far":      "capabilities: [walk], location: {lat: 40.71, lng: -74.01}",
		"anywhere": "capabilities: [walk]",
		"upstairs": "capabilities: [sweep], areas: [Attic, Landing]",
		"wherever": "capabilities: [sweep]",
	}
	for _, c := range []struct {
		name, request string
		want          []string
	}{
		{"one capability", "requires: [take-photo]", []string{"newer", "plain"}},
		{"two capabilities", "requires: [take-photo, print]", []string{"newer"}},
		{"no executor has it", "requires: [fly]", nil},
		{"confirm_before needs 1.1", "requires: [take-photo], confirm_before: true", []string{"newer"}},
		{"metadata that agrees", "requires: [{print: {variant: fdm}}]", []string{"fdm", "newer"}},
		{"metadata that differs", "requires: [{print: {variant: fdm, material: abs}}]", []string{"newer"}},
		{"metadata that one side does not have", "requires: [{print: {colour: red, fast: true}}]", []string{"fdm", "newer"}},
		{"a place within what is declared", "requires: [{vacuum-floor: {areas: [kitchen]}}]", []string{"vacuum"}},
		{"a place beyond what is declared", "requires: [{vacuum-floor: {areas: [cellar]}}]", nil},
		{"a circle", "requires: [walk], constraints: {location: {lat: 37.8, lng: -122.4, radius_km: 10}}", []string{"anywhere", "near"}},
		{"a listed place", "requires: [sweep], constraints: {location: attic}", []string{"upstairs"}},
		{"one of several executors", "requires: [{take-photo: {executor: plain}}]", []string{"plain"}},
		{"an executor that cannot do it", "requires: [{take-photo: {executor: fdm}}]", nil},
		{"a place in words", "requires: [sweep], constraints: {location: behind the old house}", []string{"upstairs", "wherever"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			withHarness(t, func(h *harness) {
				subs := map[string]*subscription{}
				for id, text := range executors {
					actor := exchange.Actor{ID: id, Roles: exchange.ExecutorRole}
					h.send(actor, "config: {executor: {id: "+id+", "+text+"}}")
					subs[id] = h.subscribe(actor, "")
				}
				ref := h.send(agent, "request: {intent: do it, "+c.request+"}").Ref
				var got []string
				for _, e := range h.x.Executors() {
					if len(subs[e.ID].events()) > 0 {
						got = append(got, e.ID)
					} else {
						h.wantError(exchange.Actor{ID: e.ID, Roles: exchange.ExecutorRole}, "status: {re: "+ref+", code: claimed}", mess.NotFound)
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("offered to (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestRequestWaitsForExecutor(t *testing.T) {
	withHarness(t, func(h *harness) {
		ack := h.send(agent, "request: {intent: fly, requires: [fly]}")
		if note, _ := ack.Extra.Get("note"); note != "it waits: no executor has fly" {
			t.Errorf("note = %q", note)
		}
		sub := h.subscribe(kitchen, "")
		h.register(kitchen, "fly")
		h.advance(time.Second)
		if got := sub.events(); len(got) != 1 || got[0] != "offer "+ack.Ref+" request" {
			t.Errorf("events of a later executor are %q, want the offer", got)
		}
	})
}

func TestScheduleOfExecutor(t *testing.T) {
	// The bubble's time starts at midnight UTC, 1 January 2000, a Saturday.
	for _, c := range []struct {
		cron string
		open map[string]bool // by time of day
	}{
		{"0 8-22 * * *", map[string]bool{"07:59": false, "08:00": true, "12:30": true, "21:59": true, "22:00": true, "22:01": false}},
		{"* 9-16 * * 1-5", map[string]bool{"10:00": false}},
		{"*/15 9-10 * * 6", map[string]bool{"08:59": false, "09:07": true, "10:45": true, "10:46": false}},
		{"0 22-23,0-6 * * *", map[string]bool{"00:00": true, "00:30": true, "06:00": true, "06:01": false, "12:00": false, "22:00": true, "23:59": true}},
		{"30 12 * * *", map[string]bool{"12:29": false, "12:30": true, "12:31": false}},
		{"* * * * *", map[string]bool{"00:00": true, "23:59": true}},
	} {
		for at, want := range c.open {
			t.Run(c.cron+" at "+at, func(t *testing.T) {
				withHarness(t, func(h *harness) {
					clock, err := time.Parse("15:04", at)
					if err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Duration(clock.Hour())*time.Hour + time.Duration(clock.Minute())*time.Minute) // fake time
					h.send(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [x], availability: schedule, schedule: '"+c.cron+"'}}")
					sub := h.subscribe(kitchen, "")
					h.send(agent, "request: {intent: do it}")
					if got := len(sub.events()) > 0; got != want {
						t.Errorf("available: %v, want %v", got, want)
					}
				})
			})
		}
	}
}

func TestInvalidScheduleIsRejected(t *testing.T) {
	withHarness(t, func(h *harness) {
		for _, s := range []string{"''", "'often'", "'61 * * * *'", "'0 8-22 * *'"} {
			h.wantError(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [x], availability: schedule, schedule: "+s+"}}", mess.Invalid, "cron line")
		}
		if n := len(h.x.Executors()); n != 0 {
			t.Errorf("%d executors are registered after refusals", n)
		}
	})
}

func TestRequestWaitsForSchedule(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.send(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [x], availability: schedule, schedule: '0 8-22 * * *'}}")
		sub := h.subscribe(kitchen, "")
		h.send(agent, "request: {intent: do it}")
		h.advance(7*time.Hour + 55*time.Minute)
		if got := sub.events(); len(got) != 0 {
			t.Errorf("events before its hours are %q, want none", got)
		}
		h.advance(6 * time.Minute)
		if got := sub.events(); len(got) != 1 {
			t.Errorf("events in its hours are %q, want the offer", got)
		}
	})
}

func TestPreferredExecutorsGetFirstOffers(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.wantError(kitchen, "config: {routing: {rules: []}}", mess.Forbidden, "operator")
		h.send(person, "config: {routing: {rules: [{match: {capability: clean}, prefer: [garage-pi]}]}}")
		h.register(kitchen, "clean, look")
		h.register(garage, "clean, look")
		k, g := h.subscribe(kitchen, ""), h.subscribe(garage, "")
		first := h.send(agent, "request: {intent: clean, requires: [clean]}").Ref
		if got := k.events(); len(got) != 0 || len(g.events()) != 1 {
			t.Errorf("events of the other executor are %q at once, want none", got)
		}
		h.advance(61 * time.Second)
		if got := k.events(); len(got) != 1 {
			t.Errorf("the preferred executor does nothing: events of the other are %q, want the offer", got)
		}
		h.send(kitchen, "status: {re: "+first+", code: claimed}")
		if got := g.events(); len(got) == 0 || got[0] != "withdrawn "+first+" status:claimed" {
			t.Errorf("events of the preferred executor are %q, want the offer withdrawn", got)
		}
		k.events()
		h.send(agent, "request: {intent: look, requires: [look]}")
		if len(k.events()) != 1 || len(g.events()) != 1 {
			t.Error("a request that no rule matches is not offered to both")
		}
		h.send(agent, "request: {intent: clean, requires: [clean]}")
		k.events()
		g.events()
		second := h.send(agent, "request: {intent: clean more, requires: [clean]}").Ref
		h.send(garage, "status: {re: "+second+", code: declined, reason: tired}")
		if got := k.events(); len(got) != 1 || got[0] != "offer "+second+" request" {
			t.Errorf("the preferred executor declines: events of the other are %q, want the offer", got)
		}
	})
}

func TestPreferenceByMetric(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.send(person, "config: {routing: {rules: [{match: {precision: exact}, prefer: higher_precision}, {match: {urgency: now}, prefer: lower_latency}]}}")
		h.send(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [x], latency: 5, precision: 2}}")
		h.send(garage, "config: {executor: {id: garage-pi, capabilities: [x], latency: 1, precision: 1}}")
		k, g := h.subscribe(kitchen, ""), h.subscribe(garage, "")
		h.send(agent, "request: {intent: x, precision: exact}")
		if a, b := len(k.events()), len(g.events()); a != 1 || b != 0 {
			t.Errorf("higher_precision: %d and %d offers, want the finer one alone", a, b)
		}
		h.send(agent, "request: {intent: x, constraints: {timing: {urgency: now}}}")
		if a, b := len(k.events()), len(g.events()); a != 0 || b != 1 {
			t.Errorf("lower_latency: %d and %d offers, want the quicker one alone", a, b)
		}
	})
}

func TestThreadEndsWhenAllDecline(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "look")
		h.register(garage, "look")
		ref := h.send(agent, "request: {intent: say what life means}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: declined, reason: not my thing}")
		h.wantStatus(ref, mess.Pending)
		h.send(kitchen, "status: {re: "+ref+", code: declined, reason: not my thing}")
		h.send(garage, "status: {re: "+ref+", code: declined, reason: no such device}")
		h.wantStatus(ref, mess.Declined)
		if s := h.lastStatus(ref); s.Reason.Detail != "kitchen-pi: not my thing; garage-pi: no such device" {
			t.Errorf("the requester reads %q", s.Reason.Detail)
		}
	})
}

func TestDelegatedClaimIsOfferedAgain(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "look")
		h.register(garage, "look")
		ref := h.send(agent, "request: {intent: look}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		g := h.subscribe(garage, "")
		h.send(kitchen, "status: {re: "+ref+", code: delegated, delegated_to: garage-pi, reason: too high up}")
		h.wantStatus(ref, mess.Pending)
		if got := g.events(); len(got) != 1 || got[0] != "offer "+ref+" request" {
			t.Errorf("events of the other executor are %q, want the offer", got)
		}
		h.send(garage, "status: {re: "+ref+", code: claimed}")
		h.send(garage, "status: {re: "+ref+", code: in_progress}")
		h.wantError(garage, "status: {re: "+ref+", code: delegated}", mess.IllegalTransition, "it has begun")
	})
}

func TestHolderDeclinesClaim(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "look")
		ref := h.send(agent, "request: {intent: look}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.send(kitchen, "status: {re: "+ref+", code: declined, reason: I see now that I cannot}")
		h.wantStatus(ref, mess.Declined)
	})
}

// Only a candidate of a thread can decline it. Other actors get the error for an unknown thread.
func TestOnlyCandidatesDecline(t *testing.T) {
	withHarness(t, func(h *harness) {
		both := exchange.Actor{ID: "both", Roles: exchange.Requester | exchange.ExecutorRole}
		h.register(kitchen, "fly")
		h.register(garage, "swim")
		h.register(both, "")
		no := func(ref string) string { return "status: {re: " + ref + ", code: declined, reason: no}" }
		flyRef := h.send(agent, "request: {intent: fly, requires: [fly]}").Ref
		diveRef := h.send(agent, "request: {intent: dive, requires: [dive]}").Ref
		for _, ref := range []string{flyRef, diveRef} {
			for _, actor := range []exchange.Actor{stranger, other, garage, both} {
				got := h.wantError(actor, no(ref), mess.NotFound)
				want := h.wantError(actor, no("2000-01-01-999"), mess.NotFound)
				if got.Ref != "" || got.Status != "" || got.Holder != "" || got.Text != strings.ReplaceAll(want.Text, "2000-01-01-999", ref) {
					t.Errorf("%s declines %s: %+v, want what an unknown thread is answered with: %+v", actor.ID, ref, got, want)
				}
			}
			h.wantStatus(ref, mess.Pending)
		}
		h.send(kitchen, no(flyRef))
		h.wantStatus(flyRef, mess.Declined)
	})
}

// All live executors have declined a thread: it does not wait for ever for a lost one.
func TestLostExecutorKeepsNoThreadPending(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(garage, "swim, fly")
		h.advance(10 * time.Minute) // silent from the start
		h.register(kitchen, "fly")
		no := func(ref string) {
			h.t.Helper()
			h.send(kitchen, "status: {re: "+ref+", code: declined, reason: {detail: not in this wind}}")
			h.wantStatus(ref, mess.Pending)
		}
		ref := h.send(agent, "request: {intent: fly}").Ref
		no(ref)
		untouched := h.send(agent, "request: {intent: swim}").Ref
		h.advance(45 * time.Minute)
		h.wantStatus(ref, mess.Pending)
		late := h.send(agent, "request: {intent: fly again}").Ref
		no(late)
		h.advance(5*time.Minute + time.Second) // an hour after its last message
		for _, ref := range []string{ref, late} {
			h.wantStatus(ref, mess.Declined)
			if s := h.lastStatus(ref); s.Reason == nil || !strings.Contains(s.Reason.Detail, "kitchen-pi: not in this wind") {
				t.Errorf("declined for %+v", s.Reason)
			}
		}
		h.wantStatus(untouched, mess.Pending) // no executor has declined it

		// A connected executor is live, even if it sends nothing.
		sub := h.subscribe(garage, "")
		h.register(garage, "swim, fly")
		waits := h.send(agent, "request: {intent: fly at last}").Ref
		no(waits)
		h.advance(3 * time.Hour)
		h.wantStatus(waits, mess.Pending)
		sub.stop()
		h.advance(2 * time.Minute)
		h.wantStatus(waits, mess.Declined)

		// An executor that loses the capability is no candidate from then on.
		h.register(garage, "swim, fly")
		ref = h.send(agent, "request: {intent: fly, requires: [fly]}").Ref
		no(ref)
		h.register(garage, "swim")
		h.advance(time.Second)
		h.wantStatus(ref, mess.Declined)
	})
}

// After a restart, the exchange waits for the executors before it ends a thread.
func TestRestartedExchangeWaitsForExecutors(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(garage, "fly")
		h.register(kitchen, "fly")
		ref := h.send(agent, "request: {intent: fly}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: declined, reason: no}")
		h.stop()
		time.Sleep(5 * time.Hour) // fake time
		h.open(exchange.DefaultConfig())
		h.advance(30 * time.Minute)
		h.wantStatus(ref, mess.Pending)
		h.advance(31 * time.Minute)
		h.wantStatus(ref, mess.Declined)
	})
}
