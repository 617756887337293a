// Package transition decides about each change of a thread: whether a message is legal in its
// state, and which state follows. It has no store and no clock.
package transition

import (
	"errors"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Snapshot is the state of the executors and of the stops that the rules need. All its methods
// describe the same moment.
type Snapshot interface {
	CheckClaim(actor thread.Actor, e thread.Envelope) error  // nil if the actor may claim the thread now
	IsAble(executor string, e thread.Envelope) bool          // the executor has the abilities for the thread
	IsGone(e thread.Envelope) bool                           // the holder of the thread may not get a message now
	HasHumanCandidate(e thread.Envelope, except string) bool // a person other than except might take it; false after a person has ended it
	HumanCandidates(e thread.Envelope) []string              // names of the people who may take it; none while a robot may
	PersonName(id string) string                             // name of a human executor; "" for a robot
	IsStopping(executor string) bool                         // the executor has an unconfirmed stop
	Stops() uint64                                           // number of stops of everything
	// StoppedBy describes the stop of everything since the creation of the thread, or an unconfirmed stop
	// that names the executor; "" for none.
	StoppedBy(e thread.Envelope, executor string) string
	AllDeclined(e thread.Envelope) bool // all candidates have declined the thread
}

// Input is a message of an actor for a thread, or a change by the exchange.
type Input struct {
	Actor          thread.Actor
	Now            time.Time
	Message        mess.Message
	ByLast         bool                       // the message names the thread only by "last"
	Unseen         bool                       // the sender must not learn that the thread exists
	EvidenceReason string                     // reason why the exchange only stores the message; "" if the rules judge it
	Proven         func(thread.Confirm) error // nil if a person has proven the confirmation of this question
	Attempts       int                        // number of lost claims after which the thread fails
	// Change is the change by the exchange itself; nil changes nothing.
	Change Change
}

// Effect is the result of an Input: the step for the store, and the answer to the sender.
type Effect struct {
	Input                 // its message has the ref and the items that the thread gets
	Env   thread.Envelope // after the step
	Also  *mess.Message   // a message of the exchange in the same step, or nil
	// Repeat is true for a message without news. The store gets nothing.
	Repeat bool
	// Evidence is true for a message that the store gets and that does not change the thread.
	Evidence bool
}

// ErrUnseen is the error for a sender that must not learn that the thread exists.
var ErrUnseen = errors.New("the sender must not learn of the thread")

// transition is an Input during Apply, with the Effect so far.
type transition struct {
	Snapshot
	Effect
	implies bool // a response without a status has ended the thread
}

// Apply judges an input for a thread. The error is a *mess.Error, ErrUnseen, or that of
// Input.Proven. Apply has no side effects.
func Apply(s Snapshot, in Input, e thread.Envelope) (Effect, error) {
	t := &transition{Snapshot: s, Effect: Effect{Input: in, Env: e.Clone()}}
	if ref, ok := e.Processed(in.Actor.ID, in.Message.ID); ok {
		t.Repeat, t.Message.Ref = true, ref
		return t.Effect, nil
	}
	if err := t.applyItems(); err != nil {
		return Effect{}, err
	}
	if t.Evidence {
		t.Env = e.Clone()
	}
	if !t.Repeat {
		t.correctEffect(e.Status)
	}
	return t.Effect, nil
}

// applyItems applies the items of the message in order, or the change by the exchange.
func (t *transition) applyItems() error {
	own := t.Actor.ID == thread.Self && t.EvidenceReason == ""
	if own && t.Change == nil {
		t.Repeat = true
		return nil
	}
	if own {
		s := t.Change(&t.Env)
		t.Message.Items = []mess.Item{s}
		t.Message.Ref = messeaf.MessageRef(t.Env.Ref, t.Env.Serial+1, t.Message)
		t.move(s.Code)
		return nil
	}
	t.Message.Ref = messeaf.MessageRef(t.Env.Ref, t.Env.Serial+1, t.Message)
	if t.EvidenceReason != "" {
		t.Evidence = true
		return nil
	}
	if t.Unseen {
		return ErrUnseen
	}
	for _, item := range t.Message.Items {
		if err := t.applyItem(item); err != nil {
			return err
		}
	}
	if err := t.completeImplied(); err != nil {
		return err
	}
	t.addPersonEvidence()
	return nil
}

// mayTake reports whether the sender is an executor with the abilities for the thread.
func (t *transition) mayTake() bool {
	return t.Actor.Has(thread.ExecutorRole) && t.IsAble(t.Actor.ID, t.Env)
}

// byPerson reports whether the sender is a human executor.
func (t *transition) byPerson() bool { return t.PersonName(t.Actor.ID) != "" }

// applyItem applies one item of the message.
func (t *transition) applyItem(item mess.Item) error {
	switch i := item.(type) {
	case *mess.Status:
		return t.status(i)
	case *mess.Response:
		return t.response()
	case *mess.Reply:
		return t.reply(i)
	case *mess.Answer:
		return t.answer(i)
	case *mess.Cancel:
		return t.cancel()
	case *mess.Suggestion:
		return t.suggest(i)
	case *mess.Other:
		return t.checkParty()
	}
	return mess.Errorf(mess.Invalid, "%s: a thread accepts no such item", item.Kind())
}

// status applies the report of an executor.
func (t *transition) status(s *mess.Status) error {
	switch s.Code {
	case mess.Claimed:
		if t.Env.Status == mess.Pending {
			return t.claim(s)
		}
	case mess.Declined:
		if t.Env.Status == mess.Pending {
			return t.decline(s)
		}
	case mess.Superseded:
		if t.Env.Holder() != t.Actor.ID {
			return t.supersede(s)
		}
	}
	if ok, err := t.holds(s); !ok {
		return err
	}
	if err := t.checkSameProcess(s); err != nil {
		return err
	}
	if t.Env.IsUnreachable() {
		t.endHold()
	}
	if t.isOutdated(s) {
		t.Repeat = true
		return nil
	}
	if s.Code == mess.Delegated || t.endsOwnPartOnly(s) {
		return t.returnClaim(s)
	}
	if err := t.checkAllowed(s); err != nil {
		return err
	}
	return t.report(s)
}

// isOutdated reports whether a status of the holder answers an offer that its own claim has
// overtaken. A late claimed must not undo a later question, and a late declined must not end the
// claim. Reports about a claim have an epoch, or come from an executor that does not name its
// process.
func (t *transition) isOutdated(s *mess.Status) bool {
	ofOffer := s.Instance != "" && s.Epoch == 0 && t.Message.Epoch == 0
	switch s.Code {
	case mess.Claimed:
		return len(t.Message.Items) == 1 && (t.Env.Status == mess.Claimed || ofOffer)
	case mess.Declined:
		return ofOffer
	}
	return false
}
