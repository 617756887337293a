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

// tend looks after the journal until ctx ends. While nothing can be written
// down, or there is not the room for it, this executor is disarmed: it offers
// only what looks. It tries to mend the journal meanwhile, and takes
// everything up again when that has worked.
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

// look mends the journal if it must be, and notes how it is.
func (a *Agent) look(ctx context.Context) {
	broken := a.journal.Check(ctx)
	err := a.journal.Mend(ctx)
	if err == nil || a.journal.Err() == nil { // what could not be tidied up takes room, no more
		err = a.journal.Ready(ctx)
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

// trouble is why nothing may act; nil if it may.
func (a *Agent) trouble() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.disarmed
}

// tell registers anew where the exchange does not know yet whether this executor
// acts. It reports whether it knows.
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

// knows notes what the exchange has been told.
func (a *Agent) knows(acts bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known = acts
}

// registration says who this is and what it can do now; acts is whether that is
// more than to look.
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

// changes reports whether a capability is one that changes the world, as every
// one is that does not say otherwise.
func changes(c mess.Capability) bool {
	meta, _ := c.Meta.(mess.Object)
	effect, _ := meta.Get("effect")
	return effect != string(capabilities.Query)
}

// shortly is why nothing acts, for those whom the disk's names do not concern.
func shortly(err error) string {
	if journal.NoSpace(err) {
		return "no space"
	}
	return "the journal cannot be written"
}

// unable says to a requester why nothing acts.
func (a *Agent) unable(device string, err error) error {
	wait.Notify(a.broken)
	if journal.NoSpace(err) {
		return fmt.Errorf("no space: %s does not act now, as what it does could not be written down; make room on the disk of %s", device, a.cfg.ID)
	}
	return fmt.Errorf("%s does not act now: what it does could not be written down; look at the disk of %s", device, a.cfg.ID)
}
