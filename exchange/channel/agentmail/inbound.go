package agentmail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/mess"
)

// take takes one message. What is wrong with it is an *agentmail.Invalid; any
// other error is the exchange's, which may take it later.
func (d *Adapter) take(ctx context.Context, l letter) (receipt, error) {
	m, err := format.Parse(l.body, l.mail, d.cfg.profile())
	if bad, ok := errors.AsType[*format.Invalid](err); ok && format.Plain(l.body) && bad.Type == "" {
		return d.words(ctx, l)
	}
	if err != nil {
		return receipt{}, err
	}
	for _, note := range m.Notes {
		d.log.Info("mail taken otherwise than it is written", "from", l.from.name, "type", string(m.Type), "note", note)
	}
	r, err := d.message(ctx, l, m)
	r.MessageID = m.MessageID
	if err == nil || errors.Is(err, mess.Unavailable) {
		return r, err
	}
	return r, about(err, m)
}

// message takes one that fits its format: from one who works on the task that it is
// about, or from one who may give tasks.
func (d *Adapter) message(ctx context.Context, l letter, m format.Message) (receipt, error) {
	if g := d.givenTo(l.from, format.TaskOf(m.Body)); g != "" {
		return d.report(ctx, l, g, m)
	}
	if !l.from.gives {
		return receipt{}, no(codeForbidden, "%s may not give tasks here, and was given no task %q", l.from.name, format.TaskOf(m.Body))
	}
	switch b := m.Body.(type) {
	case *format.TaskAssignment:
		return d.assigned(ctx, l, m, b)
	case *format.CoordinationRequest:
		return d.coordinate(ctx, l, m, b)
	case *format.FileReservation:
		return d.reserve(ctx, l.from, m, b)
	case *format.TaskCompletion:
		return d.completed(l.from, b)
	case *format.ErrorReport:
		d.record(l, b.Error.Code, b.Error.Message)
		return receipt{TaskID: b.TaskID, Note: "noted"}, nil
	}
	return receipt{}, no(codeUnknownTask, "no task %q was given to %s from here, so it has nothing to tell of it", format.TaskOf(m.Body), l.from.name)
}

// assigned makes a thread of a task.
func (d *Adapter) assigned(ctx context.Context, l letter, m format.Message, a *format.TaskAssignment) (receipt, error) {
	if ref, t := d.task(l.from, a.TaskID); t != nil && t.From == m.MessageID {
		return d.receipt(ctx, ref, a.TaskID) // it came twice
	}
	req, err := a.Request(d.known)
	if err != nil {
		return receipt{}, no(format.CodeInvalidFormat, "%v", err)
	}
	if err := (mess.Message{Items: []mess.Item{&req}}).Validate(); err != nil {
		return receipt{}, no(format.CodeInvalidFormat, "%v", err)
	}
	answer, err := d.say(ctx, l.from.who, mess.Message{Items: []mess.Item{&req}})
	if err != nil {
		return receipt{}, err
	}
	ack, _ := answer.Items[0].(*mess.Ack)
	told, err := d.alreadyTold(ctx, ack.Ref)
	if err != nil {
		return receipt{}, err
	}
	note := ""
	if v, ok := ack.Extra.Get("note"); ok {
		note, _ = v.(string)
	}
	t := task{
		Peer: l.from.name, Actor: l.from.who.ID, HTTP: l.from.http, ID: a.TaskID, Thread: cmp.Or(l.mail.ThreadID, a.TaskID),
		From: m.MessageID, Told: told, At: d.now(),
	}
	var first []entry
	if note != "" && len(a.Dependencies) > 0 {
		t.Waits = true
		if first, err = d.waits(&t, ack.Ref, note); err != nil {
			return receipt{}, err
		}
	}
	err = d.change(func(s *state) {
		s.Tasks[ack.Ref] = &t
		for _, e := range first {
			s.add(e)
		}
	})
	if err != nil {
		return receipt{}, err
	}
	d.noteReservations(ctx, l.from, a.TaskID)
	d.look(ack.Ref)
	d.log.Info("task by mail", "ref", ack.Ref, "by", l.from.name, "intent", req.Intent)
	r, err := d.receipt(ctx, ack.Ref, a.TaskID)
	r.Note = note
	if _, unused := format.Kept(req); len(unused) > 0 {
		r.Note = strings.TrimPrefix(r.Note+"; not used: "+strings.Join(unused, ", "), "; ")
	}
	return r, err
}

// waits tells the sender of a task that the task waits for others.
func (d *Adapter) waits(t *task, ref, note string) ([]entry, error) {
	e := entry{ID: newID(), To: t.Peer, HTTP: t.HTTP, At: d.now(), Task: t.ID, Thread: t.Thread, Kind: "blocker"}
	body, err := d.wrap(e.ID, e.At, &format.StatusUpdate{
		TaskID: t.ID, UpdateType: "blocker", Summary: note, Blockers: []any{note}, Metadata: mess.Object{{Key: "ref", Value: ref}},
	}).JSON()
	e.Body = body
	return []entry{e}, err
}

// alreadyTold is how much of a thread need not be told: of one that is not new, all
// but how it stands.
func (d *Adapter) alreadyTold(ctx context.Context, ref string) (int, error) {
	t, err := d.x.Thread(ctx, self, ref)
	if err != nil {
		return 0, err
	}
	told := 0
	for i, m := range t.Messages {
		for _, item := range m.Items {
			if _, ok := item.(*mess.Status); ok {
				told = i
			}
		}
	}
	if end := endOf(t); end >= 0 {
		told = end
	}
	return told, nil
}

func (d *Adapter) receipt(ctx context.Context, ref, id string) (receipt, error) {
	t, err := d.x.Thread(ctx, self, ref)
	return receipt{TaskID: id, Ref: ref, Status: t.Status}, err
}

// task finds a task that a peer has given.
func (d *Adapter) task(from peer, id string) (ref string, t *task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ref, t := range d.s.Tasks {
		if t.Actor == from.who.ID && (t.ID == id || ref == id) && id != "" {
			return ref, new(*t)
		}
	}
	return "", nil
}

// inThread finds the task of a peer that a mail's thread is about.
func (d *Adapter) inThread(from peer, thread string) (ref string, t *task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ref, t := range d.s.Tasks {
		if t.Actor == from.who.ID && thread != "" && (t.Thread == thread || threadID(t.ID) == thread) {
			return ref, new(*t)
		}
	}
	return "", nil
}

// coordinate takes what a requester says to a task, and what it wants to be told or
// to arrange.
func (d *Adapter) coordinate(ctx context.Context, l letter, m format.Message, c *format.CoordinationRequest) (receipt, error) {
	items, _, err := format.Carried(c)
	if err != nil {
		return receipt{}, no(format.CodeInvalidFormat, "%v", err)
	}
	id := format.TaskOf(c)
	ref, t := d.task(l.from, id)
	if t == nil && l.mail.ThreadID != "" && id == "" {
		ref, t = d.inThread(l.from, l.mail.ThreadID)
	}
	switch {
	case len(items) > 0 && t == nil:
		return receipt{}, no(codeUnknownTask, "there is no task %q of %s that runs here", id, l.from.name)
	case len(items) > 0:
		return d.speak(ctx, l, m, ref, *t, items)
	case format.InReplyTo(c) != "": // which is never answered, or there would be no end
		d.log.Info("coordination answered", "by", l.from.name, "topic", short(c.Topic))
		if t != nil {
			d.noteIn(ctx, l.from, ref, m.MessageID, "coordination", mess.Object{{Key: "in_reply_to", Value: format.InReplyTo(c)}, {Key: "topic", Value: c.Topic}})
		}
		return receipt{Note: "noted"}, nil
	case c.RequestType == "handoff":
		return receipt{}, no(codeUnsupported, "work is taken over as a task_assignment; send one")
	case len(c.SharedResources) > 0:
		return d.share(ctx, l.from, m, c)
	case t != nil:
		d.noteIn(ctx, l.from, ref, m.MessageID, "coordination", mess.Object{{Key: "request_type", Value: c.RequestType}, {Key: "topic", Value: c.Topic}})
		d.again(ref)
		r, err := d.receipt(ctx, ref, t.ID)
		if r.Note = strings.TrimPrefix(notUsed(c), "; "); err == nil && r.Note != "" {
			err = d.answer(l.from, m, r.Note)
		}
		return r, err
	case id != "":
		return receipt{}, no(codeUnknownTask, "there is no task %q of %s that runs here", id, l.from.name)
	}
	return receipt{}, d.answer(l.from, m, d.overview(ctx, l.from)+notUsed(c))
}

// again has told once more how a task stands.
func (d *Adapter) again(ref string) {
	told, err := d.alreadyTold(context.Background(), ref)
	if err == nil {
		err = d.change(func(s *state) {
			if t := s.Tasks[ref]; t != nil {
				t.Told = min(t.Told, told)
			}
		})
	}
	if err != nil {
		d.log.Warn("not told again", "ref", ref, "err", err)
	}
	d.look(ref)
}

// overview is how the tasks of a peer stand, in words.
func (d *Adapter) overview(ctx context.Context, from peer) string {
	d.mu.Lock()
	var refs []string
	for ref, t := range d.s.Tasks {
		if t.Actor == from.who.ID {
			refs = append(refs, ref)
		}
	}
	d.mu.Unlock()
	if len(refs) == 0 {
		return "none of your tasks runs here"
	}
	var lines []string
	for _, ref := range refs {
		if t, err := d.x.Thread(ctx, self, ref); err == nil {
			lines = append(lines, fmt.Sprintf("%s is %s", t.ClientID, t.Status))
		}
	}
	return strings.Join(lines, "; ")
}

// answer answers a coordination request.
func (d *Adapter) answer(to peer, m format.Message, text string) error {
	id := newID()
	now := d.now()
	reply := d.wrap(id, now, &format.CoordinationRequest{
		RequestType: "sync", Participants: []string{to.name}, Topic: text, Metadata: mess.Object{{Key: "in_reply_to", Value: m.MessageID}},
	})
	return d.queue(to, "", reply)
}

// queue writes a whole message down that is to be sent.
func (d *Adapter) queue(to peer, thread string, m format.Message) error {
	body, err := m.JSON()
	if err != nil {
		return err
	}
	at, err := m.Timestamp.Time()
	if err != nil {
		return err
	}
	return d.change(func(s *state) {
		s.add(entry{ID: m.MessageID, To: to.name, HTTP: to.http, At: at, Task: format.TaskOf(m.Body), Thread: thread, Kind: string(m.Type), Body: body})
	})
}

// record notes a message that was not taken.
func (d *Adapter) record(l letter, code, details string) {
	d.log.Warn("mail refused", "from", l.from.name, "code", code, "err", short(details))
	err := d.change(func(s *state) {
		s.Refused = append(s.Refused, Refused{At: d.now(), From: short(l.from.name), Code: code, Details: short(details), Subject: short(l.mail.Subject)})
	})
	if err != nil {
		d.log.Warn("a refusal is not written down", "err", err)
	}
}

// completed takes the word of one who has reserved zones for a task that it is done.
func (d *Adapter) completed(from peer, c *format.TaskCompletion) (receipt, error) {
	n := 0
	err := d.change(func(s *state) { n = s.release(from.who.ID, c.TaskID) })
	if err == nil && n == 0 {
		err = no(codeUnknownTask, "%s was given no task %q from here, and has reserved nothing for it", from.name, c.TaskID)
	}
	return receipt{TaskID: c.TaskID, Note: "what was reserved for it is free"}, err
}
