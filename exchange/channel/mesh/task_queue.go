package mesh

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// pendingRequest is an accepted request that is to become a task.
type pendingRequest struct {
	Peer   string        `json:"peer"`
	ID     string        `json:"id"`
	Text   string        `json:"text"`
	Urgent bool          `json:"urgent,omitempty"` // high priority
	Asked  []replyTarget `json:"asked"`
}

func (w *pendingRequest) key() string  { return idKey(w.Peer, w.ID) }
func (w *pendingRequest) name() string { return docPending + digest(w.key()) }

// accept stores a request that is to become a task.
func (ts *tasks) accept(ctx context.Context, in *incoming) (string, error) {
	w := &pendingRequest{Peer: in.From, ID: in.ID, Text: in.text, Urgent: in.Priority == wire.High, Asked: []replyTarget{ts.outbox.replyTargetOf(in)}}
	if err := ts.save(ctx, w.name(), w); err != nil {
		return "", err
	}
	ts.mu.Lock()
	fresh := ts.pending[w.key()] == nil
	if fresh {
		ts.pending[w.key()] = w
	}
	ts.mu.Unlock()
	if fresh {
		ts.queue(in.peer, w)
	}
	return received, nil
}

// repeat answers a duplicate request. A new message with the same idempotency key gets a response
// of its own; the same message gets the same response again.
func (ts *tasks) repeat(ctx context.Context, in *incoming, of string) error {
	mine := ts.outbox.replyTargetOf(in)
	ts.mu.Lock()
	w, ref := ts.pending[idKey(in.From, of)], ts.byAsked[idKey(in.From, of)]
	t := ts.tasks[ref]
	if w != nil {
		if !slices.ContainsFunc(w.Asked, func(a replyTarget) bool { return a.ID == in.ID }) {
			w.Asked = append(w.Asked, mine)
		}
		c := *w
		ts.mu.Unlock()
		return ts.save(ctx, w.name(), c)
	}
	if t == nil {
		ts.mu.Unlock()
		return nil // it was a question, or its task is forgotten
	}
	i := slices.IndexFunc(t.Asked, func(a replyTarget) bool { return a.ID == in.ID })
	if i < 0 {
		t.Asked = append(t.Asked, mine)
		ts.byAsked[idKey(in.From, in.ID)] = t.Ref
	} else {
		t.Asked[i].Sent = false
	}
	ts.mu.Unlock()
	if err := ts.saveTask(ctx, t); err != nil {
		return err
	}
	ts.wake(t.Ref)
	return nil
}

func (ts *tasks) restoreWork(doc []byte) error {
	w := &pendingRequest{}
	if err := json.Unmarshal(doc, w); err != nil {
		return err
	}
	if p := ts.registry.Peer(w.Peer); p != nil {
		ts.pending[w.key()] = w
		ts.queue(p, w)
	}
	return nil
}

// convert makes tasks of requests until ctx ends.
func (ts *tasks) convert(ctx context.Context) { ts.queues.Runner.Run(ctx, ts.convertNext) }

// convertNext makes a task of the first request in a queue.
func (ts *tasks) convertNext(ctx context.Context, name string) (again time.Duration) {
	return ts.queues.Work(name, func(r queuedRequest) (again time.Duration) {
		again = keyed.Idle // also after a panic
		defer mistake.Caught(ts.log, "channel", channel, "from", r.peer.Name)
		if !ts.makeTask(ctx, r.peer, r.work) {
			again = 0 // the program ends, or makeTask has waited
		}
		return again
	})
}

// tryAgain is the wait after the exchange could not store something.
const tryAgain = 5 * time.Second

// makeTask makes a task of a request. If it returns false, the caller must call it again.
func (ts *tasks) makeTask(ctx context.Context, p *peers.Agent, w *pendingRequest) bool {
	e, err := wire.Stored(w.Text)
	in := &incoming{Envelope: e, text: w.Text, peer: p, line: lineOf(e)}
	if err == nil {
		err = in.open()
	}
	if err != nil { // it was valid when it was accepted, so the key has changed since
		ts.log.Error("mesh: cannot read an accepted request any more", "from", w.Peer, "id", w.ID, "err", err)
		return ts.remove(ctx, w)
	}
	req, notes, err := ts.build(ctx, in)
	if ctx.Err() != nil {
		return false
	}
	var ref string
	if err == nil {
		ref, err = ts.submit(ctx, p, req, in)
	}
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil && unavailable(err):
		ts.log.Warn("mesh: the exchange is unavailable for a request; the adapter tries again", "from", w.Peer, "err", err)
		wait.For(ctx, tryAgain)
		return false
	case err != nil:
		ts.audit(in, "request_refused", err.Error())
		if ts.sendRejection(ctx, p, w, err) != nil {
			wait.For(ctx, tryAgain)
			return false
		}
		return ts.remove(ctx, w)
	}
	t := ts.taskFor(ref, w, notes)
	for ts.saveTask(ctx, t) != nil {
		if !wait.For(ctx, tryAgain) {
			return false
		}
	}
	in.line.Ref = ref
	ts.audit(in, "task", "")
	ts.wake(ref)
	return ts.remove(ctx, w)
}

// taskFor returns the task of a thread with all requests for it. The task exists already after a
// power failure, or if two messages contain one request.
func (ts *tasks) taskFor(ref string, w *pendingRequest, notes []string) *task {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.tasks[ref]
	if t == nil || t.Peer != w.Peer {
		t = &task{Ref: ref, Peer: w.Peer, Made: time.Now()}
	}
	for _, a := range w.Asked {
		if !slices.ContainsFunc(t.Asked, func(b replyTarget) bool { return a.ID == b.ID }) {
			t.Asked = append(t.Asked, a)
		}
	}
	for _, n := range notes {
		if !slices.Contains(t.Notes, n) {
			t.Notes = append(t.Notes, n)
		}
	}
	ts.index(t)
	delete(ts.pending, w.key())
	return t
}

// remove removes a request that has become a task, or that the agent has rejected.
func (ts *tasks) remove(ctx context.Context, w *pendingRequest) bool {
	ts.mu.Lock()
	delete(ts.pending, w.key())
	ts.mu.Unlock()
	for ts.save(ctx, w.name(), nil) != nil {
		if !wait.For(ctx, tryAgain) {
			return false
		}
	}
	return true
}

// submit creates the thread. A request that an earlier run has submitted finds its thread.
func (ts *tasks) submit(ctx context.Context, p *peers.Agent, req *mess.Request, in *incoming) (string, error) {
	if req.ID == in.ID {
		if t, err := ts.x.Thread(ctx, p.Actor(), req.ID); err == nil {
			return t.Ref, nil
		}
	}
	if time.Now().After(in.Expires().Add(skew)) {
		return "", mess.Errorf(mess.NotYet, "it was over before it could begin")
	}
	answer, err := ts.x.Post(ctx, exchange.Inbound{Actor: p.Actor(), Channel: channel, Message: mess.Message{Version: "1.1.0", Items: []mess.Item{req}}})
	if err != nil {
		return "", err
	}
	for _, item := range answer.Items {
		if ack, ok := item.(*mess.Ack); ok && ack.Ref != "" {
			return ack.Ref, nil
		}
	}
	return "", errors.New("the exchange does not say which thread it has made")
}

// sendRejection responds that the exchange rejects a request.
func (ts *tasks) sendRejection(ctx context.Context, p *peers.Agent, w *pendingRequest, cause error) error {
	for _, a := range w.Asked {
		e := ts.outbox.answerTo(p, a, wire.Response)
		e.ID = newID()
		e.Payload.Body = "Not done: " + cause.Error()
		e.Payload.Metadata = wire.Object{}.With("status", string(mess.Failed))
		if err := ts.outbox.enqueue(ctx, ts.outbox.answer(p, e, a)); err != nil {
			return err
		}
	}
	return nil
}

// queuedRequest is an entry of the queues.
type queuedRequest struct {
	peer *peers.Agent
	work *pendingRequest
}

// queue adds a request to the queue of its peer. Urgent requests have a queue of their own.
func (ts *tasks) queue(p *peers.Agent, w *pendingRequest) {
	name := p.Name
	if w.Urgent {
		name += " urgent"
	}
	ts.queues.Add(name, queuedRequest{p, w})
}

// build makes a MESS request of a message. The notes name the attachments that the agent could not
// fetch; the response contains them.
func (ts *tasks) build(ctx context.Context, in *incoming) (*mess.Request, []string, error) {
	text, err := ts.nativeText(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	req, err := nativeRequest(text)
	if err != nil {
		return nil, nil, err
	}
	if req == nil {
		req = &mess.Request{Intent: cmp.Or(strings.TrimSpace(in.Payload.Body), strings.TrimSpace(in.Payload.Subject)), Priority: priorityOf(in.Priority)}
	}
	req.ID = cmp.Or(req.ID, in.ID)
	if req.NeededBy == "" && (req.Constraints == nil || req.Constraints.Timing == nil || req.Constraints.Timing.Expires == "") {
		req.NeededBy = mess.TimeOf(in.Expires().Add(skew)) // the task must not begin after that (section 5, ttl)
	}
	if meta, ok := metadataOf(in.Payload.Metadata); ok {
		req.Extra = req.Extra.Set(channel, mess.Object{{Key: "metadata", Value: meta}})
	}
	var notes []string
	for _, a := range in.Payload.Attachments {
		if nameOf(a) == messFile {
			continue // nativeText has read it
		}
		f, err := ts.files.fetch(ctx, in.peer, a)
		if err != nil {
			notes = append(notes, fmt.Sprintf("attachment %s: %v", nameOf(a), err))
			ts.audit(in, "attachment_missing", notes[len(notes)-1])
			continue
		}
		req.Context = append(req.Context, f.entry())
	}
	return req, notes, nil
}

// metadataOf returns the metadata of a message for the thread. ok is false if there are none but
// the MESS message.
func metadataOf(o wire.Object) (mess.Object, bool) {
	var meta mess.Object
	text := o.Without(messKey)
	return meta, text != nil && json.Unmarshal(text, &meta) == nil
}

// relayedMetadata returns the metadata of a message that a peer has relayed, without the fields
// that messkit writes itself. It returns none if they have more than 16 KiB; the MESS message
// contains them then.
func relayedMetadata(extra mess.Object) wire.Object {
	v, _ := extra.Get(channel)
	in, _ := v.(mess.Object)
	v, _ = in.Get("metadata")
	fields, _ := v.(mess.Object)
	var out wire.Object
	size := 0
	for _, f := range fields {
		value, err := json.Marshal(f.Value)
		if size += len(f.Key) + len(value); err != nil || size > maxNative {
			return nil
		}
		if f.Key != messKey && f.Key != "status" && f.Key != "ref" {
			out = append(out, wire.Member{Key: f.Key, Value: value})
		}
	}
	return out
}

// nativeText returns the MESS message in a message, "" for none. A MESS message that is too large
// for the metadata is a file. If the agent cannot fetch the file, it rejects the request, because
// its text may be incomplete.
func (ts *tasks) nativeText(ctx context.Context, in *incoming) (string, error) {
	if text := in.Payload.Metadata.Get(messKey); text != "" {
		return text, nil
	}
	for _, a := range in.Payload.Attachments {
		if nameOf(a) != messFile {
			continue
		}
		f, err := ts.files.fetchUpTo(ctx, in.peer, a, maxSent)
		if err == nil {
			f.Data, err = in.peer.Unsealed(f.Data)
		}
		if err == nil && len(bytes.TrimSpace(f.Data)) == 0 {
			err = errors.New("it is empty")
		}
		if err != nil {
			return "", mess.Errorf(mess.Invalid, "%s: %v; send it again", messFile, err)
		}
		return string(f.Data), nil
	}
	return "", nil
}

// nativeRequest returns the request in a MESS message, nil for none.
func nativeRequest(text string) (*mess.Request, error) {
	if text == "" {
		return nil, nil
	}
	m, err := parseMess(text)
	if err != nil {
		return nil, err
	}
	if len(m.Items) != 1 {
		return nil, mess.Errorf(mess.Invalid, "payload.metadata.mess: has %d items; send one request at a time", len(m.Items))
	}
	req, ok := m.Items[0].(*mess.Request)
	if !ok {
		return nil, mess.Errorf(mess.Invalid, "payload.metadata.mess: is a %s and no request", m.Items[0].Kind())
	}
	return req, nil
}

func parseMess(text string) (mess.Message, error) {
	all, err := mess.ParseValid([]byte(text))
	if err != nil {
		return mess.Message{}, mess.Errorf(mess.Invalid, "payload.metadata.mess: %v", err)
	}
	if len(all) != 1 {
		return mess.Message{}, mess.Errorf(mess.Invalid, "payload.metadata.mess: has %d messages; send one", len(all))
	}
	return all[0], nil
}

// priorityOf converts a MESH priority to a MESS priority.
func priorityOf(p string) mess.Priority {
	switch p {
	case wire.High:
		return mess.Elevated
	case wire.Low:
		return mess.Background
	}
	return mess.Normal
}
