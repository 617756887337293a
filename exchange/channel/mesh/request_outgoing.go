package mesh

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/delivery"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// outgoingRequest is a request of this agent to a peer. The adapter keeps it for a day after it
// expires.
type outgoingRequest struct {
	ID           string            `json:"id"`
	To           string            `json:"to"`
	Subject      string            `json:"subject"`
	Conversation string            `json:"conversation,omitempty"`
	Made         time.Time         `json:"made"`
	Expires      time.Time         `json:"expires"`
	Delivery     string            `json:"delivery,omitempty"` // outcome of the delivery; "" while it is pending
	DeliveryErr  string            `json:"why,omitempty"`      // why the delivery failed
	Acked        string            `json:"acked,omitempty"`    // last ack of the peer
	Questions    []counterQuestion `json:"questions,omitempty"`
	Text         string            `json:"text,omitempty"`   // response as received
	Result       *Result           `json:"result,omitempty"` // parsed response, when its files are stored
	Failed       string            `json:"failed,omitempty"` // why there is no response

	changed chan struct{} // closed at the next change; guarded by requests.mu
}

// counterQuestion is a question of a peer about a request of this agent.
type counterQuestion struct {
	ID       string          `json:"id"`
	Text     string          `json:"text"`
	MESS     string          `json:"mess,omitempty"` // MESS message in it
	URL      string          `json:"url,omitempty"`
	Token    string          `json:"token,omitempty"`
	Context  json.RawMessage `json:"context,omitempty"`
	Answered bool            `json:"answered,omitempty"`
}

// Result is the response of a peer.
type Result struct {
	ID      string   `json:"id"`
	From    string   `json:"from"`
	Subject string   `json:"subject"`
	Body    string   `json:"body"`
	Status  string   `json:"status,omitempty"` // MESS status, if the response has one
	MESS    string   `json:"mess,omitempty"`   // MESS message in it
	Files   []string `json:"files,omitempty"`  // names of files
	Notes   []string `json:"notes,omitempty"`  // files that could not be fetched

	Metadata     json.RawMessage   `json:"metadata,omitempty"`     // payload.metadata without the MESS message
	Descriptions map[string]string `json:"descriptions,omitempty"` // descriptions of files, by name
}

// unreadable is the status of a response with an invalid MESS message: the outcome is unknown.
const unreadable = "unreadable"

// over reports whether the request has ended.
func (a *outgoingRequest) over() bool { return a.Result != nil || a.Failed != "" }

const ackWarning = 30 * time.Second // section 8, "Timeout Handling"

// requests are the requests of this agent to peers.
type requests struct {
	*shared
	files  *fileServer
	outbox *outbox

	mu   sync.Mutex
	byID map[string]*outgoingRequest // by id
}

func (rq *requests) restore(doc []byte) error {
	a := &outgoingRequest{changed: make(chan struct{})}
	if err := json.Unmarshal(doc, a); err != nil {
		return err
	}
	rq.byID[a.ID] = a
	rq.watch(a)
	return nil
}

// expire forgets requests that ended long ago, and returns the names of their documents.
func (rq *requests) expire(now time.Time) (names []string) {
	rq.mu.Lock()
	defer rq.mu.Unlock()
	for id, a := range rq.byID {
		if now.Sub(a.Expires) > remembered {
			delete(rq.byID, id)
			rq.files.removeFiles(id)
			names = append(names, docRequest+id)
		}
	}
	return names
}

// list returns the requests in the order of their ids.
func (rq *requests) list() (list []Asked) {
	rq.mu.Lock()
	defer rq.mu.Unlock()
	for _, a := range rq.byID {
		list = append(list, askedOf(*a))
	}
	order.By(list, func(a, b Asked) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// now returns a copy of a request, and a channel that is closed when the request changes. ok is
// false for an unknown request.
func (rq *requests) now(id string) (_ outgoingRequest, changed <-chan struct{}, ok bool) {
	rq.mu.Lock()
	defer rq.mu.Unlock()
	a := rq.byID[id]
	if a == nil {
		return outgoingRequest{}, nil, false
	}
	now := *a
	now.Questions = slices.Clone(a.Questions)
	return now, a.changed, true
}

// register stores a request before the agent sends it, because the response can arrive before the
// delivery returns. The wait ends at until. A zero until means the end of the message's lifetime.
func (rq *requests) register(ctx context.Context, e wire.Envelope, until time.Time) error {
	if until.IsZero() {
		until = e.Expires()
	}
	a := &outgoingRequest{
		ID: e.ID, To: e.To, Subject: e.Payload.Subject, Conversation: e.ConversationID, Made: e.Time, Expires: until, changed: make(chan struct{}),
	}
	if err := rq.save(ctx, docRequest+a.ID, a); err != nil {
		return err
	}
	rq.mu.Lock()
	rq.byID[a.ID] = a
	rq.mu.Unlock()
	rq.watch(a)
	return nil
}

// change changes a request, stores it, and wakes all that wait for a change.
func (rq *requests) change(ctx context.Context, a *outgoingRequest, f func()) error {
	rq.mu.Lock()
	f()
	doc, err := json.Marshal(a)
	close(a.changed)
	a.changed = make(chan struct{})
	rq.mu.Unlock()
	if err != nil {
		return err
	}
	return rq.saveRaw(ctx, docRequest+a.ID, doc)
}

// watch logs a missing ack, and ends the request when it expires.
func (rq *requests) watch(a *outgoingRequest) {
	rq.spawn(func(ctx context.Context) {
		rq.mu.Lock()
		text, over := a.Text, a.over()
		rq.mu.Unlock()
		if over {
			return
		}
		if text != "" {
			rq.finish(ctx, a)
			return
		}
		if end := time.Until(a.Expires); end > ackWarning && wait.For(ctx, time.Until(a.Made.Add(ackWarning))) {
			rq.mu.Lock()
			silent := a.Acked == "" && a.Text == "" && a.Failed == ""
			rq.mu.Unlock()
			if silent {
				rq.log.Warn("mesh: no ack within 30 s", "to", a.To, "id", a.ID)
			}
		}
		if !wait.For(ctx, time.Until(a.Expires.Add(skew))) {
			return
		}
		rq.mu.Lock()
		late := a.Text == "" && a.Failed == ""
		rq.mu.Unlock()
		if late {
			rq.fail(ctx, a, "no answer in time")
		}
	})
}

// fail ends a request without a response.
func (rq *requests) fail(ctx context.Context, a *outgoingRequest, reason string) {
	rq.store.Audit(state.Line{From: rq.cfg.Agent, To: a.To, Type: string(wire.Request), ID: a.ID, Subject: a.Subject, ConversationID: a.Conversation, Status: "no_response", Detail: reason})
	if err := rq.change(ctx, a, func() { a.Failed = reason }); err != nil {
		rq.log.Warn("mesh: not written down", "err", err)
	}
}

// recordDelivery stores the outcome of the delivery of a request.
func (rq *requests) recordDelivery(ctx context.Context, o outgoing, out delivery.Outcome) {
	rq.mu.Lock()
	a := rq.byID[o.ID]
	rq.mu.Unlock()
	if a == nil {
		return
	}
	if err := rq.change(ctx, a, func() { a.Delivery, a.DeliveryErr = out.Status, out.Err }); err != nil {
		rq.log.Warn("mesh: not written down", "err", err)
	}
	if a.Conversation != "" {
		ok := out.Status == delivery.Sent || len(out.Status) > len(relayedVia) && out.Status[:len(relayedVia)] == relayedVia
		if err := rq.store.Sent(a.Conversation, ok); err != nil {
			rq.log.Debug("mesh: no conversation", "err", err)
		}
	}
}

// acceptAnswer handles a response or an ack to a request of this agent.
func (rq *requests) acceptAnswer(ctx context.Context, in *incoming) (string, error) {
	rq.mu.Lock()
	a := rq.byID[in.CorrelationID]
	var twice bool
	if a != nil && a.To == in.From {
		twice = a.Text != ""
	} else {
		a = nil
	}
	rq.mu.Unlock()
	switch {
	case a == nil:
		return "unexpected", nil
	case twice: // some peers send the same response with two ids
		return "duplicate", nil
	case in.Type == wire.Ack:
		return received, rq.change(ctx, a, func() { a.Acked = in.Payload.Body })
	}
	if err := rq.change(ctx, a, func() { a.Text, a.Failed = in.text, "" }); err != nil {
		return "", err
	}
	rq.spawn(func(ctx context.Context) { rq.finish(ctx, a) })
	return received, nil
}

// finish fetches the files of a response and stores the result.
func (rq *requests) finish(ctx context.Context, a *outgoingRequest) {
	p := rq.registry.Peer(a.To)
	e, err := wire.Stored(a.Text)
	in := &incoming{Envelope: e, text: a.Text, peer: p}
	if p == nil || err != nil || in.open() != nil {
		rq.fail(ctx, a, "the response is unreadable")
		return
	}
	r := &Result{
		ID: in.ID, From: in.From, Subject: in.Payload.Subject, Body: in.Payload.Body, Status: in.Payload.Metadata.Get("status"), MESS: in.Payload.Metadata.Get(messKey),
		Metadata: in.Payload.Metadata.Without(messKey), Descriptions: map[string]string{},
	}
	for _, at := range in.Payload.Attachments {
		f, err := rq.files.fetchUpTo(ctx, p, at, maxSent)
		if ctx.Err() != nil {
			return
		}
		if err == nil && f.Name == messFile && r.MESS == "" {
			if f.Data, err = p.Unsealed(f.Data); err == nil {
				r.MESS = string(f.Data)
				continue
			}
		}
		if err == nil {
			f.Name, err = rq.files.saveFile(a.ID, f, r.Files)
		}
		if err != nil {
			r.Notes = append(r.Notes, nameOf(at)+": "+err.Error())
			continue
		}
		r.Files = append(r.Files, f.Name)
		if at.Description != "" {
			r.Descriptions[f.Name] = at.Description
		}
	}
	if r.MESS != "" {
		if m, err := parseMess(r.MESS); err == nil {
			for _, item := range m.Items {
				if s, ok := item.(*mess.Status); ok && r.Status == "" {
					r.Status = string(s.Code)
				}
			}
		} else {
			r.Notes, r.MESS, r.Status = append(r.Notes, err.Error()), "", cmp.Or(r.Status, unreadable)
		}
	}
	if err := rq.change(ctx, a, func() { a.Result = r }); err != nil {
		rq.log.Warn("mesh: cannot store a response", "err", err)
	}
	if a.Conversation != "" {
		if err := rq.store.Answered(a.Conversation, state.Answer{From: in.From, Body: in.Payload.Body, Status: string(wire.Response)}); err != nil {
			rq.log.Debug("mesh: no conversation", "err", err)
		}
	}
}

// acceptQuestion handles a question about a request of this agent, which never becomes a task. It
// reports false for another request.
func (rq *requests) acceptQuestion(ctx context.Context, in *incoming) (bool, error) {
	rq.mu.Lock()
	a := rq.byID[in.CorrelationID]
	if a != nil && a.To != in.From {
		a = nil
	}
	rq.mu.Unlock()
	if a == nil {
		return in.Payload.Metadata.Get("status") == "needs_answer", nil // a question about a request that is forgotten
	}
	q := counterQuestion{ID: in.ID, Text: in.Payload.Body, MESS: in.Payload.Metadata.Get(messKey), Context: in.ReplyContext}
	if in.ReplyTo != nil && in.peer.Settings().Where.Owns(in.ReplyTo.URL) {
		q.URL, q.Token = in.ReplyTo.URL, in.ReplyTo.Token
	}
	return true, rq.change(ctx, a, func() { a.Questions = append(slices.Clone(a.Questions), q) })
}

// findQuestion finds a question of a peer by its id.
func (rq *requests) findQuestion(id string) (a *outgoingRequest, q counterQuestion, ok bool) {
	rq.mu.Lock()
	defer rq.mu.Unlock()
	for _, a := range rq.byID {
		for _, q := range a.Questions {
			if q.ID == id {
				return a, q, true
			}
		}
	}
	return nil, counterQuestion{}, false
}

func (rq *requests) conversation(id string) (*state.Conversation, error) {
	c, err := rq.store.Conversation(id)
	if err != nil {
		return nil, mess.Errorf(mess.NotFound, "there is no conversation %q", id)
	}
	return &c, nil
}

// await waits at most awaitTime until a request has a response, a new question or another change.
func (rq *requests) await(ctx context.Context, id string, seen int) (*Asked, error) {
	end := time.NewTimer(awaitTime)
	defer end.Stop()
	first := true
	for {
		a, changed, ok := rq.now(id)
		if !ok {
			return nil, mess.Errorf(mess.NotFound, "there is no request %q of this agent, or not any more", id)
		}
		now := askedOf(a)
		if now.Result != nil || now.Failed != "" || now.Lost() || len(now.Questions) > seen || !first {
			return &now, nil
		}
		first = false
		select {
		case <-changed:
		case <-end.C:
		case <-ctx.Done():
			return &now, nil
		}
	}
}

// awaitTime is the longest wait of one call.
const awaitTime = 20 * time.Second

func askedOf(a outgoingRequest) Asked {
	now := Asked{ID: a.ID, To: a.To, Delivery: a.Delivery, DeliveryErr: a.DeliveryErr, Acked: a.Acked, Result: a.Result, Failed: a.Failed}
	for _, q := range a.Questions {
		now.Questions = append(now.Questions, Question{q.ID, q.Text, q.Answered})
	}
	return now
}

// isKnown reports whether a request of this agent exists. It is in the outbox then, or about to
// be.
func (rq *requests) isKnown(id string) bool {
	_, _, ok := rq.now(id)
	return ok
}
