package mesh

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/mesh/wire"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// task is a thread of the exchange that a peer has asked for.
type task struct {
	Ref      string    `json:"ref"`
	Peer     string    `json:"peer"`
	Asked    []asked   `json:"asked"`
	Notes    []string  `json:"notes,omitempty"`    // what its answer is to say beside
	Question *question `json:"question,omitempty"` // that the peer was asked last
	Made     time.Time `json:"made"`
	Ended    time.Time `json:"ended,omitzero"`

	save  sync.Mutex // held while it is written down
	runs  bool       // somebody tells the peer how it stands. Door.mu
	dirty bool       // and must look again. Door.mu
	acked time.Time  // when the peer was told last. Its teller's
	told  string     // the message that it was told of last. Its teller's
	later bool       // a look is planned. Door.mu
}

// question is what a peer was asked.
type question struct {
	ID      string   `json:"id"`   // of the message to the peer
	Ref     string   `json:"ref"`  // of the message of the thread that asks
	Hash    string   `json:"hash"` // of the plan that is to be confirmed
	Confirm bool     `json:"confirm"`
	Keys    []string `json:"keys"` // of what is to be answered
	Tries   int      `json:"tries"`
}

// index makes a task known. d.mu is held, or nobody else is there.
func (d *Door) index(t *task) {
	d.tasks[t.Ref] = t
	for _, a := range t.Asked {
		d.byAsked[idKey(t.Peer, a.ID)] = t.Ref
	}
	if t.Question != nil {
		d.questions[t.Question.ID] = t.Ref
	}
}

func (d *Door) unindex(t *task) {
	delete(d.tasks, t.Ref)
	for _, a := range t.Asked {
		delete(d.byAsked, idKey(t.Peer, a.ID))
	}
	if t.Question != nil {
		delete(d.questions, t.Question.ID)
	}
}

// answered reports whether all who have asked have an answer on its way. Door.mu
// is held.
func (t *task) answered() bool {
	for _, a := range t.Asked {
		if !a.Sent {
			return false
		}
	}
	return true
}

// taskOf is the task that a peer has asked for with a message, nil for none.
func (d *Door) taskOf(p *peer, id string) *task {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tasks[d.byAsked[idKey(p.name, id)]]
}

// saveTask writes a task down.
func (d *Door) saveTask(ctx context.Context, t *task) error {
	t.save.Lock()
	defer t.save.Unlock()
	d.mu.Lock()
	doc, err := json.Marshal(t)
	d.mu.Unlock()
	if err != nil {
		return err
	}
	return d.put(ctx, keptTask+t.Ref, doc)
}

// follow hears what happens to tasks.
func (d *Door) follow(ctx context.Context) error {
	all := exchange.Actor{ID: exchange.Self, Roles: exchange.Observer}
	after := "now"
	for ctx.Err() == nil {
		err := d.x.Follow(ctx, all, after, func(e exchange.Event) error {
			if e.ID != "" {
				after = e.ID
			}
			switch {
			case e.Kind == exchange.EventReset:
				d.touchAll()
			case e.Kind == exchange.EventMessage && strings.HasPrefix(e.Thread.Requestor, actorPrefix):
				d.touch(e.Thread.Ref)
			}
			return nil
		})
		if err != nil && !errors.Is(err, exchange.ErrSlow) {
			d.log.Warn("mesh: events interrupted", "err", err)
			wait.For(ctx, time.Second)
		}
	}
	return nil
}

// touchAll looks at all tasks whose peers have no answer.
func (d *Door) touchAll() {
	d.mu.Lock()
	var refs []string
	for ref, t := range d.tasks {
		if !t.answered() {
			refs = append(refs, ref)
		}
	}
	d.mu.Unlock()
	for _, ref := range refs {
		d.touch(ref)
	}
}

// touch has somebody look at a task, and tell the peer.
func (d *Door) touch(ref string) {
	d.mu.Lock()
	t := d.tasks[ref]
	if t == nil || t.runs {
		if t != nil {
			t.dirty = true
		}
		d.mu.Unlock()
		return
	}
	t.runs, t.dirty = true, true
	d.mu.Unlock()
	d.spawn(func(ctx context.Context) {
		for d.dirtyAgain(t) && ctx.Err() == nil {
			if err := d.tell(ctx, t); err != nil && ctx.Err() == nil {
				d.log.Warn("mesh: a peer was not told how its task stands; it is tried again", "ref", t.Ref, "err", err)
				d.touchIn(t, tryAgain)
			}
		}
	})
}

// dirtyAgain reports whether there is something to look at.
func (d *Door) dirtyAgain(t *task) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	again := t.dirty
	t.dirty, t.runs = false, again
	return again
}

// touchIn looks at a task later.
func (d *Door) touchIn(t *task, in time.Duration) {
	d.mu.Lock()
	planned := t.later
	t.later = true
	d.mu.Unlock()
	if planned {
		return
	}
	d.spawn(func(ctx context.Context) {
		ok := wait.For(ctx, in)
		d.mu.Lock()
		t.later = false
		d.mu.Unlock()
		if ok {
			d.touch(t.Ref)
		}
	})
}

const (
	firstAck = 5 * time.Second  // what is done by then is not acknowledged
	ackGap   = 30 * time.Second // between reports of progress
)

// tell tells a peer how its task stands, as far as it does not know.
func (d *Door) tell(ctx context.Context, t *task) error {
	p := d.peer(t.Peer)
	if p == nil {
		return nil // it is not in the configuration any more
	}
	th, err := d.x.Thread(ctx, p.actor(), t.Ref)
	if errors.Is(err, mess.Unknown) {
		d.log.Error("mesh: the thread of a task is gone", "ref", t.Ref)
		return nil
	}
	if err != nil {
		return err
	}
	if th.Status.Terminal() {
		return d.respond(ctx, p, t, th)
	}
	if q, text, asks := openQuestion(th); asks {
		return d.ask(ctx, p, t, q, text, th)
	}
	return d.progress(ctx, p, t, th)
}

// progress tells a peer that its task goes on (section 6, pattern 3).
func (d *Door) progress(ctx context.Context, p *peer, t *task, th exchange.Thread) error {
	m, s := lastStatus(th)
	if t.told == m.Ref && !t.acked.IsZero() {
		return nil
	}
	due := t.Made.Add(firstAck)
	if !t.acked.IsZero() {
		due = t.acked.Add(ackGap)
	}
	if left := time.Until(due); left > 0 {
		d.touchIn(t, left)
		return nil
	}
	body := "Received as " + t.Ref + ". " + statusText(th.Status, s)
	if err := d.ack(ctx, p, t, th, body, s); err != nil {
		return err
	}
	t.told = m.Ref
	return nil
}

// ack tells all who have asked for a task how it stands. It is not kept: the next
// one, or the response, says more.
func (d *Door) ack(ctx context.Context, p *peer, t *task, th exchange.Thread, body string, s *mess.Status) error {
	d.mu.Lock()
	all := append([]asked(nil), t.Asked...)
	d.mu.Unlock()
	t.acked = time.Now()
	for _, a := range all {
		e := d.answerTo(p, a, wire.Ack)
		e.ID, e.TTL = newID(), wire.DefaultTTL
		e.Payload.Body = body
		e.Payload.Metadata = wire.Object{}.With("status", string(th.Status)).With("ref", t.Ref)
		if s != nil {
			if eta, ok := etaOf(s, th); ok {
				e.Payload.Metadata = e.Payload.Metadata.With("eta", eta)
			}
			e.Payload.Metadata = e.Payload.Metadata.With(messKey, string(jsonOf(mess.Message{Items: []mess.Item{s}})))
		}
		o := d.sealed(p, e, a)
		o.Once = true
		if err := d.enqueue(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// etaOf is when a task is to be done, as a time.
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

// jsonOf is a message as text.
func jsonOf(m mess.Message) []byte {
	text, _ := m.JSON() // it never fails
	return text
}

// lastStatus is the last report on a thread, and the message that it is in.
func lastStatus(th exchange.Thread) (m mess.Message, last *mess.Status) {
	for _, one := range th.Messages {
		for _, item := range one.Items {
			if s, ok := item.(*mess.Status); ok {
				m, last = one, s
			}
		}
	}
	return m, last
}
