package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// tend watches the journal until ctx ends. While the journal cannot take records, or lacks
// space, this executor is disarmed and offers only reading. tend keeps trying to mend the
// journal, and offers everything again after that.
func (a *Agent) tend(ctx context.Context) error {
	pause := newBackoff(a.cfg.Jitter, nil)
	for {
		if !a.tell(ctx) && ctx.Err() == nil {
			a.log.Debug("the exchange does not know yet what is offered")
		}
		if a.trouble() != nil {
			if !pause.sleep(ctx) {
				return nil
			}
		} else {
			pause.Reset(0)
			t := time.NewTimer(a.cfg.Heartbeat)
			select {
			case <-ctx.Done():
			case <-t.C:
			case <-a.broken:
			}
			t.Stop()
		}
		if ctx.Err() != nil {
			return nil
		}
		a.look(ctx)
	}
}

// look mends the journal if needed and records its state.
func (a *Agent) look(ctx context.Context) {
	broken := a.journal.Check(ctx)
	err := a.journal.Repair(ctx)
	if err == nil || a.journal.Err() == nil { // untidied records only take space
		err = a.journal.EnsureRoom(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	a.mu.Lock()
	was := a.disarmed
	a.disarmed = err
	a.mu.Unlock()
	switch {
	case err != nil && was == nil:
		a.log.Error("disarmed: the journal cannot be written; only questions are answered", "err", err)
	case err == nil && was == nil && broken != nil:
		a.log.Error("the journal was broken, and is written anew; nothing that was begun is forgotten", "err", broken)
	case err == nil && was != nil:
		a.log.Warn("armed again: the journal can be written")
		wait.Notify(a.mail)
	}
}

// trouble returns why nothing may act; nil if it may.
func (a *Agent) trouble() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.disarmed
}

// tell registers again if the exchange has an outdated view of whether this executor may act.
// It reports success.
func (a *Agent) tell(ctx context.Context) bool {
	a.mu.Lock()
	knows := a.known == (a.disarmed == nil)
	a.mu.Unlock()
	if knows {
		return true
	}
	m, acts := a.registration()
	if _, err := a.send(ctx, m); err != nil {
		return false
	}
	a.knows(acts)
	return true
}

// knows records the view of the exchange.
func (a *Agent) knows(acts bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known = acts
}

// registration returns the registration with the current capabilities; acts reports whether
// they include acts.
func (a *Agent) registration() (m mess.Message, acts bool) {
	offers, why := a.resolver.Offers(), a.trouble()
	about := mess.Object{{Key: "disarmed", Value: ""}}
	if why != nil {
		offers = slices.DeleteFunc(slices.Clone(offers), changes)
		about[0].Value = shortly(why)
	}
	about = about.Set(mess.FailingField, a.failing())
	stands, _ := a.position()
	if a.cfg.Signer != nil {
		about = about.Set(receipt.KeyField, a.cfg.Signer.Public())
	}
	return mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{
		ID: a.cfg.ID, Name: a.cfg.Name, Capabilities: append([]mess.Capability{}, offers...), Availability: a.cfg.Availability,
		Schedule: a.cfg.Schedule, Versions: versions, Holding: a.holding(), Instance: a.boot, Stopped: stands.stopped, Held: stands.held, Extra: about,
	}}}}, why == nil
}

// changes reports whether a capability has a physical effect; without a declaration it counts
// as having one.
func changes(c mess.Capability) bool {
	meta, _ := c.Meta.(mess.Object)
	effect, _ := meta.Get("effect")
	return effect != string(capabilities.Query)
}

// shortly explains why nothing may act, without file names of the disk.
func shortly(err error) string {
	if journal.NoSpace(err) {
		return "no space"
	}
	return "the journal cannot be written"
}

// unable explains to a requester why nothing may act.
func (a *Agent) unable(device string, err error) error {
	wait.Notify(a.broken)
	if journal.NoSpace(err) {
		return fmt.Errorf("no space: %s does not act now, as what it does could not be written down; make room on the disk of %s", device, a.cfg.ID)
	}
	return fmt.Errorf("%s does not act now: what it does could not be written down; look at the disk of %s", device, a.cfg.ID)
}
