package agent

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/session"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// journalHealth records whether the journal takes records. While the journal takes none, no device
// may act. It is safe for concurrent use.
type journalHealth struct {
	journal *journal.Journal
	log     *slog.Logger
	broken  chan struct{} // signals a journal that rejected a record

	mu       sync.Mutex
	disarmed error // why no device may act; nil if they may
	reported bool  // the exchange knows that acts are enabled
}

// JournalFailed implements task.Host.
func (h *journalHealth) JournalFailed() { wait.Notify(h.broken) }

// check repairs the journal if needed and records its state. It reports whether acts are enabled
// again.
func (h *journalHealth) check(ctx context.Context) (armed bool) {
	broken := h.journal.Check(ctx)
	err := h.journal.Repair(ctx)
	if err == nil || h.journal.Err() == nil { // the failed repair costs space only
		err = h.journal.EnsureRoom(ctx)
	}
	if ctx.Err() != nil {
		return false
	}
	h.mu.Lock()
	was := h.disarmed
	h.disarmed = err
	h.mu.Unlock()
	switch {
	case err != nil && was == nil:
		h.log.Error("disarmed: the journal takes no records; the executor only answers questions", "err", err)
	case err == nil && was == nil && broken != nil:
		h.log.Error("repaired the journal; its new file holds every begun thread", "err", broken)
	case err == nil && was != nil:
		h.log.Warn("armed again: the journal takes records")
	}
	return err == nil && was != nil
}

// failure returns why no device may act; nil if they may.
func (h *journalHealth) failure() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.disarmed
}

// isReported reports whether the exchange knows whether this executor may act.
func (h *journalHealth) isReported() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reported == (h.disarmed == nil)
}

// setReported records the view of the exchange.
func (h *journalHealth) setReported(acts bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reported = acts
}

// watchJournal watches the journal until ctx ends. While the journal cannot take records, or lacks
// space, this executor is disarmed and offers only reading. watchJournal keeps trying to repair the
// journal, and offers everything again after that.
func (a *Agent) watchJournal(ctx context.Context) error {
	pause := session.NewBackoff(a.cfg.Jitter, nil)
	for {
		if !a.reportArmed(ctx) && ctx.Err() == nil {
			a.log.Debug("the exchange does not know the current capabilities yet")
		}
		if a.health.failure() != nil {
			if !pause.Sleep(ctx) {
				return nil
			}
		} else {
			pause.Reset(0)
			t := time.NewTimer(a.cfg.Heartbeat)
			select {
			case <-ctx.Done():
			case <-t.C:
			case <-a.health.broken:
			}
			t.Stop()
		}
		if ctx.Err() != nil {
			return nil
		}
		if a.health.check(ctx) {
			a.tasks.WakeOutbox()
		}
	}
}

// reportArmed registers again if the exchange has an outdated view of whether this executor may
// act. It reports success.
func (a *Agent) reportArmed(ctx context.Context) bool {
	if a.health.isReported() {
		return true
	}
	m, acts := a.registration()
	if _, err := a.session.Send(ctx, m); err != nil {
		return false
	}
	a.health.setReported(acts)
	return true
}

// registration returns the registration with the current capabilities; acts reports whether
// they include acts.
func (a *Agent) registration() (m mess.Message, acts bool) {
	offers, reason := a.resolver.Offers(), a.health.failure()
	extra := mess.Object{{Key: "disarmed", Value: ""}}
	if reason != nil {
		offers = slices.DeleteFunc(slices.Clone(offers), actuates)
		extra[0].Value = briefReason(reason)
	}
	extra = extra.Set(mess.FailingField, a.devices.Failing())
	current, _ := a.restrictions()
	if a.cfg.Software != "" {
		extra = extra.Set(mess.SoftwareField, a.cfg.Software)
	}
	if a.cfg.Signer != nil {
		extra = extra.Set(receipt.KeyField, a.cfg.Signer.Public())
	}
	extra = a.battery.add(extra)
	return mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{
		ID: a.cfg.ID, Name: a.cfg.Name, Capabilities: append([]mess.Capability{}, offers...), Availability: a.cfg.Availability,
		Schedule: a.cfg.Schedule, Versions: versions, Holding: a.tasks.Holding(), Instance: a.session.Instance, Stopped: current.stopped, Drained: current.drained, Extra: extra,
	}}}}, reason == nil
}

// actuates reports whether a capability has a physical effect; without a declaration it counts
// as having one.
func actuates(c mess.Capability) bool {
	meta, _ := c.Meta.(mess.Object)
	effect, _ := meta.Get("effect")
	return effect != string(capabilities.Query)
}

// briefReason explains why no device may act, without file names of the disk.
func briefReason(err error) string {
	if journal.NoSpace(err) {
		return "no space"
	}
	return "the agent cannot write its journal"
}
