package policy_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// rover records how long it has moved; it stops when its lease ends.
type rover struct {
	slow  time.Duration // duration of Move
	deaf  int           // how many Stills fail
	start time.Time

	mu    sync.Mutex
	began time.Time // zero while it stands still
	until time.Time // end of its lease
	long  time.Duration
	log   []string
}

func (r *rover) Move(_ context.Context, _ drivers.Motion, lease time.Duration) error {
	time.Sleep(r.slow)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over(time.Now())
	if r.began.IsZero() {
		r.began = time.Now()
	}
	r.until, r.long = time.Now().Add(lease), max(r.long, lease)
	return nil
}

func (r *rover) StopMoving(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deaf > 0 {
		r.deaf--
		return errors.New("rover: no answer")
	}
	r.over(time.Now())
	r.stopped(time.Now())
	return nil
}

// over ends a motion after its lease. The caller holds mu.
func (r *rover) over(now time.Time) {
	if now.After(r.until) {
		r.stopped(r.until)
	}
}

func (r *rover) stopped(at time.Time) {
	if !r.began.IsZero() {
		r.log = append(r.log, fmt.Sprintf("%v to %v", r.began.Sub(r.start), at.Sub(r.start)))
	}
	r.began = time.Time{}
}

// history returns the times of its motions; "..." if it still moves.
func (r *rover) history() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over(time.Now())
	log := slices.Clone(r.log)
	if !r.began.IsZero() {
		log = append(log, "...")
	}
	return strings.Join(log, ", ")
}

func movePlan(d time.Duration) capabilities.Plan {
	return capabilities.Plan{
		Device: "lamp", Command: capabilities.Move, Args: mess.Object{{Key: "forward", Value: 0.2}}, Risk: capabilities.RiskComfort,
		Effect: capabilities.Once, For: d, Summary: "drive",
	}
}

// A motion lasts as long as planned, and any other cause ends it within a lease.
func TestMotionEnds(t *testing.T) {
	for _, tt := range []struct {
		name     string
		rover    *rover
		watchdog *fakeWatchdog
		story    func(ctx context.Context, cancel context.CancelCauseFunc, g *policy.Policy, p *policy.Pass)
		moved    string
		err      string
	}{
		{name: "its time is over", moved: "0s to 3s"},
		{
			name: "cancelled", moved: "0s to 1.05s", err: "cancelled",
			story: func(_ context.Context, cancel context.CancelCauseFunc, _ *policy.Policy, _ *policy.Pass) {
				time.AfterFunc(1050*time.Millisecond, func() { cancel(errors.New("cancelled")) })
			},
		},
		{
			name: "stopped", moved: "0s to 1.05s", err: "the driver already had the command to move",
			story: func(_ context.Context, _ context.CancelCauseFunc, g *policy.Policy, _ *policy.Pass) {
				time.AfterFunc(1050*time.Millisecond, func() { g.Stop("fire") })
			},
		},
		{
			name: "locked meanwhile", moved: "0s to 1.1s", err: "locked: a local operator has locked it out (look)",
			story: func(_ context.Context, _ context.CancelCauseFunc, g *policy.Policy, _ *policy.Pass) {
				at := time.Now().Add(1050 * time.Millisecond)
				policy.WithLocalDecisions(func() policy.LocalDecisions {
					if time.Now().Before(at) {
						return policy.LocalDecisions{}
					}
					return policy.LocalDecisions{LockedOut: map[string]string{"lamp": "look"}}
				})(g)
			},
		},
		{
			name: "the exchange is silent", moved: "0s to 2.1s", err: "permission: the exchange no longer permits the motion",
			story: func(_ context.Context, _ context.CancelCauseFunc, _ *policy.Policy, p *policy.Pass) {
				p.RequirePermission(time.Now(), func(ctx context.Context) (time.Time, error) { <-ctx.Done(); return time.Time{}, ctx.Err() })
			},
		},
		{
			name: "the claim is over", moved: "0s to 1.1s", err: "permission: the exchange no longer permits the motion: stale",
			story: func(_ context.Context, _ context.CancelCauseFunc, _ *policy.Policy, p *policy.Pass) {
				p.RequirePermission(time.Now(), func(context.Context) (time.Time, error) { return time.Time{}, errors.New("stale") })
			},
		},
		{name: "the watchdog is gone", watchdog: &fakeWatchdog{no: errors.New("the watchdog is not running")}, moved: "", err: "guard: the watchdog is not running"},
		{name: "the driver is slow", rover: &rover{slow: time.Second}, moved: "1s to 1s", err: "lease: the agent did not renew its lease of 400ms for 1s"},
		{name: "the device ignores three stops", rover: &rover{deaf: 3}, moved: "0s to 3s", err: "has not acknowledged the stop: rover: no answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, _ *lamp) {
				r := cmp.Or(tt.rover, &rover{})
				r.start = time.Now()
				w := tt.watchdog
				if w == nil {
					w = &fakeWatchdog{}
				}
				policy.WithWatchdog(w)(g)
				pass := begin(t, g, movePlan(3*time.Second))
				defer pass.End()
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tt.story != nil {
					tt.story(ctx, cancel, g, pass)
				}
				_, err := pass.Move(ctx, r, drivers.Motion{Forward: 0.2})
				if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%v, want %q", err, tt.err)
				}
				advance(time.Minute)
				if got := r.history(); got != tt.moved {
					t.Errorf("motion is %q, want %q", got, tt.moved)
				}
				if r.long > drivers.MaxLease {
					t.Errorf("a lease of %v", r.long)
				}
				if messages := w.messages(); !strings.HasSuffix(messages, "off") {
					t.Errorf("messages to the watchdog are %q, want off at the end", messages)
				}
				if r.deaf > 0 {
					t.Errorf("the rover still ignores %d stops, want 0", r.deaf)
				}
			})
		})
	}
}

// A motion without an end, or with other values than planned, does not begin.
func TestMotionNeedsEnd(t *testing.T) {
	withLamp(t, settings.Limits{MaxOn: time.Minute}, func(t *testing.T, g *policy.Policy, _ *lamp) {
		_, err := g.Check(movePlan(0))
		wantRejection(t, err, "lease", "say for how long")
		_, err = g.Check(movePlan(time.Hour))
		wantRejection(t, err, "max_on", "1m0s at most")
		r := &rover{start: time.Now()}
		pass := begin(t, g, movePlan(time.Second))
		defer pass.End()
		_, err = pass.Move(t.Context(), r, drivers.Motion{Forward: 2})
		wantRejection(t, err, "plan")
		if r.history() != "" {
			t.Errorf("motion is %s, want none", r.history())
		}
	})
}
