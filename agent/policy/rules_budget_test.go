package policy_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
)

// fakeLedger is a policy.Ledger in memory that outlives a policy.
type fakeLedger struct {
	mu     sync.Mutex
	kept   journal.Ledger
	synced int // number of writes
	err    error
	unread error // the error that Ledger returns
}

func (b *fakeLedger) Ledger() (journal.Ledger, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return journal.Ledger{Acts: slices.Clone(b.kept.Acts), PendingOffs: maps.Clone(b.kept.PendingOffs), Gap: b.kept.Gap}, b.unread
}

func (b *fakeLedger) AppendLedger(_ context.Context, notes ...journal.LedgerEntry) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.synced++
		for _, n := range notes {
			b.kept.Apply(n)
		}
	}
	return b.err
}

// pendingOffs returns the pending switch-offs by device.
func (b *fakeLedger) pendingOffs() map[string]policy.PendingOff {
	kept, _ := b.Ledger()
	due := map[string]policy.PendingOff{}
	for device, o := range kept.PendingOffs {
		if o.PendingOff != nil {
			due[device] = *o.PendingOff
		}
	}
	return due
}

// written returns the number of writes and of acts written.
func (b *fakeLedger) written() (syncs, acts int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.synced, len(b.kept.Acts)
}

func (b *fakeLedger) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func newPolicyWithLedger(b *fakeLedger, cfg settings.Config, opts ...policy.Option) *policy.Policy {
	g := newPolicy(cfg, opts...)
	g.UseLedger(b, []string{"lamp"})
	return g
}

// switchOnFor switches a device on for a requester and leaves the pass.
func switchOnFor(t *testing.T, g *policy.Policy, device, by string) error {
	t.Helper()
	p := switchPlan(true, 0)
	p.Device = device
	pass, err := g.Admit(t.Context(), policy.Order{Plan: p, By: by}, nil)
	if err != nil {
		return err
	}
	defer pass.End()
	return pass.Switch(t.Context(), &lamp{start: time.Now()}, true)
}

func TestMaxActs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := settings.DefaultConfig()
		cfg.MaxActs = settings.MaxActs{Requester: settings.Rate{N: 3, Per: time.Hour}, All: settings.Rate{N: 5, Per: time.Hour}}
		cfg.Devices = map[string]settings.Limits{"lamp": {MaxActs: settings.Rate{N: 2, Per: time.Minute}}}
		g := newPolicy(cfg)
		ok := func(device, by string) {
			t.Helper()
			if err := switchOnFor(t, g, device, by); err != nil {
				t.Fatal(err)
			}
		}
		ok("lamp", "ann")
		advance(20 * time.Second)
		ok("lamp", "ann")
		wantRejection(t, switchOnFor(t, g, "lamp", "bob"), "max_acts", "it may act 2/m at most", "ask again in 40s")
		advance(40 * time.Second)
		ok("lamp", "ann")
		wantRejection(t, switchOnFor(t, g, "fan", "ann"), "max_acts", `"ann" may act 3/h at most`, "in 59m0s")
		ok("fan", "bob")
		ok("fan", "")
		wantRejection(t, switchOnFor(t, g, "fan", "eve"), "max_acts", "all devices together may act 5/h at most")
		pass := begin(t, g, switchPlan(false, 0)) // the policy always allows switching off
		if err := pass.Switch(t.Context(), &lamp{start: time.Now()}, false); err != nil {
			t.Error(err)
		}
		pass.End()
		if _, err := g.Check(capabilities.Plan{Device: "lamp", Command: capabilities.ReadState, Effect: capabilities.Query}); err != nil {
			t.Errorf("looking: %v", err)
		}
		advance(time.Hour)
		ok("fan", "ann")
	})
}

// The policy rejects a queued act before it begins if other acts have used up the budget.
func TestMaxActsCountQueuedActs(t *testing.T) {
	withLamp(t, settings.Limits{MaxActs: settings.Rate{N: 1, Per: time.Hour}}, func(t *testing.T, g *policy.Policy, l *lamp) {
		first := begin(t, g, switchPlan(true, 0))
		second := make(chan error, 1)
		go func() {
			_, err := g.Admit(t.Context(), policy.Order{Plan: switchPlan(true, 0)}, nil)
			second <- err
		}()
		advance(time.Second)
		if err := first.Switch(t.Context(), l, true); err != nil {
			t.Error(err)
		}
		first.End()
		wantRejection(t, <-second, "max_acts", "in 1h0m0s")
	})
}

func TestMaxActsSurviveRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := settings.DefaultConfig()
		cfg.Defaults.MaxActs = settings.Rate{N: 1, Per: time.Hour}
		kept := &fakeLedger{}
		if err := switchOnFor(t, newPolicyWithLedger(kept, cfg), "lamp", ""); err != nil {
			t.Fatal(err)
		}
		advance(50 * time.Minute)
		wantRejection(t, switchOnFor(t, newPolicyWithLedger(kept, cfg), "lamp", ""), "max_acts", "in 10m0s")
		// A node that has lost its clock does not know how long ago that was.
		unset := policy.WithWallClock(func() (time.Time, error) { return time.Unix(0, 0), errors.New("it was never set") })
		wantRejection(t, switchOnFor(t, newPolicyWithLedger(kept, cfg, unset), "lamp", ""), "max_acts", "in 1h0m0s")
		// A node whose clock went back does not know it either.
		kept.kept.Acts[0].At = time.Now().Add(100 * time.Hour)
		wantRejection(t, switchOnFor(t, newPolicyWithLedger(kept, cfg), "lamp", ""), "max_acts", "in 1h0m0s")
		// Nothing acts while the policy cannot read the recorded acts.
		kept.kept.Acts[0].At, kept.unread = time.Now().Add(-50*time.Minute), errors.New("no such disk")
		g := newPolicyWithLedger(kept, cfg)
		wantRejection(t, switchOnFor(t, g, "lamp", ""), "max_acts", "no such disk")
		kept.unread = nil
		wantRejection(t, switchOnFor(t, g, "lamp", ""), "max_acts", "in 10m0s")
		kept.kept.Acts, kept.err = nil, errors.New("the disk is full")
		wantRejection(t, switchOnFor(t, newPolicyWithLedger(kept, cfg), "lamp", ""), "max_acts", "the disk is full")
	})
}

// The minimum interval also applies after a restart.
func TestMinIntervalSurvivesRestart(t *testing.T) {
	withLamp(t, settings.Limits{MinInterval: time.Minute, Busy: settings.BusyReject}, func(t *testing.T, g *policy.Policy, _ *lamp) {
		g.UseLedger(&fakeLedger{kept: journal.Ledger{Acts: []policy.Act{{Device: "lamp", At: time.Now().Add(-20 * time.Second)}}}}, nil)
		_, err := g.Check(switchPlan(true, 0))
		wantRejection(t, err, "min_interval", "ask again in 40s")
		advance(41 * time.Second)
		if _, err := g.Check(switchPlan(true, 0)); err != nil {
			t.Error(err)
		}
	})
}
