package task

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/agent/action"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/capabilities/phrase"
	"github.com/messkit/messkit/mess"
)

// maxQuestions limits the questions to a requester about one request.
const maxQuestions = 8

// clarify asks questions until there is a plan. It does not repeat the open question of an earlier
// run.
func (t *task) clarify(ctx context.Context, out capabilities.Outcome) (*capabilities.Plan, error) {
	var last capabilities.Clarification
	again := 0
	for range maxQuestions {
		if out.Question == nil {
			return out.Plan, t.checkClarified(ctx, out)
		}
		q := *out.Question
		if q.Field == last.Field && slices.Equal(q.Options, last.Options) {
			again++
		} else {
			last, again = q, 0
		}
		if again > 1 { // one repeated question is allowed
			return nil, notDone("not_understood", fmt.Sprintf("no answer to %q fits, so the agent did nothing; make a new request that contains everything", q.Text))
		}
		if t.question == nil {
			if err := t.askQuestion(ctx, q); err != nil {
				return nil, err
			}
		}
		t.question = nil
		answer, err := awaitWhileIdle(ctx, t, answerTo(q.Field))
		if err != nil {
			return nil, err
		}
		t.clearQuestion(ctx)
		if err := t.interpret(ctx, func() error { out, err = t.applyAnswer(q, answer); return err }); err != nil {
			return nil, err
		}
	}
	return nil, notDone("not_understood", fmt.Sprintf("the agent asked %d times, and it is still unclear what to do; make a new request that contains everything", maxQuestions))
}

// applyAnswer applies an answer to a question. It returns an error if the next question is
// useless.
func (t *task) applyAnswer(q capabilities.Clarification, s reply) (capabilities.Outcome, error) {
	out := t.Resolver.Answer(q, s.answers, s.text, t.req)
	if out.Question != nil {
		if no := t.unanswerable(*out.Question); no != nil {
			return out, notDone(no.Rule, no.Error())
		}
	}
	return out, nil
}

// unanswerable returns why a question of this thread is useless, nil if it is not.
func (t *task) unanswerable(q capabilities.Clarification) *policy.Rejection {
	return Unanswerable(t.Resolver, t.Gate.Check, q, t.req)
}

// askQuestion sends a question and records it, so that the next run waits for the answer.
func (t *task) askQuestion(ctx context.Context, q capabilities.Clarification) error {
	err := t.sendStatus(ctx, &mess.Status{Code: mess.NeedsInput, Questions: []mess.Question{
		{Field: q.Field, Question: q.Text, Options: q.Options},
	}})
	if err != nil {
		return err
	}
	data, err := json.Marshal(questionRecord{Question: q, Request: t.req, By: t.by})
	if err == nil {
		err = t.Journal.RecordQuestion(ctx, journal.Question{Ref: t.ref, Epoch: t.claimed(), Boot: t.instance, Data: data})
	}
	if err != nil { // after a crash the next run asks again
		t.Host.JournalFailed()
		t.Log.Warn("the journal does not take a question", "ref", t.ref, "err", err)
	}
	return nil
}

// questionRecord is the journal's record of a question.
type questionRecord struct {
	Question capabilities.Clarification `json:"question"`
	Request  mess.Request               `json:"request"`
	By       string                     `json:"by,omitempty"` // the requester
}

// clearQuestion records that the thread no longer waits for an answer.
func (t *task) clearQuestion(ctx context.Context) {
	if task, known := t.Journal.Task(t.ref); !known || task.Question == nil || task.Intent != nil || task.Report != nil {
		return
	}
	if err := t.Journal.Sent(ctx, t.ref); err != nil {
		t.Host.JournalFailed()
		t.Log.Warn("the journal takes no records", "ref", t.ref, "err", err)
	}
}

// checkClarified checks the outcome after questions as prepare checks the first outcome.
func (t *task) checkClarified(ctx context.Context, out capabilities.Outcome) error {
	reason, err := t.rejection(ctx, out)
	if err != nil {
		return err
	}
	if reason.Detail == "" && out.Plan == nil {
		reason = mess.Reason{Type: "not_understood", Detail: "the answer leads to no plan; make a new request that contains everything"}
	}
	if reason.Detail != "" {
		return notDone(cmp.Or(reason.Type, "not_possible"), reason.Detail)
	}
	return nil
}

// notDone returns the end of a thread without an effect.
func notDone(kind, detail string) error {
	return &terminalError{&mess.Status{
		Code: mess.Failed, Reason: &mess.Reason{Type: kind, Detail: detail, Effect: mess.EffectNone}, Recoverable: new(true),
	}}
}

// confirm asks for a confirmation of the plan if the plan needs one.
func (t *task) confirm(ctx context.Context) error {
	confirmBy := t.decision.Confirm
	if t.req.ConfirmBefore != nil && *t.req.ConfirmBefore && confirmBy == settings.ConfirmNever {
		confirmBy = settings.ConfirmRequester
	}
	if confirmBy == settings.ConfirmNever {
		return nil
	}
	s := &mess.Status{
		Code: mess.NeedsConfirmation, Action: t.plan.Summary, Consequences: t.consequences(),
		Reversible: &t.plan.Reversible, ActionHash: t.plan.Digest(),
	}
	if confirmBy == settings.ConfirmOperator {
		s.ConfirmBy = string(settings.ConfirmOperator)
	}
	within := t.Config.ConfirmWithin
	s.Extra = append(mess.Object{{Key: "confirm_within", Value: string(mess.DurationOf(within))}}, t.phrases()...)
	if err := t.sendStatus(ctx, s); err != nil {
		return err
	}
	asked := t.Now()
	waits, done := context.WithTimeoutCause(ctx, within, errUnanswered)
	defer done()
	t.all.mu.Lock()
	t.questionEnds = asked.Add(within)
	t.all.mu.Unlock()
	answer, err := awaitWhileIdle(waits, t, confirmationOf(s.ActionHash))
	switch {
	case errors.Is(err, errUnanswered), t.Now().Sub(asked) > within: // an answer after a suspend is late, too
		return notDone("not_confirmed", fmt.Sprintf("no person has confirmed it within %v, so the agent did nothing; ask again if you still want it", within))
	case err != nil:
		return err
	case answer.condition != "":
		return notDone("not_confirmed", fmt.Sprintf("the answer was yes with a condition, %q; make a new request that contains the condition", answer.condition))
	case !answer.yes:
		return &terminalError{&mess.Status{Code: mess.Cancelled, Reason: &mess.Reason{
			Type: "not_confirmed", Detail: "the answer was no", Effect: mess.EffectNone,
		}}}
	}
	t.confirmed = s.ActionHash
	return nil
}

// consequences describes what a person must know before a confirmation, including what switches
// a device off again.
func (t *task) consequences() string {
	all := t.switchOffs()
	if t.plan.Consequences != "" {
		all = slices.Insert(all, 0, t.plan.Consequences)
	}
	return strings.Join(all, "; ")
}

// phrases returns the action and the consequences in a form that a page translates: phrases, and
// switch_offs with what switches devices off again. It is empty if the phrases would not say all.
func (t *task) phrases() mess.Object {
	label := func(device string) string {
		if d := t.Devices.Get(device); d != nil {
			return d.Label
		}
		return device
	}
	list := phrase.Of(*t.plan, label)
	if list == nil {
		return nil
	}
	o := mess.Object{{Key: "phrases", Value: phrase.JSON(list)}}
	var offs []any
	for _, s := range t.decision.SwitchOffs {
		off := mess.Object{{Key: "device", Value: label(s.Device)}, {Key: "in", Value: s.In.Seconds()}, {Key: "by", Value: action.SwitchOffBy(s)}}
		if s.DeviceTimer > 0 {
			off = off.Set("timer", s.DeviceTimer.Seconds())
		}
		offs = append(offs, off)
	}
	if offs != nil {
		o = o.Set("switch_offs", offs)
	}
	return o
}

// switchOffs describes what switches devices off again.
func (t *task) switchOffs() (all []string) {
	for _, e := range t.decision.SwitchOffs {
		it := "it"
		if len(t.decision.SwitchOffs) > 1 {
			it = t.Devices.Get(e.Device).Label
		}
		all = append(all, fmt.Sprintf("%s is switched off again within %v, by %s", it, e.In, action.DescribeSwitchOff(e)))
	}
	return all
}

var errUnanswered = errors.New("there was no answer in time")

// sendStatus sends a status to the thread.
func (t *task) sendStatus(ctx context.Context, s *mess.Status) error {
	_, err := t.Session.Say(ctx, t.message(s))
	return err
}

// await waits for messages to the thread until take accepts an item of one. The error is the reason
// for which the thread ended before.
func await[T any](ctx context.Context, t *task, take func(mess.Item) (T, bool)) (T, error) {
	var none T
	for {
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), context.Canceled) {
				return none, errors.New("the program ends")
			}
			return none, context.Cause(ctx)
		case m := <-t.inbox:
			for _, item := range m.Items {
				if v, ok := take(item); ok {
					return v, nil
				}
			}
		}
	}
}

// reply is an answer to a question.
type reply struct {
	answers mess.Object // by field
	text    string      // the answer's plain text
}

// answerTo returns a function that accepts answers to the question with a field name.
func answerTo(field string) func(mess.Item) (reply, bool) {
	return func(item mess.Item) (reply, bool) {
		switch i := item.(type) {
		case *mess.Reply:
			if i.Answers == nil {
				return reply{}, false
			}
			text, _ := i.Answers.Get(field)
			return reply{i.Answers, plainText(text, i.Context)}, true
		case *mess.Answer:
			return reply{mess.Object{{Key: field, Value: i.Value}}, plainText(i.Value, nil)}, true
		}
		return reply{}, false
	}
}

// plainText returns an answer as plain text: the text next to its value, else the value.
func plainText(value any, context []mess.Entry) string {
	var lines []string
	for _, e := range context {
		if more, ok := e.Text(); ok {
			lines = append(lines, more)
		}
	}
	if text, ok := value.(string); ok && len(lines) == 0 {
		return text
	}
	return strings.Join(lines, "\n")
}

// confirmation is the answer to a confirmation request.
type confirmation struct {
	yes       bool
	condition string // a condition in the answer; with one it is no confirmation
}

// confirmationOf returns a function that accepts or rejects the plan with a digest.
func confirmationOf(digest string) func(mess.Item) (confirmation, bool) {
	return func(item mess.Item) (confirmation, bool) {
		switch i := item.(type) {
		case *mess.Reply:
			if i.Confirm == nil || i.ActionHash != "" && i.ActionHash != digest {
				return confirmation{}, false
			}
			if more := plainText(nil, i.Context); *i.Confirm && interpret.HasLimit(more) {
				return confirmation{condition: more}, true
			}
			return confirmation{yes: *i.Confirm}, true
		case *mess.Answer:
			yes, ok := i.Value.(bool)
			return confirmation{yes: yes}, ok
		}
		return confirmation{}, false
	}
}

// lastingRules lists the policy rules that block a device for every command until a person or the
// time lifts them. A busy device may be free before the answer.
var lastingRules = []string{"stop", "locked", "disarmed", "quiet_hours"}

// maxAnswersTried limits the answers that Unanswerable tries before it allows the question. The
// first answer that may succeed ends the search.
const maxAnswersTried = 64

// Unanswerable returns the rejection that makes a question useless: no offered answer can
// lead to an act now, and the policy rejects at least one of them. It returns nil if one
// answer may succeed, or if the question offers none. check is the check of the safety
// policy. Unanswerable changes nothing.
func Unanswerable(r runtime.Resolver, check func(capabilities.Plan) (policy.Decision, error), q capabilities.Clarification, req mess.Request) *policy.Rejection {
	s := answerSearch{r: r, check: check, req: req, left: maxAnswersTried}
	if s.anyMaySucceed(q) {
		return nil
	}
	return s.rejection
}

// answerSearch searches for an answer that may succeed.
type answerSearch struct {
	r         runtime.Resolver
	check     func(capabilities.Plan) (policy.Decision, error)
	req       mess.Request
	left      int               // answers left to try
	rejection *policy.Rejection // the first rejection
}

// anyMaySucceed reports whether an answer may succeed, or whether that is unknown.
func (s *answerSearch) anyMaySucceed(q capabilities.Clarification) bool {
	return len(q.Options) == 0 || slices.ContainsFunc(q.Options, func(option string) bool { return s.maySucceed(q, option) })
}

// maySucceed reports whether one answer may succeed. It keeps the first rejection.
func (s *answerSearch) maySucceed(q capabilities.Clarification, option string) bool {
	if s.left--; s.left < 0 {
		return true
	}
	out := s.r.Answer(q, mess.Object{{Key: q.Field, Value: option}}, option, s.req)
	switch {
	case out.Question != nil:
		return out.Question.Field == q.Field || s.anyMaySucceed(*out.Question)
	case out.Plan == nil:
		return false
	}
	for _, step := range out.Plan.Each() {
		_, err := s.check(step)
		if no, ok := errors.AsType[*policy.Rejection](err); ok && slices.Contains(lastingRules, no.Rule) {
			if s.rejection == nil {
				s.rejection = no
			}
			return false
		}
	}
	return true
}
