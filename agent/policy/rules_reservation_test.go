package policy_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
)

// A task waits for the reservations of others until they release them or the time is over; the
// holder does not wait.
func TestTaskWaitsForReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed := make(chan struct{})
		until := time.Now().Add(time.Hour)
		g := newPolicy(settings.Config{}, policy.WithReservations(func(device, by string) (string, time.Time, <-chan struct{}, bool) {
			select {
			case <-changed:
				return "", time.Time{}, nil, false
			default:
				return "anna", until, changed, by != "anna" && time.Now().Before(until)
			}
		}))
		admit := func(ctx context.Context, by string) (reason string, took time.Duration, err error) {
			began := time.Now()
			pass, err := g.Admit(ctx, policy.Order{Plan: planFor("lamp"), By: by}, func(text string) { reason = text })
			if err == nil {
				pass.End()
			}
			return reason, time.Since(began), err
		}
		if reason, took, err := admit(t.Context(), "anna"); reason != "" || took != 0 || err != nil {
			t.Errorf("anna waits %v: %s %v", took, reason, err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if reason, _, err := admit(short, "bert"); err == nil || !strings.Contains(reason, "lamp is reserved by anna until") {
			t.Errorf("%s %v", reason, err)
		}
		if _, took, err := admit(t.Context(), "bert"); took != 59*time.Minute || err != nil {
			t.Errorf("bert waits %v, %v", took, err)
		}
		until = time.Now().Add(time.Hour)
		time.AfterFunc(time.Minute, func() { close(changed) })
		if _, took, err := admit(t.Context(), "bert"); took != time.Minute || err != nil {
			t.Errorf("bert waits %v, %v", took, err)
		}
	})
}

// Stopping or pausing does not wait for a reservation; resuming does.
func TestResumeWaitsForReservation(t *testing.T) {
	for command, waits := range map[capabilities.Command]bool{
		capabilities.Pause: false, capabilities.Stop: false, capabilities.Dock: false, capabilities.Resume: true,
	} {
		synctest.Test(t, func(t *testing.T) {
			until := time.Now().Add(time.Hour)
			g := newPolicy(settings.Config{}, policy.WithReservations(func(_, by string) (string, time.Time, <-chan struct{}, bool) {
				return "anna", until, make(chan struct{}), by != "anna" && time.Now().Before(until)
			}))
			for by, late := range map[string]bool{"anna": false, "bert": waits} {
				p, began := planFor("lamp"), time.Now()
				p.Command, p.Args = command, nil
				pass, err := g.Admit(t.Context(), policy.Order{Plan: p, By: by}, nil)
				if took := time.Since(began); err != nil || took > 0 != (late && began.Before(until)) {
					t.Errorf("%s by %s: waits %v, %v", command, by, took, err)
				}
				if err == nil {
					pass.End()
				}
			}
		})
	}
}
