package agentmail

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

func openKeys(items []exchange.OpenQuestion) []string {
	var keys []string
	for _, q := range items {
		keys = append(keys, q.Key)
	}
	return keys
}

// silentTime is the longest time without a report about a task that runs.
const silentTime = 10 * time.Minute

// reportSilentTasks reports tasks without a recent report, until ctx ends.
func (ts *tasks) reportSilentTasks(ctx context.Context) {
	for wait.For(ctx, time.Minute) {
		ts.reportSilent(ctx)
	}
}

// notifyOne notifies the agent of a task.
func (ts *tasks) notifyOne(ctx context.Context, ref string) (again time.Duration) {
	err := ts.notify(ctx, ref)
	if err == nil {
		return keyed.Idle
	}
	if ctx.Err() == nil {
		ts.log.Warn("cannot report a task", "ref", ref, "err", err)
	}
	return time.Second
}

// notify queues the reports of new messages in a thread. It stores the reports and their number in
// one change, so that it reports each message exactly once.
func (ts *tasks) notify(ctx context.Context, ref string) error {
	th, err := ts.x.Thread(ctx, self, ref)
	if errors.Is(err, mess.NotFound) { // the thread does not exist any more
		return ts.change(func(s *state) { delete(s.Tasks, ref) })
	}
	if err != nil {
		return err
	}
	ts.mu.Lock()
	t := ts.s.Tasks[ref]
	behind := t != nil && (t.Reported < len(th.Messages) || th.Status.Terminal())
	ts.mu.Unlock()
	if !behind {
		return nil
	}
	return ts.change(func(s *state) {
		t := s.Tasks[ref]
		if t == nil {
			return
		}
		end := endOf(th)
		for i := t.Reported; i < len(th.Messages) && (end < 0 || i <= end); i++ {
			s.queueUpdate(th, ref, t, i, ts.now())
		}
		t.Reported = len(th.Messages)
		if th.Status.Terminal() {
			delete(s.Tasks, ref)
		}
	})
}

// queueUpdate queues the reports of one message.
func (s *state) queueUpdate(th exchange.Thread, ref string, t *task, i int, now time.Time) {
	for part, b := range bodies(th, t, i) {
		kind := string(b.Type())
		if u, ok := b.(*format.StatusUpdate); ok {
			kind = u.UpdateType
		}
		if kind == progress {
			s.dropProgress(ref)
		}
		e := outboxEntry{
			ID: newID(), To: t.Peer, HTTP: t.HTTP, At: now, Task: t.ID, Thread: t.Thread, Actor: t.Actor, Waits: t.Waits,
			Ref: ref, Index: i, Part: part, Kind: kind,
		}
		s.add(e)
		t.At = now
		if kind == string(format.TypeCoordinationRequest) {
			t.Asked = append(t.Asked, question(th.Messages[i], e))
		}
	}
}

const progress = "progress"

// dropProgress removes an unsent progress report, because a newer one follows.
func (s *state) dropProgress(ref string) {
	for i := len(s.Out) - 1; i >= 0; i-- {
		if e := s.Out[i]; e.Ref == ref {
			if e.Kind == progress && e.Tried.IsZero() && e.Body == nil {
				s.Out = append(s.Out[:i:i], s.Out[i+1:]...)
			}
			return
		}
	}
}

// question returns the question in a message.
func question(m mess.Message, e outboxEntry) asked {
	q := asked{Ref: m.Ref, Mail: e.ID}
	q.At, _ = m.Received.Time()
	for _, s := range mess.ItemsOf[*mess.Status]([]mess.Message{m}) {
		q.Hash = s.ActionHash
		if left, err := mess.Duration(s.Extra.Text("confirm_within")).Duration(); err == nil && left > 0 {
			q.Deadline = q.At.Add(left)
		}
	}
	return q
}

// updateContext returns what the reports of a message have in common.
func updateContext(th exchange.Thread, t *task, i int) format.ReportContext {
	out := format.ReportContext{Task: t.ID, To: t.Peer, Blocked: t.Waits}
	out.Criteria, out.Unused = format.Kept(th.Request())
	out.Now, _ = th.Messages[i].Received.Time()
	for _, s := range mess.ItemsOf[*mess.Status](th.Messages[:i]) {
		if !s.Code.Terminal() {
			out.Blocked = slices.Contains([]mess.Code{mess.Waiting, mess.Held, mess.NeedsInput, mess.NeedsConfirmation}, s.Code)
		}
	}
	return out
}

// reportSilent reports the status of tasks that run without a recent report.
func (ts *tasks) reportSilent(ctx context.Context) {
	ts.mu.Lock()
	var silent []string
	for ref, t := range ts.s.Tasks {
		if !t.HTTP && ts.now().Sub(t.At) >= silentTime {
			silent = append(silent, ref)
		}
	}
	ts.mu.Unlock()
	for _, ref := range silent {
		th, err := ts.x.Thread(ctx, self, ref)
		if err != nil || th.Status != mess.InProgress && th.Status != mess.Claimed {
			continue
		}
		ts.repeatStatus(ref)
	}
}

// endOf returns the index of the message that has ended a thread, -1 if none has. Only the status
// of the thread shows its end: an executor may decline, delegate, or report the end of an earlier
// claim while another one works on the task.
func endOf(th exchange.Thread) int {
	if !th.Status.Terminal() {
		return -1
	}
	for _, h := range slices.Backward(th.History) {
		if h.Action == string(th.Status) {
			i := slices.IndexFunc(th.Messages, func(m mess.Message) bool { return m.Ref == h.Ref && h.Ref != "" })
			if i >= 0 {
				return i
			}
			break
		}
	}
	return len(th.Messages) - 1
}

// bodies returns the messages that report one message of a thread to the agent of its task.
func bodies(th exchange.Thread, t *task, i int) []format.Body {
	m := th.Messages[i]
	say := updateContext(th, t, i)
	if i == endOf(th) {
		return say.Bodies(atEnd(th, i))
	}
	if messeaf.IsAck(m) || messeaf.IsRequest(m) || m.From == t.Actor {
		return nil
	}
	for _, item := range m.Items {
		if s, ok := item.(*mess.Status); ok && s.Code.Terminal() {
			return []format.Body{say.ExecutorStopped(m.From, m.Ref, s)}
		}
	}
	return say.Bodies(m)
}

// atEnd returns the message that has ended a thread, with one status. A status of the exchange in
// the same step replaces it, because it sums up all executors. A cancel has no status, and gets
// one.
func atEnd(th exchange.Thread, i int) mess.Message {
	m := th.Messages[i]
	end := &mess.Status{Code: th.Status}
	var rest []mess.Item
	for _, item := range m.Items {
		switch one := item.(type) {
		case *mess.Status:
			if one.Code == th.Status {
				end = one
			}
		case *mess.Cancel:
			end.Reason = &mess.Reason{Detail: strings.TrimSuffix("cancelled by "+m.From+": "+one.Reason, ": "), Effect: mess.EffectNone}
		case *mess.Reply, *mess.Answer, *mess.Ack: // the requester knows its own messages
		default:
			rest = append(rest, item)
		}
	}
	for _, next := range th.Messages[i+1:] {
		if next.From != exchange.Self {
			break
		}
		for _, item := range next.Items {
			if s, ok := item.(*mess.Status); ok && s.Code == th.Status {
				end = s
			}
		}
	}
	m.Items = append([]mess.Item{end}, rest...)
	return m
}
