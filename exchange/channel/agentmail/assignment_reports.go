package agentmail

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// report handles a message of an agent about its task.
func (as *assignments) report(ctx context.Context, l email, ref string, m format.Message) (receipt, error) {
	g := as.of(ref)
	if g == nil {
		return receipt{}, reject(codeUnknownTask, "task %s is over", ref)
	}
	items, err := as.reported(ref, m)
	if err != nil {
		return receipt{}, reject(format.CodeInvalidFormat, "%v", err)
	}
	if len(items) == 0 { // the content comes in another message
		return receipt{TaskID: ref, Ref: ref}, nil
	}
	message := mess.Message{ID: m.MessageID, Re: mess.Refs{ref}, Epoch: g.Epoch}
	var ask *agentQuestion
	for _, item := range items {
		switch i := item.(type) {
		case *mess.Status:
			s := as.localStatus(*i)
			if s.Code == mess.NeedsInput || s.Code == mess.NeedsConfirmation {
				ask = &agentQuestion{There: format.RefOf(m.Body), Hash: s.ActionHash}
			}
			message.Items = append(message.Items, s)
		case *mess.Response:
			r := *i
			r.Re, r.Content = nil, as.attachFiles(ctx, l.from.agent.actor(), ref, r.Content)
			message.Items = append(message.Items, &r)
		case *mess.Suggestion:
			s := *i
			s.Re = nil
			message.Items = append(message.Items, &s)
		case *mess.Other:
			message.Items = append(message.Items, i)
		default:
			return receipt{}, reject(codeUnexpected, "metadata.mess.%s: one who works on a task says status and response", item.Kind())
		}
	}
	answer, err := as.post(ctx, l.from.agent.actor(), message)
	if err != nil {
		if errors.Is(err, mess.Unavailable) {
			return receipt{}, err
		}
		return receipt{}, as.refusedReport(ctx, ref, err)
	}
	ack, _ := answer.Items[0].(*mess.Ack)
	err = as.change(func(s *state) {
		switch one := s.Given[ref]; {
		case one == nil:
		case ack.Status.Terminal():
			delete(s.Given, ref)
		case ask != nil:
			ask.Here = ack.Ref
			one.Asks = append(slices.Clone(one.Asks), *ask)
		}
	})
	return receipt{TaskID: ref, Ref: ack.Ref, Status: ack.Status}, err
}

// refusedReport removes the assignment if its task has ended.
func (as *assignments) refusedReport(ctx context.Context, ref string, cause error) error {
	if th, err := as.x.Thread(ctx, self, ref); err == nil && th.Status.Terminal() {
		return errors.Join(cause, as.change(func(s *state) { delete(s.Given, ref) }))
	}
	return cause
}

// reported returns the items of a report. An error report about the assignment itself ends the
// task, because the agent has not begun.
func (as *assignments) reported(ref string, m format.Message) ([]mess.Item, error) {
	e, ok := m.Body.(*format.ErrorReport)
	if ok && slices.Contains([]string{format.CodeInvalidFormat, format.CodeVersionMismatch, format.CodeUnknownType, format.CodeSenderMismatch, codeForbidden}, e.Error.Code) {
		if _, about := e.Error.Context.Get("message_id"); about && !as.hasReported(ref) {
			return []mess.Item{&mess.Status{
				Code: mess.Failed, Reason: &mess.Reason{Type: e.Error.Code, Detail: "the agent does not take the task: " + e.Error.Message, Effect: mess.EffectNone}, Recoverable: new(true),
			}}, nil
		}
	}
	return format.Reports(m, as.now())
}

// hasReported reports whether an agent has sent anything about a task.
func (as *assignments) hasReported(ref string) bool {
	th, err := as.x.Thread(context.Background(), self, ref)
	if err != nil {
		return true
	}
	g := as.of(ref)
	if g == nil {
		return true
	}
	begun := false
	for m, s := range mess.ItemsOf[*mess.Status](th.Messages) {
		switch {
		case m.From != g.ID:
		case begun:
			return true
		case s.Code == mess.InProgress: // the start, which this adapter has posted
			begun = true
		}
	}
	return false
}

// localStatus converts a status of another exchange to one that a started task can have here.
// Extra keeps the original code.
func (as *assignments) localStatus(s mess.Status) *mess.Status {
	was := s.Code
	s.Re, s.Epoch, s.Instance, s.ID = nil, 0, "", ""
	switch s.Code {
	case mess.Claimed, mess.Pending, mess.Received:
		s.Code = mess.InProgress
	case mess.Declined, mess.Expired, mess.Superseded, mess.Delegated:
		effect := mess.EffectUnknown
		if was == mess.Declined || was == mess.Expired {
			effect = mess.EffectNone
		}
		s.Code = mess.Failed
		reason := mess.Reason{Type: string(was), Detail: s.Message, Effect: effect}
		if s.Reason != nil {
			reason.Detail = s.Reason.Detail
			if s.Reason.Effect != "" {
				reason.Effect = s.Reason.Effect
			}
		}
		s.Reason = &reason
	}
	if s.Code != was {
		s.Extra = append(slices.Clone(s.Extra), mess.Field{Key: "said", Value: string(was)})
	}
	return &s
}

// attachFiles stores the files of a response in its thread.
func (as *assignments) attachFiles(ctx context.Context, actor exchange.Actor, ref string, content []mess.Entry) []mess.Entry {
	content = slices.Clone(content)
	for i, e := range content {
		media, ok := e.Media()
		if !ok {
			continue
		}
		mime, data, ok := mess.ParseDataURI(media.URI)
		if !ok {
			continue
		}
		name := cmp.Or(media.Name, e.Type+messeaf.Extension(mime))
		file, err := as.x.Attach(ctx, actor, ref, name, mime, bytes.NewReader(data))
		if err != nil { // the file stays in the message
			as.log.Warn("cannot store a file from a mail; it stays in the message", "ref", ref, "err", err)
			continue
		}
		media.URI, media.File, media.MIME, media.Size, media.SHA256 = "", file.File, file.MIME, file.Size, file.SHA256
		content[i] = mess.MediaEntry(e.Type, media)
	}
	return content
}
