package exchange

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// turn is one step of a thread while it is worked out: what somebody said, and
// the envelope as it becomes by it. It touches nothing outside itself.
type turn struct {
	who      Actor
	now      time.Time
	env      Envelope
	message  mess.Message  // as it will be stored
	byLast   bool          // the thread was named by "last" only
	evidence bool          // stored as evidence only: the thread is not changed by it
	repeat   bool          // nothing new was said; nothing is stored
	own      mess.Code     // the exchange's own step leads here; "" for others' turns
	also     *mess.Message // what the exchange adds, in the same step
	unseen   bool          // the sender may not know of the thread
	mayClaim func(Envelope) error
	able     func(string, Envelope) bool // an executor is able to take it
	mayTake  func(Envelope) bool         // the sender is an executor that is able to take it
	gone     func(Envelope) bool         // the holder has hung up
	people   func(Envelope) bool         // somebody who is no robot might do it
	leftTo   func(Envelope) []string     // the people who alone might
	person   func(string) string         // the name of an id that is a person, "" for a robot
	implies  bool                        // a response has ended the thread, without a status beside it
	stopping func() bool                 // the sender was told to stop, and has not said that it has
	stops    func() uint64               // how often everything was stopped
	stopped  func(Envelope) string       // who has stopped everything since it was asked, "" if nobody
	attempts int                         // claims that may be given back after the start
	refused  func(Envelope) bool         // everybody who could take the thread has declined
	noted    string                      // stored as evidence only, because of this; "" for what is judged
	proven   func(Confirm) error         // nil if a person has confirmed this question with what came along
}

// take works through the items of the message in order.
func (t *turn) take() error {
	t.message.Ref = messeaf.MessageRef(t.env.Ref, t.env.Serial+1, t.message)
	if t.noted != "" {
		t.evidence = true
		return nil
	}
	if t.own != "" {
		t.move(t.own)
	}
	if t.who.ID == Self {
		return nil
	}
	if t.unseen {
		return errUnseen
	}
	for _, item := range t.message.Items {
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

// byPerson reports whether the sender is no robot.
func (t *turn) byPerson() bool { return t.person(t.who.ID) != "" }

func (t *turn) item(item mess.Item) error {
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
	return mess.Refuse(mess.Invalid, "%s: cannot be said to a thread", item.Kind())
}

// status takes an executor's report.
func (t *turn) status(s *mess.Status) error {
	switch s.Code {
	case mess.Claimed:
		if t.env.Status == mess.Pending {
			return t.claim(s)
		}
	case mess.Declined:
		if t.env.Status == mess.Pending {
			return t.decline(s)
		}
	case mess.Superseded:
		if t.env.Holder() != t.who.ID {
			return t.supersede(s)
		}
	}
	if ok, err := t.holds(s); !ok {
		return err
	}
	if err := t.sameProcess(s); err != nil {
		return err
	}
	if t.env.IsUnreachable() {
		t.back()
	}
	if t.late(s) {
		t.repeat = true
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
func (t *turn) late(s *mess.Status) bool {
	ofOffer := s.Instance != "" && s.Epoch == 0 && t.message.Epoch == 0
	switch s.Code {
	case mess.Claimed:
		return len(t.message.Items) == 1 && (t.env.Status == mess.Claimed || ofOffer)
	case mess.Declined:
		return ofOffer
	}
	return false
}

// claim gives the thread to an executor (T2).
func (t *turn) claim(s *mess.Status) error {
	if err := t.mayClaim(t.env); err != nil {
		return err
	}
	t.env.Executor, t.env.Instance, t.env.HandedTo = t.who.ID, s.Instance, ""
	t.env.Epoch++
	t.env.Phase, t.env.Effect, t.env.Confirm, t.env.Questions, t.env.Proposals = Before, "", nil, nil, nil
	t.env.Estimate, _ = s.Estimate.Duration()
	t.move(mess.Claimed)
	return nil
}

// decline takes an executor's "not me" to an offer.
func (t *turn) decline(s *mess.Status) error {
	if t.env.HasDeclined(t.who.ID) {
		t.repeat = true
		return nil
	}
	if !t.mayTake(t.env) {
		return mess.Refuse(mess.Forbidden, "%q is not an executor that could take this, so it has nothing to decline", t.who.ID)
	}
	t.notMe(s)
	if t.env.HandedTo == t.who.ID {
		t.env.HandedTo = ""
	}
	if t.refused(t.env) {
		t.move(mess.Declined)
		t.sumUp()
		return nil
	}
	t.toPeople()
	return nil
}

// notMe remembers who does not do it, and why.
func (t *turn) notMe(s *mess.Status) {
	t.env.Declined = append(t.env.Declined, Declined{Executor: t.who.ID, Reason: reasonText(s), Barred: isBarred(s)})
}

// sumUp tells the requester why nobody takes a thread, where it is not one
// executor's word alone.
func (t *turn) sumUp() {
	if len(t.env.Declined) < 2 {
		return
	}
	t.also = &mess.Message{From: Self, Received: t.message.Received, Re: mess.Refs{t.env.Ref}, Items: []mess.Item{
		&mess.Status{Code: mess.Declined, Reason: &mess.Reason{Detail: t.env.DeclineReasons()}},
	}}
}

// remember corrects an end that says nothing was done, where one who had begun
// under an earlier claim was lost: what he did, nobody knows.
func (t *turn) remember(was mess.Code) {
	if t.env.BegunBy == "" || t.evidence || was.Terminal() || !t.env.Status.Terminal() || !t.untouched() {
		return
	}
	if t.also == nil {
		t.also = &mess.Message{From: Self, Received: t.message.Received, Re: mess.Refs{t.env.Ref}, Items: []mess.Item{
			&mess.Status{Code: t.env.Status, Reason: &mess.Reason{Type: "interrupted"}},
		}}
	}
	s := t.also.Items[0].(*mess.Status)
	s.Reason.Effect, s.Suggestion = mess.EffectUnknown, "look before retrying"
	s.Reason.Detail = strings.TrimPrefix(s.Reason.Detail+"; "+t.env.BegunBy+" had begun it and did not come back; what it did is not known", "; ")
}

// untouched reports whether a message says, or leaves to be believed, that
// nothing was done.
func (t *turn) untouched() bool {
	effect := mess.EffectNone
	for _, item := range t.message.Items {
		if s, ok := item.(*mess.Status); ok && s.Reason != nil && s.Reason.Effect != "" {
			effect = s.Reason.Effect
		}
	}
	return effect == mess.EffectNone && t.env.Status != mess.Completed && t.env.Status != mess.Partial
}

func reasonText(s *mess.Status) string {
	if s.Reason != nil && s.Reason.Detail != "" {
		return s.Reason.Detail
	}
	return s.Message
}

// holds reports whether the sender holds the claim with a current fence. A
// report on a claim that is over, or on a thread that has ended, is kept as
// evidence if it comes from one who did hold it (T14).
func (t *turn) holds(s *mess.Status) (bool, error) {
	epoch := max(s.Epoch, t.message.Epoch)
	current := t.env.Holder() == t.who.ID && (epoch == 0 || epoch == t.env.Epoch)
	switch {
	case current:
		return true, nil
	case t.env.HasHeld(t.who.ID) && s.Code.Terminal():
		t.evidence = true
		return false, nil
	case t.env.Status.Terminal(), t.env.Status == mess.Pending && !t.env.HasHeld(t.who.ID):
		return false, t.refusedStep(mess.Step(t.env.Status, s.Code, mess.ByExecutor))
	case t.env.HasHeld(t.who.ID):
		return false, mess.Refuse(mess.Stale, "the claim with epoch %d is over; do not act on it", epoch)
	case s.Code == mess.Claimed:
		return false, mess.Refuse(mess.Taken, "%s has claimed it", t.env.Executor)
	}
	return false, mess.Refuse(mess.Forbidden, "%s holds the claim, and only the holder may report", t.env.Executor)
}

// sameProcess refuses the claim and the start by another process than the one
// that has claimed, where that names itself: a repeated message is answered with
// yes, and two copies of one executor must not both be told so.
func (t *turn) sameProcess(s *mess.Status) error {
	bound := s.Instance != "" || s.Code == mess.Claimed || s.Code == mess.InProgress && t.env.Phase == Before
	if t.env.Instance == "" || !bound || s.Instance == t.env.Instance {
		return nil
	}
	return mess.Refuse(mess.Conflict, "claimed by another process of the same executor; do not act on it, and give each process an id of its own")
}

// refusedStep turns a step that the state machine does not have into a
// refusal.
func (t *turn) refusedStep(err error) error {
	if e, ok := err.(*mess.TransitionError); ok {
		open := *e
		open.Legal = t.legal(e.By)
		r := mess.Refuse(mess.Illegal, "%v", &open)
		r.Legal = open.Legal
		return r
	}
	return err
}

// legal lists the steps that a party may take now: those of the state machine that the
// exchange would not refuse.
func (t *turn) legal(by mess.Party) []mess.Code {
	return slices.DeleteFunc(t.env.Status.Next(by), func(c mess.Code) bool {
		switch c {
		case mess.Claimed:
			return t.env.Phase != Before || t.env.Status == mess.Pending && t.mayClaim(t.env) != nil
		case mess.Declined:
			return t.env.Status == mess.Pending && !t.mayTake(t.env)
		case mess.InProgress, mess.Completed, mess.Partial:
			return t.confirmed() != nil
		case mess.Cancelled:
			return by == mess.ByExecutor && !t.mayEndCancelled()
		}
		return false
	})
}

// mayEndCancelled reports whether the executor may say that it was cancelled: somebody has
// cancelled it, or has not confirmed it.
func (t *turn) mayEndCancelled() bool {
	return t.env.CancelBy != "" || t.env.Confirm != nil && t.env.Confirm.Given != nil && !*t.env.Confirm.Given
}

// back takes a thread out of the hold that the exchange put on it while its
// executor was silent.
func (t *turn) back() {
	t.env.Status, t.env.HeldFrom = t.env.HeldFrom, ""
}

// handBack takes a thread that its executor passes on: it is on offer again,
// or has left this exchange if it goes to somebody who is not here. One that
// ends, and will be back, has not said "not me", nor has one that died at the
// start gate and knows that nothing was done (T9).
func (t *turn) handBack(s *mess.Status) error {
	back := s.Reason != nil && s.Reason.Type == mess.Shutdown
	if t.env.Phase != Before {
		if t.byPerson() || s.Reason == nil || s.Reason.Effect != mess.EffectNone || t.env.CancelBy != "" || t.env.Attempts+1 >= t.attempts {
			return mess.Refuse(mess.Illegal, "it has begun, so it cannot be passed on; end it with partial or failed, and say what was done")
		}
		t.env.Attempts++
		t.env.Phase, t.env.Effect, back = Before, "", true
	}
	if !back {
		t.notMe(s)
	}
	t.note(mess.Delegated, s.DelegatedTo)
	if t.env.HandedTo = s.DelegatedTo; t.byPerson() {
		t.env.Stopped, t.env.Stops = false, 1+t.stops() // she knows of the stop
		t.env.Declined = slices.DeleteFunc(t.env.Declined, func(d Declined) bool { return d.Executor == s.DelegatedTo && d.Executor != t.who.ID })
	}
	t.env.Executor, t.env.Instance, t.env.Confirm, t.env.Questions = "", "", nil, nil
	t.env.Status = mess.Pending
	if !back && t.refused(t.env) {
		t.env.Executor = t.who.ID
		t.env.Status = mess.Delegated
		t.env.Phase = After
		return nil
	}
	if !back {
		t.toPeople()
	}
	return nil
}

// allowed checks what a report by the holder must keep to, beyond who he is.
func (t *turn) allowed(s *mess.Status) error {
	if err := mess.Step(t.env.Status, s.Code, mess.ByExecutor); err != nil {
		return t.refusedStep(err)
	}
	switch s.Code {
	case mess.InProgress:
		return t.gate(s)
	case mess.Claimed:
		if t.env.Status != mess.Claimed && t.env.Phase != Before {
			return mess.Refuse(mess.Illegal, "it has begun; report in_progress")
		}
	case mess.Completed, mess.Partial:
		return t.confirmed()
	case mess.Cancelled:
		if !t.mayEndCancelled() {
			r := mess.Refuse(mess.Illegal, "nobody has cancelled it; an executor that will not go on says failed or delegated")
			r.Legal = t.legal(mess.ByExecutor)
			return r
		}
	}
	return nil
}

// gate is the start gate (T4): the last word before the world is touched. The
// same holder may pass it again.
func (t *turn) gate(s *mess.Status) error {
	if t.env.Phase == Before && t.byPerson() && t.stopping() {
		return mess.Refuse(mess.NotReady, "a stop was ordered; say first that you have stopped")
	}
	// One who names his process asks whether he may start; one who tells of
	// progress does not.
	asks := t.env.Phase == Before || s.Instance != ""
	if why := t.stopped(t.env); asks && why != "" && !t.byPerson() {
		return mess.Refuse(mess.NotReady, "%s; do not start", why)
	}
	if asks && !t.env.Expires.IsZero() && t.now.After(t.env.Expires) {
		return mess.Refuse(mess.NotReady, "needed by %s, which has passed; do not start", t.env.Expires.Format(time.RFC3339))
	}
	if t.env.Phase == Acting {
		return t.goesOn(s.ActionHash)
	}
	if err := t.confirmed(); err != nil {
		return err
	}
	return t.samePlan(s.ActionHash)
}

// goesOn guards what has begun: a plan that was asked about in its midst waits
// for its own yes.
func (t *turn) goesOn(hash string) error {
	c := t.env.Confirm
	switch {
	case c == nil || c.Epoch != t.env.Epoch:
		return nil
	case c.Given == nil, !*c.Given && hash != "" && hash == c.ActionHash:
		return t.confirmed()
	case *c.Given && hash != "":
		return t.samePlan(hash)
	}
	return nil
}

// confirmed returns nil if no confirmation is missing.
func (t *turn) confirmed() error {
	c := t.env.Confirm
	must := t.env.Needs.ConfirmBefore
	switch {
	case c == nil && !must:
		return nil
	case c == nil:
		return mess.Refuse(mess.Unconfirmed, "the request says confirm_before; ask with needs_confirmation first")
	case c.Epoch != t.env.Epoch || c.Given == nil:
		return mess.Refuse(mess.Unconfirmed, "the confirmation has not been given")
	case !*c.Given:
		return mess.Refuse(mess.Unconfirmed, "%s said no", c.GivenBy)
	}
	return nil
}

// samePlan returns nil if the plan with that digest is the one that was
// confirmed. An executor that has asked without a digest has none to keep to.
func (t *turn) samePlan(hash string) error {
	c := t.env.Confirm
	switch {
	case c == nil || c.ActionHash == "" || c.ActionHash == hash:
		return nil
	case hash == "":
		return mess.Refuse(mess.Unconfirmed, "the confirmation was given to one plan; say with action_hash that this is the one which starts")
	}
	return mess.Refuse(mess.Unconfirmed, "the confirmation was given to another plan; ask again")
}

// report writes a legal report into the envelope.
func (t *turn) report(s *mess.Status) error {
	switch s.Code {
	case mess.InProgress:
		if t.env.Phase == Before {
			t.env.Phase = Acting
			effect, _ := s.Extra.Get("effect")
			t.env.Effect, _ = effect.(string)
		}
		t.env.Questions = nil
	case mess.NeedsInput:
		for _, q := range s.Questions {
			t.env.Questions = append(t.env.Questions, OpenItem{Key: q.Key(), Message: t.message.Ref})
		}
	case mess.NeedsConfirmation:
		t.env.Confirm = t.env.Confirm.Next(Confirm{Message: t.message.Ref, Epoch: t.env.Epoch, ActionHash: s.ActionHash, By: s.ConfirmBy})
	case mess.Declined:
		t.notMe(s)
	}
	if d, err := s.Estimate.Duration(); err == nil && d > 0 {
		t.env.Estimate = d
	}
	t.move(s.Code)
	t.explain(s)
	return nil
}

// explain notes in the history what is asked (MESSE-AF 2.1, "Example: Needs Input
// Flow").
func (t *turn) explain(s *mess.Status) {
	last := &t.env.History[len(t.env.History)-1]
	if last.Ref != t.message.Ref || last.Action != string(s.Code) {
		return
	}
	switch {
	case s.Code == mess.NeedsInput && len(s.Questions) > 0:
		last.Note = cmp.Or(s.Message, s.Questions[0].Question)
	case s.Code == mess.NeedsConfirmation:
		last.Note = cmp.Or(s.Message, s.Action)
	}
}

// response takes a result. Without a status beside it, it completes the thread
// (MESS 1.0, "Appendix: Example Conversation"); implied does that.
func (t *turn) response() error {
	if t.env.Holder() == t.who.ID && (t.message.Epoch == 0 || t.message.Epoch == t.env.Epoch) {
		return nil
	}
	if t.env.HasHeld(t.who.ID) {
		t.evidence = t.evidence || !t.ended()
		return nil
	}
	return mess.Refuse(mess.Forbidden, "only the executor that holds the claim may respond")
}

// ended reports whether this very message has ended the thread.
func (t *turn) ended() bool {
	return slices.ContainsFunc(t.message.Items, func(i mess.Item) bool {
		s, ok := i.(*mess.Status)
		return ok && s.Code == t.env.Status
	})
}

// implied completes a thread whose holder has sent a response and no status.
func (t *turn) implied() error {
	responded := false
	for _, item := range t.message.Items {
		switch item.(type) {
		case *mess.Status:
			return nil
		case *mess.Response:
			responded = true
		}
	}
	if !responded || t.env.Holder() != t.who.ID || t.evidence {
		return nil
	}
	s := &mess.Status{Code: mess.Completed}
	if err := t.allowed(s); err != nil {
		return err
	}
	t.implies = true
	return t.report(s)
}

// partyOnly lets the two parties of a thread, and operators, say other things.
func (t *turn) partyOnly() error {
	if t.who.ID == t.env.Requestor || t.env.HasHeld(t.who.ID) || t.who.Has(Operator) {
		return nil
	}
	return mess.Refuse(mess.Forbidden, "only the requester and the executor of a thread may speak in it")
}

// move sets the status and writes history.
func (t *turn) move(to mess.Code) {
	if to != t.env.Status {
		t.note(to, "")
	}
	t.env.Status = to
	if to.Terminal() {
		t.env.Phase, t.env.Questions, t.env.Proposals, t.env.HeldFrom = After, nil, nil, ""
	}
}

// note writes one line of history.
func (t *turn) note(action mess.Code, note string) {
	t.env.History = append(t.env.History, HistoryEntry{
		Action: string(action), At: t.now, By: t.who.ID, Ref: t.message.Ref, Note: note,
	})
}
