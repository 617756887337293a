package agentmail

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailbox"
	"github.com/messkit/messkit/internal/secret"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

const (
	callTime  = 30 * time.Second
	stayTime  = 15 * time.Minute // between two signs of life: a server lets go of who is silent
	overlap   = time.Minute      // that two looks for mail have in common
	firstWait = time.Second
	lastWait  = time.Minute
)

// Health is how the door stands with its mail server.
type Health struct {
	Name    string    `json:"name,omitempty"` // of this agent there
	Since   time.Time `json:"since,omitzero"` // it has been reached last
	Err     string    `json:"error,omitempty"`
	Waiting int       `json:"waiting"` // messages to be sent
	Tasks   int       `json:"tasks"`   // of others that run here
	Given   int       `json:"given"`   // that others work on
}

// Report is how the door stands, for people.
type Report struct {
	Mailbox Health        `json:"mailbox"`
	Zones   []Reservation `json:"zones"`
	Refused []Refused     `json:"refused"` // the last messages that were not taken
}

// Status is how the door stands.
func (d *Adapter) Status() Report {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.health
	h.Name, h.Tasks, h.Given = d.s.Name, len(d.s.Tasks), len(d.s.Given)
	for _, e := range d.s.Out {
		if !e.HTTP {
			h.Waiting++
		}
	}
	report := Report{Mailbox: h, Zones: []Reservation{}, Refused: append([]Refused{}, d.s.Refused...)}
	for _, r := range d.s.Zones {
		if d.now().Before(r.Until) {
			report.Zones = append(report.Zones, r)
		}
	}
	return report
}

func (d *Adapter) stands(err error) {
	why := ""
	if err != nil {
		why = d.redacted(err.Error())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.health.Err = why
		return
	}
	d.health.Since, d.health.Err = d.now(), ""
}

// correspond fetches and sends mail until ctx ends. A server that cannot be reached
// is tried again; one that refuses this program is too, since it may be mended, but
// not often.
func (d *Adapter) correspond(ctx context.Context) error {
	defer d.box.Close()
	pause := wait.Backoff{First: firstWait, Last: lastWait}
	var entered time.Time // the server keeps no connection: who has come in, is in
	for ctx.Err() == nil {
		reached, err := d.visit(ctx, &entered)
		if ctx.Err() != nil {
			break
		}
		d.stands(err)
		if reached {
			pause = wait.Backoff{First: firstWait, Last: lastWait}
		}
		if errors.Is(err, mailbox.ErrDenied) || errors.Is(err, mailbox.ErrToken) {
			entered = time.Time{}
			pause.First = lastWait
			if errors.Is(err, mailbox.ErrToken) {
				err = fmt.Errorf("%w; agentmail.json does not have the token for this name: choose another name: in the configuration, or have the server's admin remove the agent", err)
				d.stands(err)
			}
			d.log.Error("the mail server refuses this agent", "err", d.redacted(err.Error()))
		} else {
			d.log.Warn("mail server not reached", "err", d.redacted(err.Error()))
		}
		wait.For(ctx, pause.Next())
	}
	return nil
}

// visit is at the server until something fails. reached tells that something worked.
func (d *Adapter) visit(ctx context.Context, entered *time.Time) (reached bool, err error) {
	poll := time.NewTicker(d.cfg.Poll)
	defer poll.Stop()
	for {
		if entered.IsZero() || d.now().Sub(*entered) >= stayTime {
			if err := d.enter(ctx); err != nil {
				return reached, err
			}
			*entered = d.now()
		}
		if err := errors.Join(d.fetch(ctx), d.send(ctx)); err != nil {
			return reached, err
		}
		reached = true
		d.stands(nil)
		select {
		case <-ctx.Done():
			return reached, nil
		case <-poll.C:
		case <-d.post:
		}
	}
}

// enter comes to the server as the agent that it knows, or becomes one.
func (d *Adapter) enter(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	d.mu.Lock()
	was := mailbox.Identity{Name: d.s.Name, Token: secret.Text(d.s.Token)}
	d.mu.Unlock()
	id, err := d.box.Enter(ctx, was)
	if id != was && id.Token != "" {
		if id.Name != d.cfg.Name && was.Name == "" {
			d.log.Warn("the mail server has given this agent another name", "name", id.Name)
		}
		if err := d.change(func(s *state) { s.Name, s.Token = id.Name, string(id.Token) }); err != nil {
			return err
		}
		d.log.Info("registered at the mail server", "name", id.Name)
	}
	return err
}

// fetch takes the mails that have come, the oldest first. Each is written down as
// taken before the server hears that it was.
func (d *Adapter) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	d.mu.Lock()
	since := d.s.Since
	d.mu.Unlock()
	if !since.IsZero() {
		since = since.Add(-overlap)
	}
	mails, err := d.box.Fetch(ctx, since)
	if err != nil {
		return err
	}
	for _, m := range mails {
		if d.taken(m.ID) {
			continue
		}
		if err := d.open(ctx, m); err != nil {
			return err
		}
		err := d.change(func(s *state) {
			s.Seen = append(s.Seen, m.ID)
			if m.Created.After(s.Since) {
				s.Since = m.Created
			}
		})
		if err != nil {
			return err
		}
		if err := d.box.Acknowledge(ctx, m.ID); err != nil {
			return err
		}
	}
	return nil
}

// open takes one mail. Its error is that it has to be taken later.
func (d *Adapter) open(ctx context.Context, m mailbox.Mail) error {
	from, ok := d.peer(m.From)
	l := letter{from: from, body: m.Body, at: m.Created, mail: format.Mail{
		From: m.From, Subject: m.Subject, ThreadID: m.Thread, ID: strconv.FormatInt(m.ID, 10), Created: m.Created,
	}}
	switch {
	case strings.HasPrefix(m.Subject, "Contact request from ") && format.Plain(m.Body):
		d.log.Info("contact request", "from", short(m.From))
		if !ok {
			return nil
		}
		return d.box.Admit(ctx, m.From)
	case !ok:
		l.from.name = m.From
		d.record(l, codeForbidden, "the sender is not in senders or agents of the configuration")
		return nil
	case len(m.Body) > maxBody:
		return d.refuse(l, &format.Invalid{Code: format.CodeInvalidFormat, Details: "the mail is larger than 10 MB", TaskID: m.Thread, MessageID: l.mail.ID})
	}
	_, err := d.take(ctx, l)
	if bad, ok := errors.AsType[*format.Invalid](err); ok {
		return d.refuse(l, bad)
	}
	if err != nil && !errors.Is(err, mess.Unavailable) {
		return d.refuse(l, &format.Invalid{Code: codeRefused, Details: err.Error(), TaskID: m.Thread, MessageID: l.mail.ID})
	}
	return err
}

// maxBody is the largest mail that is looked at, in bytes.
const maxBody = 10 << 20

// peer is an agent at the mail server, as far as it is known here.
func (d *Adapter) peer(name string) (peer, bool) {
	sender, gives := d.cfg.sender(name)
	a, works := d.cfg.agent(name)
	if works && !gives {
		sender = a.Name
	}
	return peer{name: sender, who: mailActor(sender), gives: gives, agent: a}, gives || works
}

// refuse records what is wrong with a message, and reports it to its sender, unless
// it is an error report itself.
func (d *Adapter) refuse(l letter, bad *format.Invalid) error {
	d.record(l, bad.Code, bad.Details)
	report, ok := bad.Report(d.name(), newID(), d.now())
	if !ok {
		return nil
	}
	return d.queue(l.from, threadOf(l, bad), report)
}

func threadOf(l letter, bad *format.Invalid) string {
	if l.mail.ThreadID != "" {
		return l.mail.ThreadID
	}
	return bad.TaskID
}
