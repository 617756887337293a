package agentmail

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/exchange/inbox"
	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/mess"
)

// tasks are the threads that mail agents have asked for.
type tasks struct {
	*shared
	notifiers keyed.Runner // by the ref of the task whose sender is notified
}

// follow wakes tasks when their threads change, until ctx ends.
func (ts *tasks) follow(ctx context.Context) {
	inbox.Follow(ctx, ts.x, ts.log, ts.wakeAll, func(e exchange.Envelope) { ts.wake(e.Ref) })
}

// notifyAll notifies the senders of tasks, until ctx ends.
func (ts *tasks) notifyAll(ctx context.Context) { ts.notifiers.Run(ctx, ts.notifyOne) }

// wake starts the notification of the agent of a task. It ignores an unknown ref.
func (ts *tasks) wake(ref string) {
	ts.mu.Lock()
	known := ts.s.Tasks[ref] != nil
	ts.mu.Unlock()
	if known {
		ts.notifiers.Wake(ref)
	}
}

func (ts *tasks) wakeAll() {
	ts.mu.Lock()
	refs := slices.Collect(maps.Keys(ts.s.Tasks))
	ts.mu.Unlock()
	for _, ref := range refs {
		ts.notifiers.Wake(ref)
	}
}

// accept makes a thread of a task.
func (ts *tasks) accept(ctx context.Context, l email, m format.Message, a *format.TaskAssignment) (receipt, error) {
	if ref, t := ts.task(l.from, a.TaskID); t != nil && t.From == m.MessageID {
		return ts.receipt(ctx, ref, a.TaskID) // a duplicate
	}
	req, err := a.Request(ts.isCapability)
	if err != nil {
		return receipt{}, reject(format.CodeInvalidFormat, "%v", err)
	}
	if err := (mess.Message{Items: []mess.Item{&req}}).Validate(); err != nil {
		return receipt{}, reject(format.CodeInvalidFormat, "%v", err)
	}
	answer, err := ts.post(ctx, l.from.actor, mess.Message{Items: []mess.Item{&req}})
	if err != nil {
		return receipt{}, err
	}
	ack, _ := answer.Items[0].(*mess.Ack)
	reported, err := ts.reportedMessages(ctx, ack.Ref)
	if err != nil {
		return receipt{}, err
	}
	note := ""
	if v, ok := ack.Extra.Get("note"); ok {
		note, _ = v.(string)
	}
	t := task{
		Peer: l.from.name, Actor: l.from.actor.ID, HTTP: l.from.http, ID: a.TaskID, Thread: cmp.Or(l.mail.ThreadID, a.TaskID),
		From: m.MessageID, Reported: reported, At: ts.now(),
	}
	var first []outboxEntry
	if note != "" && len(a.Dependencies) > 0 {
		t.Waits = true
		if first, err = ts.waitNotice(&t, ack.Ref, note); err != nil {
			return receipt{}, err
		}
	}
	err = ts.change(func(s *state) {
		s.Tasks[ack.Ref] = &t
		for _, e := range first {
			s.add(e)
		}
	})
	if err != nil {
		return receipt{}, err
	}
	ts.noteReservations(ctx, l.from, a.TaskID)
	ts.wake(ack.Ref)
	ts.log.Info("task by mail", "ref", ack.Ref, "by", l.from.name, "intent", req.Intent)
	r, err := ts.receipt(ctx, ack.Ref, a.TaskID)
	r.Note = note
	if _, unused := format.Kept(req); len(unused) > 0 {
		r.Note = strings.TrimPrefix(r.Note+"; not used: "+strings.Join(unused, ", "), "; ")
	}
	return r, err
}

// waitNotice returns the message that a task waits for other tasks.
func (ts *tasks) waitNotice(t *task, ref, note string) ([]outboxEntry, error) {
	e := outboxEntry{ID: newID(), To: t.Peer, HTTP: t.HTTP, At: ts.now(), Task: t.ID, Thread: t.Thread, Kind: "blocker"}
	body, err := ts.wrap(e.ID, e.At, &format.StatusUpdate{
		TaskID: t.ID, UpdateType: "blocker", Summary: note, Blockers: []any{note}, Metadata: mess.Object{{Key: "ref", Value: ref}},
	}).JSON()
	e.Body = body
	return []outboxEntry{e}, err
}

// reportedMessages returns how many messages of a thread need no report. In a thread that existed
// before, only the status needs one.
func (ts *tasks) reportedMessages(ctx context.Context, ref string) (int, error) {
	t, err := ts.x.Thread(ctx, self, ref)
	if err != nil {
		return 0, err
	}
	reported := 0
	for i, m := range t.Messages {
		for _, item := range m.Items {
			if _, ok := item.(*mess.Status); ok {
				reported = i
			}
		}
	}
	if end := endOf(t); end >= 0 {
		reported = end
	}
	return reported, nil
}

func (ts *tasks) receipt(ctx context.Context, ref, id string) (receipt, error) {
	t, err := ts.x.Thread(ctx, self, ref)
	return receipt{TaskID: id, Ref: ref, Status: t.Status}, err
}

// task returns the task of a peer with an id or ref.
func (ts *tasks) task(from peer, id string) (ref string, t *task) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for ref, t := range ts.s.Tasks {
		if t.Actor == from.actor.ID && (t.ID == id || ref == id) && id != "" {
			return ref, new(*t)
		}
	}
	return "", nil
}

// inThread returns the task of a peer that belongs to a mail thread.
func (ts *tasks) inThread(from peer, thread string) (ref string, t *task) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for ref, t := range ts.s.Tasks {
		if t.Actor == from.actor.ID && thread != "" && (t.Thread == thread || threadID(t.ID) == thread) {
			return ref, new(*t)
		}
	}
	return "", nil
}

// repeatStatus reports the status of a task once more.
func (ts *tasks) repeatStatus(ref string) {
	reported, err := ts.reportedMessages(context.Background(), ref)
	if err == nil {
		err = ts.change(func(s *state) {
			if t := s.Tasks[ref]; t != nil {
				t.Reported = min(t.Reported, reported)
			}
		})
	}
	if err != nil {
		ts.log.Warn("the reports were not sent again", "ref", ref, "err", err)
	}
	ts.wake(ref)
}

// overview describes the status of the tasks of a peer.
func (ts *tasks) overview(ctx context.Context, from peer) string {
	ts.mu.Lock()
	var refs []string
	for ref, t := range ts.s.Tasks {
		if t.Actor == from.actor.ID {
			refs = append(refs, ref)
		}
	}
	ts.mu.Unlock()
	if len(refs) == 0 {
		return "none of your tasks runs here"
	}
	var lines []string
	for _, ref := range refs {
		if t, err := ts.x.Thread(ctx, self, ref); err == nil {
			lines = append(lines, fmt.Sprintf("%s is %s", t.ClientID, t.Status))
		}
	}
	return strings.Join(lines, "; ")
}

// noteIn writes an arrangement by mail into a thread, once for each id.
func (ts *tasks) noteIn(ctx context.Context, from peer, ref, id, kind string, what mess.Object) {
	_, err := ts.post(ctx, from.actor, mess.Message{ID: id, Re: mess.Refs{ref}, Items: []mess.Item{&mess.Other{Type: mess.Kind(kind), Value: what}}})
	if err != nil {
		ts.log.Warn("cannot write an arrangement into its thread", "ref", ref, "kind", kind, "err", err)
	}
}

// noteReservations writes the reservations for a task into its thread. If there is no thread yet,
// accept calls it again.
func (ts *tasks) noteReservations(ctx context.Context, from peer, task string) {
	ref, t := ts.task(from, task)
	if t == nil {
		return
	}
	ts.mu.Lock()
	var rows []Reservation
	for _, r := range ts.s.Zones {
		if r.Actor == from.actor.ID && r.Task == task {
			rows = append(rows, r)
		}
	}
	ts.mu.Unlock()
	for i, r := range rows {
		ts.noteIn(ctx, from, ref, fmt.Sprintf("%s-%d", r.Message, i), "reservation", mess.Object{
			{Key: "mode", Value: r.mode()},
			{Key: "patterns", Value: r.Patterns},
			{Key: "devices", Value: r.Devices},
			{Key: "from", Value: string(mess.TimeOf(r.From.UTC()))},
			{Key: "until", Value: string(mess.TimeOf(r.Until.UTC()))},
			{Key: "reason", Value: r.Reason},
		})
	}
}
