package policy_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/agent/watchdog"
)

// pipes is a watchdog in a goroutine.
type pipes struct {
	io.Reader
	io.WriteCloser
}

func (p pipes) Kill() error { return p.Close() }

// hangingDevice is a lamp that does not go off until the test closes hang.
type hangingDevice struct {
	*lamp
	hang chan struct{}
}

func (s hangingDevice) Switch(ctx context.Context, on bool) error {
	if !on {
		<-s.hang
	}
	return s.lamp.Switch(ctx, on)
}

// If a driver hangs at switching off, the watchdog switches off; the policy undoes any late
// effect of that call.
func TestWatchdogSwitchesOffForHangingDriver(t *testing.T) {
	withLamp(t, settings.Limits{MaxOn: time.Minute, Timeout: time.Second, StopWithin: time.Second}, func(t *testing.T, g *policy.Policy, l *lamp) {
		quiet := slog.New(slog.DiscardHandler)
		lit := false // the level of the wire
		var off []time.Duration
		obey := func(string, []byte) (bool, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			was := lit
			if lit = false; was {
				off = append(off, time.Since(l.start))
			}
			return was, nil
		}
		set := func(on bool) {
			l.mu.Lock()
			defer l.mu.Unlock()
			lit = on
		}
		start := func() (watchdog.Process, error) {
			in, to := io.Pipe()
			from, out := io.Pipe()
			go func() { _, _ = watchdog.New(obey, quiet).Run(in, out), out.Close() }()
			return pipes{from, to}, nil
		}
		order := json.RawMessage(`"off"`)
		c := watchdog.NewClient([]watchdog.Device{{Name: "lamp", Kind: "lamp", Off: order, Safe: order}}, start, quiet)
		ctx, cancel := context.WithCancel(t.Context())
		end := make(chan error, 1)
		go func() { end <- c.Run(ctx) }()
		c.AwaitReady(ctx)
		policy.WithWatchdog(c)(g)

		s := hangingDevice{l, make(chan struct{})}
		turnOn(t, g, s, 0, "")
		set(true)
		advance(10 * time.Minute)
		set(true) // the hanging call has a late effect
		advance(time.Second)
		close(s.hang)
		advance(time.Minute) // the policy has switched it off again, so the watchdog may forget it
		set(true)            // a person switches it on
		advance(time.Minute)
		l.mu.Lock()
		is := lit
		l.mu.Unlock()
		cancel()
		if err := <-end; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if len(off) < 2 || off[0] != time.Minute+25*time.Millisecond || off[1]-10*time.Minute > 100*time.Millisecond || !is {
			t.Errorf("the watchdog switched off at %v, and the manually switched light is on=%t", off, is)
		}
	})
}

// A device that hangs at the end of its time does not delay the switching off of others.
func TestHangingDeviceDelaysNoOther(t *testing.T) {
	withLamp(t, settings.Limits{Timeout: 30 * time.Second, StopWithin: time.Second}, func(t *testing.T, g *policy.Policy, l *lamp) {
		s := hangingDevice{&lamp{start: l.start}, make(chan struct{})}
		plan := switchPlan(true, time.Minute)
		plan.Device = "pump"
		pass := begin(t, g, plan)
		if err := pass.Switch(t.Context(), s, true); err != nil {
			t.Error(err)
		}
		pass.End()
		switchLamp(t, g, l, true, time.Minute+time.Second)
		advance(2 * time.Minute)
		close(s.hang)
		advance(time.Minute)
		l.mu.Lock()
		defer l.mu.Unlock()
		if got := strings.Join(l.log, ", "); got != "on 0s, off 1m1s" {
			t.Errorf("the lamp beside it: %s", got)
		}
	})
}

// An act that begins during a stop ends at once. It waits neither for a new permission nor for a
// driver that hangs.
func TestActDuringStopDoesNotWait(t *testing.T) {
	withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
		pass := begin(t, g, switchPlan(true, 0))
		defer pass.End()
		pass.RequirePermission(time.Now().Add(-time.Hour), func(ctx context.Context) (time.Time, error) {
			<-ctx.Done() // the exchange does not answer
			return time.Time{}, ctx.Err()
		})
		g.Stop("smoke")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		wantRejection(t, pass.Switch(ctx, l, true), "stop", "smoke")
		if took := time.Since(began); took != 0 || l.history() != "" {
			t.Errorf("the act ended after %v, and the lamp went %q; want 0s and no command", took, l.history())
		}
	})
}
