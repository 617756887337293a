package agentmail

import (
	"context"
	"errors"
	"strings"

	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/mess"
)

// inbound accepts messages, and passes each to the part that it is for.
type inbound struct {
	*shared
	tasks       *tasks
	assignments *assignments
	zones       *zones
}

// accept handles one message. If the message is invalid, the error is a *format.Invalid. After any
// other error the caller must try again later.
func (in *inbound) accept(ctx context.Context, l email) (receipt, error) {
	m, err := format.Parse(l.body, l.mail, in.cfg.profile())
	if bad, ok := errors.AsType[*format.Invalid](err); ok && format.Plain(l.body) && bad.Type == "" {
		return in.tasks.acceptText(ctx, l)
	}
	if err != nil {
		return receipt{}, err
	}
	for _, note := range m.Notes {
		in.log.Info("mail accepted with an interpretation", "from", l.from.name, "type", string(m.Type), "note", note)
	}
	r, err := in.dispatch(ctx, l, m)
	r.MessageID = m.MessageID
	if err == nil || errors.Is(err, mess.Unavailable) {
		return r, err
	}
	return r, rejectionOf(err, m)
}

// dispatch handles a valid message: of the agent that works on its task, or of an agent that may
// assign tasks.
func (in *inbound) dispatch(ctx context.Context, l email, m format.Message) (receipt, error) {
	if g := in.assignments.givenTo(l.from, format.TaskOf(m.Body)); g != "" {
		return in.assignments.report(ctx, l, g, m)
	}
	if !l.from.gives {
		return receipt{}, reject(codeForbidden, "%s may not assign tasks here, and has no task %q", l.from.name, format.TaskOf(m.Body))
	}
	switch b := m.Body.(type) {
	case *format.TaskAssignment:
		return in.tasks.accept(ctx, l, m, b)
	case *format.CoordinationRequest:
		return in.coordinate(ctx, l, m, b)
	case *format.FileReservation:
		return in.zones.reserve(ctx, l.from, m, b)
	case *format.TaskCompletion:
		return in.zones.completed(l.from, b)
	case *format.ErrorReport:
		in.recordRejected(l, b.Error.Code, b.Error.Message)
		return receipt{TaskID: b.TaskID, Note: "noted"}, nil
	}
	return receipt{}, reject(codeUnknownTask, "this exchange has assigned no task %q to %s", format.TaskOf(m.Body), l.from.name)
}

// coordinate handles a coordination request: items for a task, a request for the status, or shared
// resources.
func (in *inbound) coordinate(ctx context.Context, l email, m format.Message, c *format.CoordinationRequest) (receipt, error) {
	items, _, err := format.Carried(c)
	if err != nil {
		return receipt{}, reject(format.CodeInvalidFormat, "%v", err)
	}
	id := format.TaskOf(c)
	ref, t := in.tasks.task(l.from, id)
	if t == nil && l.mail.ThreadID != "" && id == "" {
		ref, t = in.tasks.inThread(l.from, l.mail.ThreadID)
	}
	switch {
	case len(items) > 0 && t == nil:
		return receipt{}, reject(codeUnknownTask, "there is no task %q of %s that runs here", id, l.from.name)
	case len(items) > 0:
		return in.tasks.postItems(ctx, l, m, ref, *t, items)
	case format.InReplyTo(c) != "": // an answer to an answer would never end
		in.log.Info("coordination answered", "by", l.from.name, "topic", short(c.Topic))
		if t != nil {
			in.tasks.noteIn(ctx, l.from, ref, m.MessageID, "coordination", mess.Object{{Key: "in_reply_to", Value: format.InReplyTo(c)}, {Key: "topic", Value: c.Topic}})
		}
		return receipt{Note: "noted"}, nil
	case c.RequestType == "handoff":
		return receipt{}, reject(codeUnsupported, "a handoff is a task_assignment; send one")
	case len(c.SharedResources) > 0:
		return in.zones.share(ctx, l.from, m, c)
	case t != nil:
		in.tasks.noteIn(ctx, l.from, ref, m.MessageID, "coordination", mess.Object{{Key: "request_type", Value: c.RequestType}, {Key: "topic", Value: c.Topic}})
		in.tasks.repeatStatus(ref)
		r, err := in.tasks.receipt(ctx, ref, t.ID)
		if r.Note = strings.TrimPrefix(notUsed(c), "; "); err == nil && r.Note != "" {
			err = in.answerCoordination(l.from, m, r.Note)
		}
		return r, err
	case id != "":
		return receipt{}, reject(codeUnknownTask, "there is no task %q of %s that runs here", id, l.from.name)
	}
	return receipt{}, in.answerCoordination(l.from, m, in.tasks.overview(ctx, l.from)+notUsed(c))
}
