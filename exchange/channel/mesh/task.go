package mesh

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/exchange/inbox"
	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/mess"
)

// task is a thread that a peer has requested.
type task struct {
	Ref      string        `json:"ref"`
	Peer     string        `json:"peer"`
	Asked    []replyTarget `json:"asked"`
	Notes    []string      `json:"notes,omitempty"`    // notes for the response
	Question *question     `json:"question,omitempty"` // last question to the peer
	Made     time.Time     `json:"made"`
	Ended    time.Time     `json:"ended,omitzero"`

	save         sync.Mutex // held while the task is stored
	acked        time.Time  // when the peer got the last report; for notifyOne only
	lastReported string     // message that the last report was about; for notifyOne only
}

// question is a question to a peer.
type question struct {
	ID      string   `json:"id"`   // of the message to the peer
	Ref     string   `json:"ref"`  // of the message in the thread
	Hash    string   `json:"hash"` // of the plan to confirm
	Confirm bool     `json:"confirm"`
	Keys    []string `json:"keys"` // names of the answers
	Tries   int      `json:"tries"`
}

// tasks are the threads that peers have asked for, and the requests that are to become one.
type tasks struct {
	*shared
	files     *fileServer
	outbox    *outbox
	notifiers keyed.Runner                // by the ref of the task whose peer is notified
	queues    keyed.Queues[queuedRequest] // of the requests of a peer

	mu        sync.Mutex
	pending   map[string]*pendingRequest // by peer and id
	tasks     map[string]*task           // by ref
	byAsked   map[string]string          // refs, by peer and id of the request
	questions map[string]string          // refs, by the ids of the questions to peers
}

func (ts *tasks) restore(doc []byte) error {
	t := &task{}
	if err := json.Unmarshal(doc, t); err != nil {
		return err
	}
	ts.index(t)
	return nil
}

// expire forgets tasks that ended long ago, and returns the names of their documents.
func (ts *tasks) expire(now time.Time) (names []string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for ref, t := range ts.tasks {
		if !t.Ended.IsZero() && now.Sub(t.Ended) > remembered && t.answered() {
			ts.unindex(t)
			names = append(names, docTask+ref)
		}
	}
	return names
}

// known reports whether a request of a peer is a task, or is to become one.
func (ts *tasks) known(peer, id string) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	key := idKey(peer, id)
	return ts.pending[key] != nil || ts.byAsked[key] != ""
}

// index adds a task to the maps. The caller holds ts.mu, or is Open.
func (ts *tasks) index(t *task) {
	ts.tasks[t.Ref] = t
	for _, a := range t.Asked {
		ts.byAsked[idKey(t.Peer, a.ID)] = t.Ref
	}
	if t.Question != nil {
		ts.questions[t.Question.ID] = t.Ref
	}
}

func (ts *tasks) unindex(t *task) {
	delete(ts.tasks, t.Ref)
	for _, a := range t.Asked {
		delete(ts.byAsked, idKey(t.Peer, a.ID))
	}
	if t.Question != nil {
		delete(ts.questions, t.Question.ID)
	}
}

// answered reports whether all responses are in the outbox. The caller holds tasks.mu.
func (t *task) answered() bool {
	for _, a := range t.Asked {
		if !a.Sent {
			return false
		}
	}
	return true
}

// taskOf returns the task for a request of a peer, nil for none.
func (ts *tasks) taskOf(p *peers.Agent, id string) *task {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.tasks[ts.byAsked[idKey(p.Name, id)]]
}

// saveTask stores a task.
func (ts *tasks) saveTask(ctx context.Context, t *task) error {
	t.save.Lock()
	defer t.save.Unlock()
	ts.mu.Lock()
	doc, err := json.Marshal(t)
	ts.mu.Unlock()
	if err != nil {
		return err
	}
	return ts.saveRaw(ctx, docTask+t.Ref, doc)
}

// follow wakes tasks when their threads change, until ctx ends.
func (ts *tasks) follow(ctx context.Context) {
	inbox.Follow(ctx, ts.x, ts.log, ts.wakeAll, func(e exchange.Envelope) {
		if strings.HasPrefix(e.Requester, peers.ActorPrefix) {
			ts.wake(e.Ref)
		}
	})
}

// notifyAll notifies peers of their tasks until ctx ends.
func (ts *tasks) notifyAll(ctx context.Context) { ts.notifiers.Run(ctx, ts.notifyOne) }

// wakeAll wakes all tasks that have an open request.
func (ts *tasks) wakeAll() {
	ts.mu.Lock()
	var refs []string
	for ref, t := range ts.tasks {
		if !t.answered() {
			refs = append(refs, ref)
		}
	}
	ts.mu.Unlock()
	for _, ref := range refs {
		ts.wake(ref)
	}
}

// wake starts the notification of the peer of a task. It ignores an unknown ref.
func (ts *tasks) wake(ref string) {
	ts.mu.Lock()
	t := ts.tasks[ref]
	ts.mu.Unlock()
	if t != nil {
		ts.notifiers.Wake(ref)
	}
}

// notifyOne notifies the peer of a task.
func (ts *tasks) notifyOne(ctx context.Context, ref string) (again time.Duration) {
	defer mistake.Caught(ts.log, "channel", channel, "ref", ref)
	again = keyed.Idle
	ts.mu.Lock()
	t := ts.tasks[ref]
	ts.mu.Unlock()
	if t == nil {
		return again
	}
	again, err := ts.notify(ctx, t)
	if err == nil {
		return again
	}
	if ctx.Err() == nil {
		ts.log.Warn("mesh: cannot report a task to its peer; the adapter tries again", "ref", t.Ref, "err", err)
	}
	return tryAgain
}

const (
	firstAck = 5 * time.Second  // a task that ends earlier gets no ack
	ackGap   = 30 * time.Second // between two progress reports
)

// notify sends the peer of a task what is new. It returns when it must be called again even
// without a change.
func (ts *tasks) notify(ctx context.Context, t *task) (again time.Duration, _ error) {
	again = keyed.Idle
	p := ts.registry.Peer(t.Peer)
	if p == nil {
		return again, nil // the peer is not configured any more
	}
	th, err := ts.x.Thread(ctx, p.Actor(), t.Ref)
	if errors.Is(err, mess.NotFound) {
		ts.log.Error("mesh: the thread of a task does not exist any more", "ref", t.Ref)
		return again, nil
	}
	if err != nil {
		return again, err
	}
	if th.Status.Terminal() {
		return again, ts.respond(ctx, p, t, th)
	}
	if q, text, asks := openQuestion(th); asks {
		return again, ts.askPeer(ctx, p, t, q, text, th)
	}
	return ts.progress(ctx, p, t, th)
}

// progress reports progress to a peer (section 6, pattern 3), or returns when it may do so.
func (ts *tasks) progress(ctx context.Context, p *peers.Agent, t *task, th exchange.Thread) (again time.Duration, _ error) {
	s, m := mess.LastStatus(th.Messages)
	if t.lastReported == m.Ref && !t.acked.IsZero() {
		return keyed.Idle, nil
	}
	due := t.Made.Add(firstAck)
	if !t.acked.IsZero() {
		due = t.acked.Add(ackGap)
	}
	if left := time.Until(due); left > 0 {
		return left, nil
	}
	body := "Received as " + t.Ref + ". " + statusText(th.Status, s)
	if err := ts.ack(ctx, p, t, th, body, s); err != nil {
		return keyed.Idle, err
	}
	t.lastReported = m.Ref
	return keyed.Idle, nil
}

// ack sends the status of a task to all requests for it. It is not stored, because the next ack or
// the response contains more.
func (ts *tasks) ack(ctx context.Context, p *peers.Agent, t *task, th exchange.Thread, body string, s *mess.Status) error {
	ts.mu.Lock()
	all := append([]replyTarget(nil), t.Asked...)
	ts.mu.Unlock()
	t.acked = time.Now()
	for _, a := range all {
		e := ts.outbox.answerTo(p, a, wire.Ack)
		e.ID, e.TTL = newID(), wire.DefaultTTL
		e.Payload.Body = body
		e.Payload.Metadata = wire.Object{}.With("status", string(th.Status)).With("ref", t.Ref)
		if s != nil {
			if eta, ok := etaOf(s, th); ok {
				e.Payload.Metadata = e.Payload.Metadata.With("eta", eta)
			}
			e.Payload.Metadata = e.Payload.Metadata.With(messKey, string(jsonOf(mess.Message{Items: []mess.Item{s}})))
		}
		o := ts.outbox.answer(p, e, a)
		o.Once = true
		if err := ts.outbox.enqueue(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// etaOf returns the estimated end of a task.
func etaOf(s *mess.Status, th exchange.Thread) (string, bool) {
	if s.ETA != "" {
		if at, ok := s.ETA.Time(th.Updated); ok == nil {
			return at.UTC().Format(time.RFC3339), true
		}
	}
	if th.Estimate > 0 {
		return th.Updated.Add(th.Estimate).UTC().Format(time.RFC3339), true
	}
	return "", false
}

// jsonOf encodes a message.
func jsonOf(m mess.Message) []byte {
	text, _ := m.JSON() // it never fails
	return text
}
