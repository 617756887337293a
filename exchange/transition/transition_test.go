package transition_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/exchange/transition"
	"github.com/messkit/messkit/mess"
)

// fakeSnapshot is a snapshot in which pi and pa may claim pending threads, and ann is a person.
type fakeSnapshot struct {
	people, declined bool
	stopped, gone    bool
}

func (w fakeSnapshot) CheckClaim(who thread.Actor, _ thread.Envelope) error {
	if !w.IsAble(who.ID, thread.Envelope{}) {
		return mess.Errorf(mess.Forbidden, "%q is not registered", who.ID)
	}
	return nil
}

func (fakeSnapshot) IsAble(id string, _ thread.Envelope) bool {
	return id == "pi" || id == "pa" || id == "ann"
}
func (w fakeSnapshot) IsGone(thread.Envelope) bool { return w.gone }
func (w fakeSnapshot) HasHumanCandidate(_ thread.Envelope, by string) bool {
	return w.people && by != "ann"
}
func (w fakeSnapshot) AllDeclined(thread.Envelope) bool { return w.declined }
func (w fakeSnapshot) IsStopping(string) bool           { return w.stopped }
func (fakeSnapshot) Stops() uint64                      { return 0 }

func (w fakeSnapshot) HumanCandidates(thread.Envelope) []string {
	if w.people {
		return []string{"Ann"}
	}
	return nil
}

func (fakeSnapshot) PersonName(id string) string {
	if id == "ann" {
		return "Ann"
	}
	return ""
}

func (w fakeSnapshot) StoppedBy(thread.Envelope, string) string {
	if w.stopped {
		return "somebody has stopped everything"
	}
	return ""
}

var (
	now   = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	roles = map[string]thread.Role{
		"asker": thread.Requester, "other": thread.Requester, "boss": thread.Requester | thread.Operator,
		"pi": thread.ExecutorRole, "pa": thread.ExecutorRole, "ann": thread.ExecutorRole, "eve": thread.ExecutorRole,
	}
)

// message is a message to a thread and its sender.
type message struct{ who, text string }

func input(t *testing.T, s message) transition.Input {
	t.Helper()
	m, err := mess.Parse([]byte(s.text))
	if err != nil {
		t.Fatalf("%s: %v", s.text, err)
	}
	m.From = s.who
	return transition.Input{
		Actor: thread.Actor{ID: s.who, Roles: roles[s.who]}, Now: now, Message: m, Attempts: 3,
		Proven: func(thread.Confirm) error { return nil },
	}
}

func waiting() thread.Envelope {
	return thread.Envelope{Ref: "2026-01-05-0001", Requester: "asker", Status: mess.Pending, Created: now, Updated: now, Ver: 1}
}

// Each row has the messages to one thread: the last one leads to a status, or the exchange
// rejects it.
func TestTransitions(t *testing.T) {
	claim := message{"pi", "status: {re: x, code: claimed}"}
	start := message{"pi", "status: {re: x, code: in_progress}"}
	confirm := message{"pi", "status: {re: x, code: needs_confirmation, action: open it, action_hash: h}"}
	for _, c := range []struct {
		name     string
		snapshot fakeSnapshot
		messages []message
		want     mess.Code
		why      mess.ErrorCode // of the error for the last message; then want is the status before
	}{
		{"T2 claim", fakeSnapshot{}, []message{claim}, mess.Claimed, ""},
		{"T2 by one who is not registered", fakeSnapshot{}, []message{{"eve", "status: {re: x, code: claimed}"}}, mess.Pending, mess.Forbidden},
		{"T2 of what is claimed", fakeSnapshot{}, []message{claim, {"pa", "status: {re: x, code: claimed}"}}, mess.Claimed, mess.AlreadyClaimed},
		{"start before a claim", fakeSnapshot{}, []message{start}, mess.Pending, mess.IllegalTransition},
		{"T4 start", fakeSnapshot{}, []message{claim, start}, mess.InProgress, ""},
		{"T4 by another", fakeSnapshot{}, []message{claim, {"pa", "status: {re: x, code: in_progress}"}}, mess.Claimed, mess.Forbidden},
		{"T4 with an old epoch", fakeSnapshot{}, []message{claim, {"pi", "status: {re: x, code: in_progress, epoch: 7}"}}, mess.Claimed, mess.StaleToken},
		{"T4 after a stop of everything", fakeSnapshot{stopped: true}, []message{claim, start}, mess.Claimed, mess.NotYet},
		{"T4 start without the confirmation", fakeSnapshot{}, []message{claim, confirm, start}, mess.NeedsConfirmation, mess.Unconfirmed},
		{"T3 confirmation", fakeSnapshot{}, []message{claim, confirm, {"asker", "reply: {re: x, confirm: true}"}}, mess.Claimed, ""},
		{"T3 by another requester", fakeSnapshot{}, []message{claim, confirm, {"other", "reply: {re: x, confirm: true}"}}, mess.NeedsConfirmation, mess.Forbidden},
		{"T3 while the executor is gone", fakeSnapshot{gone: true}, []message{claim, confirm, {"asker", "reply: {re: x, confirm: true}"}}, mess.NeedsConfirmation, mess.NotYet},
		{"T4 start of the confirmed plan", fakeSnapshot{}, []message{claim, confirm, {"asker", "reply: {re: x, confirm: true}"}, {"pi", "status: {re: x, code: in_progress, action_hash: h}"}}, mess.InProgress, ""},
		{"T4 start of another plan", fakeSnapshot{}, []message{claim, confirm, {"asker", "reply: {re: x, confirm: true}"}, {"pi", "status: {re: x, code: in_progress, action_hash: i}"}}, mess.Claimed, mess.Unconfirmed},
		{"T4 start of what was refused", fakeSnapshot{}, []message{claim, confirm, {"asker", "reply: {re: x, confirm: false}"}, {"pi", "status: {re: x, code: in_progress, action_hash: h}"}}, mess.NeedsConfirmation, mess.Unconfirmed},
		{"question and answer", fakeSnapshot{}, []message{claim, {"pi", "status: {re: x, code: needs_input, questions: [{id: q, question: which}]}"}, {"asker", "reply: {re: x, answers: {q: left}}"}}, mess.InProgress, ""},
		{"T8 end", fakeSnapshot{}, []message{claim, start, {"pi", "status: {re: x, code: completed}"}}, mess.Completed, ""},
		{"a response ends", fakeSnapshot{}, []message{claim, start, {"pi", "response: {re: x, content: [text: done]}"}}, mess.Completed, ""},
		{"an end after the end", fakeSnapshot{}, []message{claim, start, {"pi", "status: {re: x, code: completed}"}, {"pi", "status: {re: x, code: failed}"}}, mess.Completed, ""},
		{"declined by one of several", fakeSnapshot{}, []message{{"pi", "status: {re: x, code: declined, reason: busy}"}}, mess.Pending, ""},
		{"declined by all", fakeSnapshot{declined: true}, []message{{"pi", "status: {re: x, code: declined, reason: busy}"}}, mess.Declined, ""},
		{"declined by one who is not registered", fakeSnapshot{}, []message{{"eve", "status: {re: x, code: declined}"}}, mess.Pending, mess.Forbidden},
		{"failed without an effect goes to people", fakeSnapshot{people: true}, []message{claim, {"pi", "status: {re: x, code: failed, reason: {type: broken, effect: none}}"}}, mess.Pending, ""},
		{"failed with an effect stays so", fakeSnapshot{people: true}, []message{claim, start, {"pi", "status: {re: x, code: failed, reason: {type: broken, effect: partial}}"}}, mess.Failed, ""},
		{"delegated before the start", fakeSnapshot{}, []message{claim, {"pi", "status: {re: x, code: delegated, delegated_to: pa}"}}, mess.Pending, ""},
		{"delegated after the start", fakeSnapshot{}, []message{claim, start, {"pi", "status: {re: x, code: delegated, delegated_to: pa}"}}, mess.InProgress, mess.IllegalTransition},
		{"T12 cancel before the start", fakeSnapshot{}, []message{claim, {"asker", "cancel: {re: x}"}}, mess.Cancelled, ""},
		{"T12 by another requester", fakeSnapshot{}, []message{{"other", "cancel: {re: x}"}}, mess.Pending, mess.Forbidden},
		{"T12 by an operator", fakeSnapshot{}, []message{{"boss", "cancel: {re: x}"}}, mess.Cancelled, ""},
		{"T13 cancel after the start", fakeSnapshot{}, []message{claim, start, {"asker", "cancel: {re: x}"}}, mess.InProgress, ""},
		{"T13 its executor ends it", fakeSnapshot{}, []message{claim, start, {"asker", "cancel: {re: x}"}, {"pi", "status: {re: x, code: cancelled}"}}, mess.Cancelled, ""},
		{"cancelled without an actor", fakeSnapshot{}, []message{claim, start, {"pi", "status: {re: x, code: cancelled}"}}, mess.InProgress, mess.IllegalTransition},
	} {
		env := waiting()
		for i, s := range c.messages {
			before, _ := json.Marshal(env)
			e, err := transition.Apply(c.snapshot, input(t, s), env)
			if after, _ := json.Marshal(env); string(after) != string(before) {
				t.Errorf("%s: %s changes what it was given", c.name, s.text)
			}
			r, _ := errors.AsType[*mess.Error](err)
			switch last := i == len(c.messages)-1; {
			case err != nil && (!last || r == nil || c.why == "" || !errors.Is(r, c.why)):
				t.Errorf("%s: post by %s of %s: %v, want %q", c.name, s.who, s.text, err, c.why)
			case err == nil && last && c.why != "":
				t.Errorf("%s: post by %s of %s succeeds, want %q", c.name, s.who, s.text, c.why)
			case err == nil:
				env = e.Env
				env.Serial++
			}
		}
		if env.Status != c.want {
			t.Errorf("%s: %s, want %s", c.name, env.Status, c.want)
		}
	}
}

// Steps of the exchange itself, evidence, unseen threads and repeated messages.
func TestOwnAndRepeatedSteps(t *testing.T) {
	own := transition.Input{Actor: thread.Actor{ID: thread.Self}, Now: now}
	if e, err := transition.Apply(fakeSnapshot{}, own, waiting()); err != nil || !e.Repeat {
		t.Errorf("no change: %+v, %v", e, err)
	}
	own.Change = func(*thread.Envelope) *mess.Status { return &mess.Status{Code: mess.Expired} }
	if e, err := transition.Apply(fakeSnapshot{}, own, waiting()); err != nil || e.Env.Status != mess.Expired || len(e.Message.Items) != 1 {
		t.Errorf("a change: %+v, %v", e, err)
	}
	noted := input(t, message{"eve", "status: {re: x, code: completed}"})
	noted.EvidenceReason = "it is not hers"
	if e, err := transition.Apply(fakeSnapshot{}, noted, waiting()); err != nil || !e.Evidence || e.Env.Status != mess.Pending {
		t.Errorf("noted: %+v, %v", e, err)
	}
	unseen := input(t, message{"eve", "cancel: {re: x}"})
	unseen.Unseen = true
	if _, err := transition.Apply(fakeSnapshot{}, unseen, waiting()); !errors.Is(err, transition.ErrUnseen) {
		t.Errorf("unseen: %v", err)
	}
	again := input(t, message{"asker", "cancel: {re: x}"})
	again.Message.ID = "m1"
	env := waiting()
	env.Seen = []thread.ProcessedMessage{{From: "asker", ID: "m1", Ref: env.Ref + "/1"}}
	if e, err := transition.Apply(fakeSnapshot{}, again, env); err != nil || !e.Repeat || e.Env.Status != mess.Pending || e.Message.Ref != env.Ref+"/1" {
		t.Errorf("again: %+v, %v", e, err)
	}
}
