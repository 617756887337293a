package agentmail

import (
	"context"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailbox"
	"github.com/messkit/messkit/mess"
)

// assignment builds the message of an assignment.
func (b *outbox) assignment(ctx context.Context, e *outboxEntry) ([]byte, error) {
	th, err := b.x.Thread(ctx, self, e.Ref)
	if err != nil {
		return nil, err
	}
	req := th.Request()
	m := b.withFiles(ctx, e.Ref, mess.Message{Items: []mess.Item{&req}})
	whole, _ := m.Items[0].(*mess.Request)
	return b.wrap(e.ID, e.At, format.Assign(e.Ref, *whole, th.Expires)).JSON()
}

// render builds the message of an entry, without secrets.
func (b *outbox) render(ctx context.Context, e *outboxEntry) ([]byte, error) {
	body, err := b.build(ctx, e)
	return b.withoutSecrets(body), err
}

// build builds the message of an entry.
func (b *outbox) build(ctx context.Context, e *outboxEntry) ([]byte, error) {
	if e.Body != nil {
		return e.Body, nil
	}
	if e.Kind == string(format.TypeTaskAssignment) {
		return b.assignment(ctx, e)
	}
	th, err := b.x.Thread(ctx, self, e.Ref)
	if err != nil {
		return nil, err
	}
	if e.Index >= len(th.Messages) {
		return nil, mess.Errorf(mess.NotFound, "%s has no message %d", e.Ref, e.Index)
	}
	th.Messages = slices.Clone(th.Messages)
	th.Messages[e.Index] = b.withFiles(ctx, e.Ref, th.Messages[e.Index])
	all := bodies(th, &task{ID: e.Task, Peer: e.To, Actor: e.Actor, Waits: e.Waits}, e.Index)
	if e.Part >= len(all) {
		return nil, mess.Errorf(mess.NotFound, "%s: message %d has no part %d", e.Ref, e.Index, e.Part)
	}
	return b.wrap(e.ID, e.At, all[e.Part]).JSON()
}

// emailOf returns the mail for a message.
func (b *outbox) emailOf(e outboxEntry, body []byte) mailbox.OutgoingMail {
	l := mailbox.OutgoingMail{To: e.To, Body: string(body), Thread: threadID(e.Thread), Importance: "normal"}
	kind, about, importance := describe(body)
	l.Subject = mailbox.Subject("[" + kind + "] " + strings.TrimSpace(e.Task+" "+about))
	if importance != "" {
		l.Importance = importance
	}
	l.Ack = kind == string(format.TypeTaskAssignment) || kind == string(format.TypeCoordinationRequest)
	return l
}

// describe returns the parts of a mail's subject, and its importance.
func describe(body []byte) (kind, about, importance string) {
	m, err := format.Parse(string(body), format.Mail{}, format.Strict)
	if err != nil {
		return "message", "", ""
	}
	switch b := m.Body.(type) {
	case *format.TaskAssignment:
		about, importance = b.Description, string(b.Priority)
	case *format.TaskCompletion:
		about = b.Summary
	case *format.StatusUpdate:
		about = b.Summary
	case *format.ErrorReport:
		about = b.Error.Message
		if b.NeedsHumanIntervention {
			importance = "high"
		}
	case *format.CoordinationRequest:
		about, importance = b.Topic, "high"
	}
	return string(m.Type), about, importance
}
