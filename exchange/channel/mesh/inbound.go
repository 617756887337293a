package mesh

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/wait"
)

const (
	skew     = 5 * time.Second // largest difference of two clocks
	tooEarly = 24 * time.Hour  // a message from further in the future comes from a wrong clock
)

// inbound accepts the messages of peers, and passes each to the part that it is for.
type inbound struct {
	*shared
	outbox    *outbox
	requests  *requests
	tasks     *tasks
	incidents *incidents
	seen      *dedup

	failedLogins failedLoginsByAddress // wrong tokens, by address
	texts        *rate.Limiter         // limits texts that name no sender
	rejections   rejectionLog
}

// envelope accepts a message with an envelope.
func (b *inbound) envelope(r *http.Request, sender string, h wire.Hook, may func(*peers.Agent) bool, line *state.Line) (map[string]any, error) {
	e, err := wire.Parse(h.Message)
	if bad, ok := errors.AsType[*wire.Error](err); ok {
		return nil, reject(http.StatusBadRequest, bad.Code, bad.Text)
	}
	*line = lineOf(e)
	if sender != "agent" && sender != e.From {
		return nil, reject(http.StatusForbidden, "wrong_path", "the path names another sender than from")
	}
	p, err := b.sender(e.From, b.orRelayed(e, may))
	if err != nil {
		return nil, err
	}
	if err := spend(p.Rate); err != nil {
		return nil, err
	}
	in := &incoming{Envelope: e, text: h.Message, peer: p, back: cmp.Or(h.SessionKey, e.SessionKey())}
	if in.session, err = b.sessionOf(h.SessionKey, e.SessionKey()); err != nil {
		return nil, err
	}
	if err := b.verify(in); err != nil {
		return nil, err
	}
	in.line = lineOf(in.Envelope)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), workTime)
	defer cancel() // finish the message even if the peer disconnects
	if in.To != b.cfg.Agent {
		return b.forward(ctx, in)
	}
	now := time.Now()
	if now.After(in.Expires().Add(skew)) {
		b.audit(in, "expired", "it was over when it came")
		return map[string]any{"ok": true, "id": in.ID, "expired": true}, nil
	}
	p.Turn.Lock()
	defer p.Turn.Unlock()
	return b.dispatch(ctx, in)
}

// workTime is the time limit of the exchange for one message.
const workTime = 30 * time.Second

// orRelayed extends may: the token of our relay is valid for a message that came through it.
func (b *inbound) orRelayed(e wire.Envelope, may func(*peers.Agent) bool) func(*peers.Agent) bool {
	return func(p *peers.Agent) bool {
		if may(p) {
			return true
		}
		if e.Relay == nil || e.Relay.From != e.From || e.Relay.Via != b.cfg.Relay {
			return false
		}
		via := b.registry.Peer(e.Relay.Via)
		return via != nil && may(via)
	}
}

// verify checks size, time and signature, and decrypts the message.
func (b *inbound) verify(in *incoming) error {
	size := len(in.text)
	for _, a := range in.Payload.Attachments {
		if a.Type != "inline" {
			continue
		}
		size -= len(a.Data)
		data, err := base64.StdEncoding.DecodeString(a.Data)
		switch {
		case err != nil || a.Encoding != "" && a.Encoding != "base64":
			return reject(http.StatusBadRequest, "invalid", "payload.attachments: the data of one is not base64")
		case len(data) > wire.MaxInline:
			return reject(http.StatusRequestEntityTooLarge, "too_large", "payload.attachments: one is larger than 64 KiB; send a file by its address")
		}
	}
	if size > wire.MaxText {
		return reject(http.StatusRequestEntityTooLarge, "too_large", "the message is larger than 64 KiB; send a file by its address")
	}
	if in.Time.After(time.Now().Add(tooEarly)) {
		return reject(http.StatusBadRequest, "clock", "timestamp: is more than a day ahead; look at the clock")
	}
	p, key := in.peer, in.peer.Settings().Key
	if in.Signature != "" && key != "" {
		if in.signed = key.Verify(in.text); !in.signed {
			return reject(http.StatusForbidden, "bad_signature", "signature: does not match the message and the shared key")
		}
	}
	if p.Settings().Config.Signed && !in.signed {
		return reject(http.StatusForbidden, "unsigned", "signature: is missing; messages of "+p.Name+" must be signed")
	}
	return in.open()
}

// dispatch handles a message that is valid. The caller holds in.peer.Turn.
func (b *inbound) dispatch(ctx context.Context, in *incoming) (map[string]any, error) {
	answer := map[string]any{"ok": true, "id": in.ID}
	if of, twice := b.seenBefore(in); twice {
		answer["duplicate"] = true
		b.audit(in, "duplicate", "")
		if in.Type != wire.Request {
			return answer, nil
		}
		if err := b.tasks.repeat(ctx, in, of); err != nil {
			return nil, err
		}
		return answer, b.seen.remember(ctx, in)
	}
	if err := b.inSession(in.session, state.InSession{
		From: in.From, To: in.To, Type: string(in.Type), Subject: in.Payload.Subject, Body: in.Payload.Body, Timestamp: in.Time, MsgID: in.ID, CorrelationID: in.CorrelationID,
	}); err != nil {
		return nil, err
	}
	var status string
	var err error
	switch in.Type {
	case wire.Request:
		status, err = b.acceptRequest(ctx, in)
	case wire.Response, wire.Ack:
		status, err = b.acceptAnswer(ctx, in)
	case wire.Alert:
		status, err = b.incidents.accept(ctx, in)
		answer["verdict"] = status
	default:
		status, err = b.acceptNotification(ctx, in)
	}
	if err != nil {
		return nil, err
	}
	if err := b.seen.remember(ctx, in); err != nil {
		return nil, err
	}
	b.audit(in, status, "")
	return answer, nil
}

// acceptRequest handles a request: a question about our own request, or a new task.
func (b *inbound) acceptRequest(ctx context.Context, in *incoming) (string, error) {
	if asked, err := b.requests.acceptQuestion(ctx, in); asked || err != nil {
		return "question", err
	}
	return b.tasks.accept(ctx, in)
}

// acceptAnswer handles a response or an ack: to a question about a task, or to our own request.
func (b *inbound) acceptAnswer(ctx context.Context, in *incoming) (string, error) {
	if status, ours, err := b.tasks.acceptAnswer(ctx, in); ours || err != nil {
		return status, err
	}
	return b.requests.acceptAnswer(ctx, in)
}

// seenBefore reports whether the agent has received a message before, and under which id. A request
// with a known task is a duplicate too: the power can fail before dedup stores it.
func (b *inbound) seenBefore(in *incoming) (of string, duplicate bool) {
	if of, duplicate = b.seen.before(in); duplicate {
		return of, true
	}
	return in.ID, in.Type == wire.Request && b.tasks.known(in.From, in.ID)
}

// received is the audit status of a message without further effect.
const received = "received"

// acceptNotification handles a notification: the cancel of a task, or a text for people.
func (b *inbound) acceptNotification(ctx context.Context, in *incoming) (string, error) {
	if in.CorrelationID != "" {
		if t := b.tasks.taskOf(in.peer, in.CorrelationID); t != nil && strings.EqualFold(strings.Trim(in.Payload.Body, " \t\r\n."), "cancel") {
			return b.tasks.cancel(ctx, in, t)
		}
	}
	b.log.Info("mesh: notification", "from", in.From, "subject", in.Payload.Subject)
	b.notify(priorityOf(in.Priority), in.From+": "+in.Payload.Subject, in.Payload.Body)
	return received, nil
}

// forward forwards a message for another agent.
func (b *inbound) forward(ctx context.Context, in *incoming) (map[string]any, error) {
	to := b.registry.Peer(in.To)
	switch {
	case in.Relay == nil || in.Relay.OriginalTo != in.To || in.Relay.Via != b.cfg.Agent:
		return nil, reject(http.StatusBadRequest, "wrong_recipient", "to: this agent is "+b.cfg.Agent)
	case !b.cfg.Forward:
		return nil, reject(http.StatusForbidden, "no_relay", "this agent forwards no messages")
	case to == nil:
		return nil, reject(http.StatusBadRequest, "unknown_recipient", "to: this agent does not know "+in.To)
	}
	if time.Now().After(in.Expires().Add(skew)) {
		b.audit(in, "expired", "it was over when it came")
		return map[string]any{"ok": true, "id": in.ID, "expired": true}, nil
	}
	in.peer.Turn.Lock()
	defer in.peer.Turn.Unlock()
	answer := map[string]any{"ok": true, "id": in.ID, "relayed": true}
	if _, twice := b.seenBefore(in); twice {
		answer["duplicate"] = true
		return answer, nil
	}
	o := outgoing{
		ID: in.ID, To: in.To, Text: in.text, Signature: in.Signature, Path: HooksPath + in.From, SessionKey: in.back, Priority: in.Priority,
		Alert: in.Type == wire.Alert, Expires: in.Expires(), Through: true,
	}
	if err := b.outbox.enqueue(ctx, o); err != nil {
		return nil, err
	}
	if err := b.seen.remember(ctx, in); err != nil {
		return nil, err
	}
	b.audit(in, "relaying", "")
	return answer, nil
}

// seenMessage is a received message. The same message is a duplicate until Until.
type seenMessage struct {
	Key   string    `json:"key"`
	Of    string    `json:"of"` // id of the message
	Until time.Time `json:"until"`
}

// remembered is the shortest time for which dedup knows a message.
const remembered = 24 * time.Hour

// dedup recognizes duplicate messages.
type dedup struct {
	*documents

	mu   sync.Mutex
	seen map[string]seenMessage // by message key
}

func (d *dedup) restore(doc []byte) error {
	s, err := stored[seenMessage](doc)
	if err == nil {
		d.seen[s.Key] = s
	}
	return err
}

// before reports whether the agent has received a message before, and under which id. The alerts of
// one incident share their key, so a key does not make an alert a duplicate.
func (d *dedup) before(in *incoming) (of string, duplicate bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for i, key := range in.keys() {
		if s, ok := d.seen[key]; ok && now.Before(s.Until) && (i == 0 || in.Type != wire.Alert) {
			return s.Of, true
		}
	}
	return "", false
}

// remember stores the id and the key of a received message. A duplicate does not extend their
// lifetime.
func (d *dedup) remember(ctx context.Context, in *incoming) error {
	until := time.Now().Add(remembered)
	if end := in.Expires().Add(skew); end.After(until) {
		until = end
	}
	for _, key := range in.keys() {
		d.mu.Lock()
		was, known := d.seen[key]
		d.mu.Unlock()
		if known && time.Now().Before(was.Until) {
			continue
		}
		s := seenMessage{Key: key, Of: in.ID, Until: until}
		if err := d.save(ctx, docSeen+digest(key), s); err != nil {
			return err
		}
		d.mu.Lock()
		d.seen[key] = s
		d.mu.Unlock()
	}
	return nil
}

// expire forgets messages whose time is over, and returns the names of their documents.
func (d *dedup) expire(now time.Time) (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, s := range d.seen {
		if now.After(s.Until) {
			delete(d.seen, key)
			names = append(names, docSeen+digest(key))
		}
	}
	return names
}

// rejectionLog limits the cost of rejected messages: each line of the audit log waits for the
// disk, and finally displaces an older line.
type rejectionLog struct {
	mu    sync.Mutex
	until time.Time      // end of the current minute
	of    map[string]int // lines of this minute, by address
	all   int
	left  int // rejections without a line since the last summary
}

const (
	maxRefusals    = 60  // lines a minute for one address
	maxRefusalsAll = 300 // lines a minute in all
)

// note counts a rejection and reports whether the audit log gets a line for it.
func (r *rejectionLog) note(from string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.After(r.until) {
		r.until, r.of, r.all = now.Add(time.Minute), map[string]int{}, 0
	}
	if r.of[from] >= maxRefusals || r.all >= maxRefusalsAll {
		r.left++
		return false
	}
	r.of[from]++
	r.all++
	return true
}

// skip counts a rejection that gets no line.
func (r *rejectionLog) skip() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left++
}

// take returns the number of rejections without a line since the last call.
func (r *rejectionLog) take() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.left
	r.left = 0
	return n
}

// summarize writes the number of rejections without a line to the audit log, until ctx ends.
func (b *inbound) summarize(ctx context.Context) {
	for more := true; more; {
		more = wait.For(ctx, summaryEvery)
		if n := b.rejections.take(); n > 0 {
			b.store.Audit(state.Line{To: b.cfg.Agent, Status: "refused_more", Detail: fmt.Sprintf("the log omits %d more refusals", n)})
		}
	}
}
