package transition

import (
	"errors"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// World answers what the rules ask about executors and orders. All its answers are about
// one moment.
type World interface {
	MayClaim(who thread.Actor, e thread.Envelope) error      // nil if who may claim a thread now
	IsAble(executor string, e thread.Envelope) bool          // an executor may take a thread
	IsGone(e thread.Envelope) bool                           // the holder of a thread has hung up
	HasHumanCandidate(e thread.Envelope, butFor string) bool // a person who is another might do it; no person has ended it
	HumanCandidates(e thread.Envelope) []string              // the names of those who alone might
	PersonName(id string) string                             // the name of a person; "" for a robot
	IsStopping(executor string) bool                         // it was told to stop, and has not said that it has
	Stops() uint64                                           // how often everything was stopped
	StoppedBy(e thread.Envelope) string                      // who has stopped everything since a thread was asked; "" if nobody
	AllDeclined(e thread.Envelope) bool                      // all who could take a thread have declined it
}

// Input is what somebody says to a thread.
type Input struct {
	Who      thread.Actor
	Now      time.Time
	Message  mess.Message
	ByLast   bool                       // the message names the thread by "last" only
	Unseen   bool                       // the sender may not know of the thread
	Noted    string                     // the message is evidence only, because of this; "" for what the rules judge
	Proven   func(thread.Confirm) error // nil if a person has confirmed this question with what came along
	Attempts int                        // claims that an executor may give back after the start
	// Change is what the exchange itself makes of the thread; nil changes nothing.
	Change Change
}

// Effect is what becomes of a thread by an Input.
type Effect struct {
	Input                 // with the message as the thread has it
	Env   thread.Envelope // after the step
	Also  *mess.Message   // what the exchange adds, in the same step
	// Repeat says that the message says nothing new, so that nothing is stored.
	Repeat bool
	// Evidence says that the message is stored, and the thread does not change by it.
	Evidence bool
}

// ErrUnseen is the refusal of a thread that the sender may not know of.
var ErrUnseen = errors.New("not for the sender to know of")

// transition is a step while it is worked out.
type transition struct {
	World
	Effect
	implies bool // a response has ended the thread, without a status beside it
}

// Apply judges what somebody says to a thread. It changes nothing but its result.
func Apply(w World, in Input, e thread.Envelope) (Effect, error) {
	t := &transition{World: w, Effect: Effect{Input: in, Env: e.Clone()}}
	if ref, ok := e.Processed(in.Who.ID, in.Message.ID); ok {
		t.Repeat, t.Message.Ref = true, ref
		return t.Effect, nil
	}
	if err := t.take(); err != nil {
		return Effect{}, err
	}
	if t.Evidence {
		t.Env = e.Clone()
	}
	if !t.Repeat {
		t.remember(e.Status)
	}
	return t.Effect, nil
}

// take works through the items of the message in order.
func (t *transition) take() error {
	own := t.Who.ID == thread.Self && t.Noted == ""
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
	if t.Noted != "" {
		t.Evidence = true
		return nil
	}
	if t.Unseen {
		return ErrUnseen
	}
	for _, item := range t.Message.Items {
		if err := t.item(item); err != nil {
			return err
		}
	}
	if err := t.implied(); err != nil {
		return err
	}
	t.byWord()
	return nil
}

// mayTake reports whether the sender is an executor that is able to take the thread.
func (t *transition) mayTake() bool {
	return t.Who.Has(thread.ExecutorRole) && t.IsAble(t.Who.ID, t.Env)
}

// byPerson reports whether the sender is no robot.
func (t *transition) byPerson() bool { return t.PersonName(t.Who.ID) != "" }

func (t *transition) item(item mess.Item) error {
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
		return t.partyOnly()
	}
	return mess.Errorf(mess.Invalid, "%s: cannot be said to a thread", item.Kind())
}

// status takes an executor's report.
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
		if t.Env.Holder() != t.Who.ID {
			return t.supersede(s)
		}
	}
	if ok, err := t.holds(s); !ok {
		return err
	}
	if err := t.sameProcess(s); err != nil {
		return err
	}
	if t.Env.IsUnreachable() {
		t.back()
	}
	if t.late(s) {
		t.Repeat = true
		return nil
	}
	if s.Code == mess.Delegated || t.passesOn(s) {
		return t.handBack(s)
	}
	if err := t.allowed(s); err != nil {
		return err
	}
	return t.report(s)
}

// late reports whether the holder says of the offer what its claim has overtaken:
// that it claims, which must not undo a question that was asked since, or that it
// declines, which must not end the claim. What is said of a claim bears its epoch,
// or, by those who do not name their process, nothing.
func (t *transition) late(s *mess.Status) bool {
	ofOffer := s.Instance != "" && s.Epoch == 0 && t.Message.Epoch == 0
	switch s.Code {
	case mess.Claimed:
		return len(t.Message.Items) == 1 && (t.Env.Status == mess.Claimed || ofOffer)
	case mess.Declined:
		return ofOffer
	}
	return false
}
