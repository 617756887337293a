package mcp

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// answer answers a question or a confirmation.
func (c *call) answer(ctx context.Context, raw json.RawMessage) (*sdk.CallToolResult, error) {
	a, err := parseArguments(raw)
	if err != nil {
		return nil, err
	}
	r, word := replyOf(a)
	if err := a.finish(); err != nil {
		return nil, err
	}
	if word != "" {
		if r.Answers, err = c.onlyAnswer(ctx, r.Re[0], word); err != nil {
			return nil, err
		}
	}
	answer, err := c.x.Send(ctx, mess.Message{Items: []mess.Item{r}})
	if err != nil {
		return nil, err
	}
	v := object()
	v.Add("ref", strictyaml.Str(messeaf.ThreadRef(r.Re[0])))
	addText(v, "status", string(mess.FirstAck(answer).Status))
	v.Add("next", strictyaml.Str("the executor has the answer: call mess_wait with this ref for the result"))
	return result(v), nil
}

// replyOf reads the arguments: exactly one of answers, confirm and accept, or a text that
// answers the only open question.
func replyOf(a *arguments) (r *mess.Reply, word string) {
	r = &mess.Reply{
		Re: mess.Refs{a.ref()}, Answers: a.object("answers"), Confirm: a.boolean("confirm"), Accept: a.boolean("accept"),
		Reason: a.text("reason"), ActionHash: a.text("action_hash"), Code: a.text("code"),
	}
	if r.Code != "" && r.Confirm == nil {
		r.Confirm = new(true)
	}
	word = a.text("answer")
	given := 0
	for _, there := range []bool{len(r.Answers) > 0, r.Confirm != nil, r.Accept != nil, word != ""} {
		if there {
			given++
		}
	}
	if given != 1 && len(a.problems) == 0 {
		a.fail("answers", "give exactly one of answers, answer, confirm and accept")
	}
	return r, word
}

// onlyAnswer returns a text as the answer to the only open question.
func (c *call) onlyAnswer(ctx context.Context, ref, word string) (mess.Object, error) {
	t, err := c.x.Thread(ctx, messeaf.ThreadRef(ref))
	if err != nil {
		return nil, err
	}
	q, ok := openQuestion(t)
	switch {
	case !ok:
		return nil, mess.Errorf(mess.IllegalTransition, "no question is open; it is %s", t.Status)
	case q.status.Code == mess.NeedsConfirmation:
		return nil, mess.Errorf(mess.IllegalTransition, "it needs a confirmation, not an answer; give confirm: true or false")
	case len(q.open) != 1:
		return nil, mess.Errorf(mess.Invalid, "%d questions are open; give answers: {field: answer} for each", len(q.open))
	}
	return mess.Object{{Key: q.open[0].Key(), Value: word}}, nil
}

// question is an open question of an executor.
type question struct {
	ref    string // of the message that asks
	status *mess.Status
	open   []mess.Question // the unanswered questions of needs_input
}

// openQuestion returns the open question of a thread.
func openQuestion(t Thread) (question, bool) {
	if t.Status != mess.NeedsInput && t.Status != mess.NeedsConfirmation {
		return question{}, false
	}
	var q question
	for _, m := range t.Messages {
		for _, item := range m.Items {
			switch i := item.(type) {
			case *mess.Status:
				q = question{}
				if i.Code == t.Status {
					q = question{m.Ref, i, i.Questions}
				}
			case *mess.Reply:
				q.removeAnswered(i)
			case *mess.Answer: // to one question, or to all
				q = question{}
			}
		}
	}
	return q, q.status != nil
}

// removeAnswered removes the questions that a reply answers.
func (q *question) removeAnswered(r *mess.Reply) {
	if r.Confirm != nil {
		*q = question{}
		return
	}
	var left []mess.Question
	for _, one := range q.open {
		if _, ok := r.Answers.Get(one.Key()); !ok {
			left = append(left, one)
		}
	}
	if q.open = left; len(left) == 0 && len(r.Answers) > 0 {
		*q = question{}
	}
}

// needs describes the open question to a model, and how to answer it. confirmed describes where a person
// confirms a plan with risk.
func (q question) needs(confirmed string) (v *strictyaml.Value, next string) {
	s := q.status
	v = object()
	addText(v, "ref", q.ref)
	if s.Code == mess.NeedsInput {
		v.Add("questions", mess.WriteValue(q.open))
		return v, "answer with mess_answer: this ref, and answers with the field of each question; ask the person if you do not know"
	}
	addText(v, "action", s.Action)
	addText(v, "consequences", s.Consequences)
	if s.Reversible != nil {
		v.Add("reversible", strictyaml.Truth(*s.Reversible))
	}
	addText(v, "action_hash", s.ActionHash)
	addText(v, "confirm_by", s.ConfirmBy)
	if s.ConfirmBy == "operator" {
		return v, "only an operator can confirm this, not you, and not with your tools: tell the person you work for that " + confirmed + ", then call mess_wait, which waits for their decision; if it times out, say so and end your turn instead of waiting again and again"
	}
	return v, "ask the person you work for to confirm exactly this, then call mess_answer with needs.ref and confirm: true or false"
}

// maxSeen is how many questions of all sessions a server remembers. A session sees a forgotten
// question a second time, which costs one call.
const maxSeen = 1024

// seenQuestions remembers which session has seen which open question. It is safe for concurrent
// use.
type seenQuestions struct {
	mu    sync.Mutex
	known map[string]bool
	order []string // oldest first
}

// questionKey identifies the open question of a thread in one session, or returns "". A partial
// answer makes it another question.
func questionKey(session string, t Thread) string {
	q, ok := openQuestion(t)
	if !ok {
		return ""
	}
	return session + " " + t.Ref + " " + q.ref + " " + strconv.Itoa(len(q.open))
}

// isNew reports whether a thread has an open question that the session has not
// seen.
func (s *seenQuestions) isNew(session string, t Thread) bool {
	key := questionKey(session, t)
	s.mu.Lock()
	defer s.mu.Unlock()
	return key != "" && !s.known[key]
}

// markSeen records that a result shows the open question of a thread.
func (s *seenQuestions) markSeen(session string, t Thread) {
	key := questionKey(session, t)
	s.mu.Lock()
	defer s.mu.Unlock()
	if key == "" || s.known[key] {
		return
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	if len(s.order) == maxSeen {
		delete(s.known, s.order[0])
		s.order = append(s.order[:0:0], s.order[1:]...)
	}
	s.known[key] = true
	s.order = append(s.order, key)
}

// session returns the session of a call. It is "" over stdio, which has one session.
func (c *call) session() string { return c.req.Session.ID() }
