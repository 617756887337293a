package mesh

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/delivery"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/mess"
)

// ControlPath is where operators use the agent.
const ControlPath = "/mesh"

// Order is what an operator wants of the agent.
type Order struct {
	Do    string   `json:"do"` // send, rally, await, delivered, conversation, timeout, status, rotate, letters, replay, drop, audit, file
	Send  *Sending `json:"send,omitempty"`
	ID    string   `json:"id,omitempty"`
	Name  string   `json:"name,omitempty"`
	Seen  int      `json:"seen,omitempty"`  // questions that are known already
	Final bool     `json:"final,omitempty"` // replay what was refused as well; rotate: the newest token counts alone
	Peer  string   `json:"peer,omitempty"`
	Lines int      `json:"lines,omitempty"`
}

// Report is what the agent answers.
type Report struct {
	Taken        []Taken             `json:"taken,omitempty"`
	Conversation *state.Conversation `json:"conversation,omitempty"`
	Asked        *Asked              `json:"asked,omitempty"`
	Status       *Status             `json:"status,omitempty"`
	Letters      []state.Letter      `json:"letters,omitempty"`
	Sent         int                 `json:"sent,omitempty"`
	Failed       []string            `json:"failed,omitempty"`
	Audit        []state.Line        `json:"audit,omitempty"`
	Data         []byte              `json:"data,omitempty"`
}

// Asked is how a request of ours stands.
type Asked struct {
	ID        string     `json:"id"`
	To        string     `json:"to"`
	Delivery  string     `json:"delivery,omitempty"`
	Why       string     `json:"why,omitempty"`
	Acked     string     `json:"acked,omitempty"`
	Questions []Question `json:"questions,omitempty"`
	Result    *Result    `json:"result,omitempty"`
	Failed    string     `json:"failed,omitempty"`
}

// Lost reports whether a message has not arrived, and is not on its way.
func (a Asked) Lost() bool {
	return a.Delivery != "" && a.Delivery != delivery.Sent && !strings.HasPrefix(a.Delivery, relayedVia)
}

// Question is what a peer wants to know.
type Question struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Answered bool   `json:"answered,omitempty"`
}

// Status is how the agent stands.
type Status struct {
	Agent     string           `json:"agent"`
	URL       string           `json:"url"`
	TokenFile string           `json:"tokenFile,omitempty"`
	Peers     []PeerStatus     `json:"peers"`
	Letters   int              `json:"deadLetters"`
	Incidents []state.Incident `json:"incidents,omitempty"`
	Asks      []Asked          `json:"asks,omitempty"`
}

// PeerStatus is how a peer stands.
type PeerStatus struct {
	Name      string    `json:"name"`
	URL       string    `json:"url"`
	Role      string    `json:"role,omitempty"`
	Breaker   string    `json:"breaker"`
	Reachable *bool     `json:"reachable,omitempty"` // nil: not asked yet
	LastProbe time.Time `json:"lastProbe,omitzero"`
	LatencyMS int64     `json:"latencyMs,omitempty"`
	Letters   int       `json:"deadLetters,omitempty"`
}

// maxOrder is the largest order, in bytes: files go with it.
const maxOrder = 64 << 20

// Serve serves an operator (httpapi.Guest).
func (d *Adapter) Serve(who exchange.Actor, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		reply(w, http.StatusMethodNotAllowed, map[string]string{"error": "use POST"})
		return
	}
	if !who.Has(exchange.Operator) {
		reply(w, http.StatusForbidden, map[string]string{"error": "only an operator may use the mesh in the name of this agent"})
		return
	}
	var o Order
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil {
		reply(w, http.StatusBadRequest, map[string]string{"error": "the order cannot be read: " + err.Error()})
		return
	}
	rep, err := d.do(r.Context(), o)
	if err == nil {
		reply(w, http.StatusOK, rep)
		return
	}
	code := http.StatusServiceUnavailable
	if no, ok := errors.AsType[*mess.Refusal](err); ok && no.Why != mess.Unavailable {
		code = map[mess.Why]int{mess.Unknown: http.StatusNotFound, mess.TooLarge: http.StatusRequestEntityTooLarge}[no.Why]
		if code == 0 {
			code = http.StatusBadRequest
		}
	} else {
		d.log.Error("mesh: an order was not done", "do", o.Do, "err", err)
	}
	reply(w, code, map[string]string{"error": err.Error()})
}

func (d *Adapter) do(ctx context.Context, o Order) (rep Report, err error) {
	switch o.Do {
	case "send", "rally":
		if o.Send == nil {
			return Report{}, mess.Refuse(mess.Invalid, "send: is missing")
		}
		// What has begun is finished, even if the client goes.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTime)
		defer cancel()
		if o.Do == "send" {
			rep.Taken, err = d.Send(ctx, *o.Send)
			return rep, err
		}
		var id string
		if id, rep.Taken, err = d.Rally(ctx, *o.Send); err != nil {
			return rep, err
		}
		rep.Conversation, err = d.conversation(id)
		return rep, err
	case "await":
		rep.Asked, err = d.await(ctx, o.ID, o.Seen)
		return rep, err
	case "delivered":
		rep.Asked, err = d.awaitDelivery(ctx, o.ID, o.Peer)
		return rep, err
	case "conversation":
		rep.Conversation, err = d.conversation(o.ID)
		return rep, err
	case "timeout":
		return rep, d.store.TimedOut(o.ID)
	case "status":
		rep.Status = d.status()
		return rep, nil
	case "rotate":
		return Report{Status: d.status()}, d.rotate(o.Final)
	case "letters":
		rep.Letters = d.letters()
		return rep, nil
	case "replay":
		rep.Sent, rep.Failed = d.replayAll(ctx, func(l state.Letter) bool {
			return (o.ID == "" || l.ID == o.ID) && (o.Peer == "" || l.To == o.Peer) && (o.Final || !l.Final())
		})
		return rep, nil
	case "drop":
		return d.drop(o)
	case "audit":
		rep.Audit, err = d.store.Tail(max(1, min(o.Lines, 1000)), func(l state.Line) bool {
			return (o.Peer == "" || l.From == o.Peer || l.To == o.Peer) && (o.ID == "" || l.ID == o.ID || l.CorrelationID == o.ID || l.ConversationID == o.ID)
		})
		return rep, err
	case "file":
		if rep.Data, err = d.savedFile(o.ID, o.Name); err != nil {
			return rep, mess.Refuse(mess.Unknown, "there is no file %q of %s", o.Name, o.ID)
		}
		return rep, nil
	}
	return Report{}, mess.Refuse(mess.Invalid, "do: %q is not known", o.Do)
}

func (d *Adapter) conversation(id string) (*state.Conversation, error) {
	c, err := d.store.Conversation(id)
	if err != nil {
		return nil, mess.Refuse(mess.Unknown, "there is no conversation %q", id)
	}
	return &c, nil
}

// awaitTime is how long news is waited for.
const awaitTime = 20 * time.Second

// await waits until a request has an answer, is asked about, or is acknowledged.
func (d *Adapter) await(ctx context.Context, id string, seen int) (*Asked, error) {
	end := time.NewTimer(awaitTime)
	defer end.Stop()
	first := true
	for {
		d.mu.Lock()
		a := d.asks[id]
		var changed chan struct{}
		var now Asked
		if a != nil {
			changed, now = a.changed, asksAs(a)
		}
		d.mu.Unlock()
		if a == nil {
			return nil, mess.Refuse(mess.Unknown, "there is no request %q of this agent, or not any more", id)
		}
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

func asksAs(a *ask) Asked {
	now := Asked{ID: a.ID, To: a.To, Delivery: a.Delivery, Why: a.Why, Acked: a.Acked, Result: a.Result, Failed: a.Failed}
	for _, q := range a.Questions {
		now.Questions = append(now.Questions, Question{q.ID, q.Text, q.Answered})
	}
	return now
}

func (d *Adapter) status() *Status {
	s := &Status{Agent: d.cfg.Agent, URL: d.base, Letters: len(d.store.Letters())}
	if d.cfg.Token == "" {
		s.TokenFile = d.opts.Dir + "/" + tokenFile
	}
	breakers, health, letters := d.store.Breakers(), d.store.Health(), map[string]int{}
	for _, l := range d.store.Letters() {
		letters[l.To]++
	}
	peers := d.allPeers()
	for _, name := range slices.Sorted(maps.Keys(peers)) {
		c := peers[name].now().cfg
		p := PeerStatus{Name: name, URL: c.URL, Role: c.Role, Breaker: breakers[name].State, Letters: letters[name]}
		if p.Breaker == "" {
			p.Breaker = state.Closed
		}
		if h, ok := health[name]; ok {
			p.Reachable, p.LastProbe, p.LatencyMS = &h.Reachable, h.LastProbe, h.LatencyMS
		}
		s.Peers = append(s.Peers, p)
	}
	for _, i := range d.store.Incidents() {
		if i.Status == "active" {
			s.Incidents = append(s.Incidents, i)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.asks {
		s.Asks = append(s.Asks, asksAs(a))
	}
	order.By(s.Asks, func(a, b Asked) int { return strings.Compare(a.ID, b.ID) })
	return s
}

// letters are the dead letters without what is secret in them.
func (d *Adapter) letters() []state.Letter {
	list := d.store.Letters()
	for i := range list {
		list[i].Token, list[i].Text = "", ""
		if e, err := withoutTokens(list[i].Envelope); err == nil {
			list[i].Envelope = e
		}
	}
	return list
}

func withoutTokens(envelope json.RawMessage) (json.RawMessage, error) {
	var v map[string]any
	dec := json.NewDecoder(bytes.NewReader(envelope))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if to, ok := v["replyTo"].(map[string]any); ok {
		to["token"] = "***"
	}
	return json.Marshal(v)
}

// drop throws dead letters away.
func (d *Adapter) drop(o Order) (rep Report, _ error) {
	for _, l := range d.store.Letters() {
		if l.ID != o.ID && o.ID != "all" || o.Peer != "" && l.To != o.Peer {
			continue
		}
		if _, ok, err := d.store.Unbury(l.ID, l.To); err != nil {
			return rep, err
		} else if ok {
			d.auditLetter(l, "dropped")
			rep.Sent++
		}
	}
	if rep.Sent == 0 {
		return rep, mess.Refuse(mess.Unknown, "there is no dead letter %q", o.ID)
	}
	return rep, nil
}
