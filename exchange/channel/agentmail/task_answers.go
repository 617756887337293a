package agentmail

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/mess"
)

// postItems posts the items of a requester to its task. An answer counts only for the open
// question, and only if the question was sent before.
func (ts *tasks) postItems(ctx context.Context, l email, m format.Message, ref string, t task, items []mess.Item) (receipt, error) {
	message := mess.Message{ID: m.MessageID, Re: mess.Refs{ref}}
	at, err := m.Timestamp.Time()
	if err != nil {
		return receipt{}, err
	}
	for _, item := range items {
		one, q, err := ts.bindItem(item, t, l, at)
		if err != nil {
			return receipt{}, err
		}
		if q != "" {
			message.Re = mess.Refs{q}
		}
		message.Items = append(message.Items, one)
	}
	if _, err := ts.post(ctx, l.from.actor, message); err != nil {
		return receipt{}, err
	}
	return ts.receipt(ctx, ref, t.ID)
}

// bindItem returns an item for the thread, and the ref of the question that it answers.
func (ts *tasks) bindItem(item mess.Item, t task, l email, at time.Time) (mess.Item, string, error) {
	switch i := item.(type) {
	case *mess.Reply:
		r := *i
		if r.Accept != nil {
			r.Re = nil
			return &r, "", nil
		}
		q, err := ts.question(t, l, at, r.Re, r.ActionHash)
		if err != nil {
			return nil, "", err
		}
		if yes := r.Confirm != nil && *r.Confirm; yes && l.from.http && r.ActionHash == "" && !slices.Contains(r.Re, q.Ref) && !slices.ContainsFunc(t.Asked, func(a asked) bool { return a.Ref == q.Ref && slices.Contains(r.Re, a.Mail) }) {
			return nil, "", reject(codeStale, "the confirmation names no question; name it in metadata.mess.reply.re: %s", q.Mail)
		}
		r.Re = nil
		if r.Confirm != nil {
			r.ActionHash = q.Hash
		}
		return &r, q.Ref, nil
	case *mess.Answer:
		a := *i
		q, err := ts.question(t, l, at, a.Re, "")
		if err != nil {
			return nil, "", err
		}
		a.Re = nil
		return &a, q.Ref, nil
	case *mess.Cancel:
		c := *i
		c.Re = nil
		return &c, "", nil
	case *mess.Suggestion:
		s := *i
		s.Re = nil
		return &s, "", nil
	}
	return nil, "", reject(codeUnexpected, "metadata.mess.%s: a requester says reply, answer, cancel or suggestion", item.Kind())
}

// question returns the question that an answer is for. That is the last one. The error says that
// the question is not open any more, that the answer names another one, or that the agent wrote
// the answer before it got the question. At is the time of the answer by the clock of the agent.
func (ts *tasks) question(t task, l email, at time.Time, re mess.Refs, hash string) (asked, error) {
	if len(t.Asked) == 0 {
		return asked{}, reject(codeStale, "task %s has no open question", t.ID)
	}
	q := t.Asked[len(t.Asked)-1]
	mails := []string{q.Ref} // its names; the adapter may have sent it several times
	for _, one := range slices.Backward(t.Asked) {
		if one.Ref == q.Ref {
			mails = append(mails, one.Mail)
			if !one.Sent.IsZero() {
				q.Sent = one.Sent
			}
		}
	}
	named := slices.DeleteFunc(slices.Clone(re), func(r string) bool {
		return r == t.ID || !strings.Contains(r, "/") && !strings.HasPrefix(r, "msg-")
	})
	switch {
	case hash != "" && hash != q.Hash:
		return asked{}, reject(codeStale, "the answer is for another plan; the open question is %s", q.Mail)
	case slices.ContainsFunc(named, func(r string) bool { return !slices.Contains(mails, r) }):
		return asked{}, reject(codeStale, "the answer is for another question; the open one is %s", q.Mail)
	case at.Before(q.At.Truncate(time.Second)):
		return asked{}, reject(codeStale, "the timestamp of the answer is before the question (%s); answer again", q.At.UTC().Format(time.RFC3339))
	case !l.from.http && (q.Sent.IsZero() || l.at.Before(q.Sent)):
		return asked{}, reject(codeStale, "the answer is older than the question %s; answer again", q.Mail)
	case !q.Deadline.IsZero() && ts.now().After(q.Deadline):
		return asked{}, reject(codeStale, "the answer came after %s, which was the time for it", q.Deadline.UTC().Format(time.RFC3339))
	}
	return q, nil
}

// acceptText handles a plain text in the thread of a task: it answers the open question, or
// cancels the task.
func (ts *tasks) acceptText(ctx context.Context, l email) (receipt, error) {
	bad := &format.Invalid{Code: format.CodeInvalidFormat, TaskID: l.mail.ThreadID, MessageID: l.mail.ID}
	refuse := func(text string) (receipt, error) {
		bad.Details = text
		return receipt{}, bad
	}
	ref, t := ts.inThread(l.from, l.mail.ThreadID)
	if t == nil {
		return refuse("the body is not one message in JSON; send a task_assignment to ask for something, or answer in the thread of a task")
	}
	bad.TaskID = t.ID
	th, err := ts.x.Thread(ctx, self, ref)
	if err != nil {
		return receipt{}, err
	}
	text := withoutQuotation(l.body)
	var item mess.Item
	word := strings.ToLower(strings.Trim(text, " \t.!"))
	switch {
	case word == "cancel":
		item = &mess.Cancel{Reason: "by mail"}
	case th.Status == mess.NeedsConfirmation && yesNo[word] != nil:
		item = &mess.Reply{Confirm: yesNo[word]}
	case th.Status == mess.NeedsConfirmation:
		return refuse("the question wants a confirmation; answer yes, no or cancel")
	case th.Status == mess.NeedsInput:
		answers, reason := answersIn(text, openKeys(th.Questions))
		if reason != "" {
			return refuse(reason)
		}
		item = &mess.Reply{Answers: answers}
	default:
		return refuse("task " + t.ID + " has no open question, and is " + string(th.Status) + "; write cancel to cancel it, or send a task_assignment for something else")
	}
	m := format.Message{MessageID: "mail-" + l.mail.ID, Timestamp: mess.TimeOf(l.at)}
	r, err := ts.postItems(ctx, l, m, ref, *t, []mess.Item{item})
	if err != nil && !errors.Is(err, mess.Unavailable) {
		err = rejectionOf(err, format.Message{MessageID: l.mail.ID, Body: &format.StatusUpdate{TaskID: t.ID}})
	}
	return r, err
}

var yesNo = map[string]*bool{"yes": new(true), "y": new(true), "no": new(false), "n": new(false)}

// withoutQuotation returns a text without its quotations.
func withoutQuotation(body string) string {
	var lines []string
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, ">") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// answersIn parses the answer to one question, or a line "name: answer" for each question.
func answersIn(text string, keys []string) (mess.Object, string) {
	if len(keys) == 1 && text != "" {
		if key, rest, ok := strings.Cut(text, ":"); ok && strings.EqualFold(strings.TrimSpace(key), keys[0]) {
			text = strings.TrimSpace(rest)
		}
		return mess.Object{{Key: keys[0], Value: text}}, ""
	}
	var o mess.Object
	for line := range strings.Lines(text) {
		key, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		i := slices.IndexFunc(keys, func(k string) bool { return strings.EqualFold(k, strings.TrimSpace(key)) })
		if !ok || i < 0 || strings.TrimSpace(rest) == "" {
			return nil, "there are several questions; answer with one line for each of " + strings.Join(keys, ", ") + ", like " + keys[0] + ": your answer"
		}
		o = o.Set(keys[i], strings.TrimSpace(rest))
	}
	if len(o) == 0 {
		return nil, "the answer is empty"
	}
	return o, ""
}
