package policy_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
)

// limited describes a lamp with max_on and a budget.
var limited = settings.Limits{MaxOn: time.Minute, MaxActs: settings.Rate{N: 5, Per: time.Hour}}

// The policy writes the act and its end in one sync with the caller's record, and the lamp stays
// off until then.
func TestActNeedsOneSync(t *testing.T) {
	for _, begun := range []bool{false, true} {
		withLamp(t, limited, func(t *testing.T, g *policy.Policy, l *lamp) {
			kept := &fakeLedger{}
			g.UseLedger(kept, []string{"lamp"})
			pass := begin(t, g, switchPlan(true, 0))
			if begun {
				err := pass.Record(t.Context(), func(ctx context.Context, notes ...journal.LedgerEntry) error {
					if len(notes) != 2 || notes[0].Act == nil || notes[1].PendingOff == nil {
						t.Errorf("notes: %+v", notes)
					}
					if l.history() != "" {
						t.Error("the lamp acts before the ledger has the record")
					}
					return kept.AppendLedger(ctx, notes...)
				})
				if err != nil {
					t.Fatal(err)
				}
				advance(time.Second) // until it acts
			}
			if err := pass.Switch(t.Context(), l, true); err != nil {
				t.Fatal(err)
			}
			pass.End()
			due := kept.pendingOffs()["lamp"]
			if syncs, acts := kept.written(); syncs != 1 || acts != 1 || due.Within != time.Minute {
				t.Errorf("begun %t: %d syncs, want 1; %d acts; due %+v", begun, syncs, acts, due)
			}
			advance(time.Hour)
			if syncs, _ := kept.written(); len(kept.pendingOffs()) > 0 || syncs != 2 {
				t.Errorf("begun %t: %d syncs, want 2; due %+v", begun, syncs, kept.pendingOffs())
			}
		})
	}
}

// An act that began and failed leaves no pending switch-off. The policy starts no act that it
// could not record.
func TestFailedActLeavesNoPendingOff(t *testing.T) {
	withLamp(t, limited, func(t *testing.T, g *policy.Policy, l *lamp) {
		kept := &fakeLedger{}
		g.UseLedger(kept, []string{"lamp"})
		switchLamp(t, g, l, true, 30*time.Second)
		before := kept.pendingOffs()["lamp"]
		advance(10 * time.Second)
		pass := begin(t, g, switchPlan(true, 15*time.Second))
		if err := pass.Record(t.Context(), kept.AppendLedger); err != nil {
			t.Fatal(err)
		}
		if is := kept.pendingOffs()["lamp"]; is.At.Equal(before.At) {
			t.Errorf("begun: %v", is)
		}
		pass.End()
		advance(time.Second)
		if is := kept.pendingOffs()["lamp"]; !is.At.Equal(before.At) {
			t.Errorf("due at %v, want %v as before", is.At, before.At)
		}
		full := errors.New("the disk is full")
		pass = begin(t, g, switchPlan(true, 25*time.Second))
		if err := pass.Record(t.Context(), func(context.Context, ...journal.LedgerEntry) error { return full }); !errors.Is(err, full) {
			t.Errorf("%v", err)
		}
		kept.fail(full)
		wantRejection(t, pass.Switch(t.Context(), l, true), "max_acts", "the journal cannot record the act", "the disk is full")
		pass.End()
		kept.fail(nil)
		advance(time.Hour)
		if want := "on 0s, off 30s"; l.history() != want || len(kept.pendingOffs()) > 0 {
			t.Errorf("%q, want %q; due: %+v", l.history(), want, kept.pendingOffs())
		}
	})
}

// If acts may be missing, a budget counts as used up for its period.
func TestLostActsUseBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := settings.DefaultConfig()
		cfg.Devices = map[string]settings.Limits{"lamp": limited}
		g := newPolicyWithLedger(&fakeLedger{kept: journal.Ledger{Gap: time.Now().Add(-20 * time.Minute)}}, cfg)
		wantRejection(t, switchOnFor(t, g, "lamp", ""), "max_acts", "5/h", "so the count is unknown", "ask again in 40m0s")
		advance(40 * time.Minute)
		if err := switchOnFor(t, g, "lamp", ""); err != nil {
			t.Error(err)
		}
	})
}
