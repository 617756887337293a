package agentmail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailbox"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

const (
	callTime  = 30 * time.Second
	stayTime  = 15 * time.Minute // between two registrations: servers forget silent agents
	overlap   = time.Minute      // time that two fetches have in common
	firstWait = time.Second
	lastWait  = time.Minute
)

// mailboxSync receives and sends mail at the mail server.
type mailboxSync struct {
	*shared
	box     Mailbox
	outbox  *outbox
	inbound *inbound

	healthMu sync.Mutex
	health   Health
}

// status returns the state of the connection to the mail server.
func (ms *mailboxSync) status() Health {
	ms.healthMu.Lock()
	defer ms.healthMu.Unlock()
	return ms.health
}

func (ms *mailboxSync) setHealth(err error) {
	reason := ""
	if err != nil {
		reason = ms.redacted(err.Error())
	}
	ms.healthMu.Lock()
	defer ms.healthMu.Unlock()
	if err != nil {
		ms.health.Err = reason
		return
	}
	ms.health.Since, ms.health.Err = ms.now(), ""
}

// run fetches and sends mail until ctx ends. It tries again if the server is unreachable, and less
// often if the server rejects this agent.
func (ms *mailboxSync) run(ctx context.Context) error {
	defer ms.box.Close()
	pause := wait.Backoff{First: firstWait, Last: lastWait}
	var entered time.Time // time of the last registration; the server keeps no connection
	for ctx.Err() == nil {
		reached, err := ms.syncOnce(ctx, &entered)
		if ctx.Err() != nil {
			break
		}
		ms.setHealth(err)
		if reached {
			pause = wait.Backoff{First: firstWait, Last: lastWait}
		}
		if errors.Is(err, mailbox.ErrDenied) || errors.Is(err, mailbox.ErrToken) {
			entered = time.Time{}
			pause.First = lastWait
			if errors.Is(err, mailbox.ErrToken) {
				err = fmt.Errorf("%w; agentmail.json does not have the token for this name: choose another name: in the configuration, or have the server's admin remove the agent", err)
				ms.setHealth(err)
			}
			ms.log.Error("the mail server refuses this agent", "err", ms.redacted(err.Error()))
		} else {
			ms.log.Warn("mail server not reached", "err", ms.redacted(err.Error()))
		}
		wait.For(ctx, pause.Next())
	}
	return nil
}

// syncOnce fetches and sends mail until an error. reached reports whether a round succeeded.
func (ms *mailboxSync) syncOnce(ctx context.Context, entered *time.Time) (reached bool, err error) {
	poll := time.NewTicker(ms.cfg.Poll)
	defer poll.Stop()
	for {
		if entered.IsZero() || ms.now().Sub(*entered) >= stayTime {
			if err := ms.register(ctx); err != nil {
				return reached, err
			}
			*entered = ms.now()
		}
		if err := errors.Join(ms.fetch(ctx), ms.outbox.send(ctx)); err != nil {
			return reached, err
		}
		reached = true
		ms.setHealth(nil)
		select {
		case <-ctx.Done():
			return reached, nil
		case <-poll.C:
		case <-ms.changed:
		}
	}
}

// register registers this agent at the server, with the stored identity if there is one.
func (ms *mailboxSync) register(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	was := ms.identity()
	id, err := ms.box.Enter(ctx, was)
	if id != was && id.Token != "" {
		if id.Name != ms.cfg.Name && was.Name == "" {
			ms.log.Warn("the mail server has given this agent another name", "name", id.Name)
		}
		if err := ms.change(func(s *state) { s.Name, s.Token = id.Name, string(id.Token) }); err != nil {
			return err
		}
		ms.log.Info("registered at the mail server", "name", id.Name)
	}
	return err
}

// fetch handles new mail, the oldest first. It stores that a mail was handled before it
// acknowledges it.
func (ms *mailboxSync) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	since := ms.newest()
	if !since.IsZero() {
		since = since.Add(-overlap)
	}
	mails, err := ms.box.Fetch(ctx, since)
	if err != nil {
		return err
	}
	for _, m := range mails {
		if ms.isSeen(m.ID) {
			continue
		}
		if err := ms.receive(ctx, m); err != nil {
			return err
		}
		err := ms.change(func(s *state) {
			s.Seen = append(s.Seen, m.ID)
			if m.Created.After(s.Since) {
				s.Since = m.Created
			}
		})
		if err != nil {
			return err
		}
		if err := ms.box.Acknowledge(ctx, m.ID); err != nil {
			return err
		}
	}
	return nil
}

// receive handles one mail. After an error the caller must try again later.
func (ms *mailboxSync) receive(ctx context.Context, m mailbox.Mail) error {
	from, ok := ms.peer(m.From)
	l := email{from: from, body: m.Body, at: m.Created, mail: format.Mail{
		From: m.From, Subject: m.Subject, ThreadID: m.Thread, ID: strconv.FormatInt(m.ID, 10), Created: m.Created,
	}}
	switch {
	case strings.HasPrefix(m.Subject, "Contact request from ") && format.Plain(m.Body):
		ms.log.Info("contact request", "from", short(m.From))
		if !ok {
			return nil
		}
		return ms.box.Admit(ctx, m.From)
	case !ok:
		l.from.name = m.From
		ms.recordRejected(l, codeForbidden, "the sender is not in senders or agents of the configuration")
		return nil
	case len(m.Body) > maxBody:
		return ms.reject(l, &format.Invalid{Code: format.CodeInvalidFormat, Details: "the mail is larger than 10 MB", TaskID: m.Thread, MessageID: l.mail.ID})
	}
	_, err := ms.inbound.accept(ctx, l)
	if bad, ok := errors.AsType[*format.Invalid](err); ok {
		return ms.reject(l, bad)
	}
	if err != nil && !errors.Is(err, mess.Unavailable) {
		return ms.reject(l, &format.Invalid{Code: codeRefused, Details: err.Error(), TaskID: m.Thread, MessageID: l.mail.ID})
	}
	return err
}

// maxBody is the size limit of a mail in bytes.
const maxBody = 10 << 20

// peer returns an agent at the mail server. ok is false if the configuration does not name it.
func (ms *mailboxSync) peer(name string) (peer, bool) {
	sender, gives := ms.cfg.sender(name)
	a, works := ms.cfg.agent(name)
	if works && !gives {
		sender = a.Name
	}
	return peer{name: sender, actor: mailActor(sender), gives: gives, agent: a}, gives || works
}

// reject records a rejected message, and reports the error to the sender, unless the message is an
// error report.
func (ms *mailboxSync) reject(l email, bad *format.Invalid) error {
	ms.recordRejected(l, bad.Code, bad.Details)
	report, ok := bad.Report(ms.agentName(), newID(), ms.now())
	if !ok {
		return nil
	}
	return ms.queue(l.from, cmp.Or(l.mail.ThreadID, bad.TaskID), report)
}

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
