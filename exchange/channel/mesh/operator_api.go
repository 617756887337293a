package mesh

import (
	"cmp"
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
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/mess"
)

// ControlPath is the path of the API for operators.
const ControlPath = "/mesh"

// Order is a call of the API for operators.
type Order struct {
	Do    string   `json:"do"` // send, rally, await, delivered, conversation, timeout, status, rotate, letters, replay, drop, audit, file
	Send  *Sending `json:"send,omitempty"`
	ID    string   `json:"id,omitempty"`
	Name  string   `json:"name,omitempty"`
	Seen  int      `json:"seen,omitempty"`  // number of questions that the client knows already
	Final bool     `json:"final,omitempty"` // replay: rejected messages too; rotate: only the newest token stays valid
	Peer  string   `json:"peer,omitempty"`
	Lines int      `json:"lines,omitempty"`
}

// Report is the answer to an Order.
type Report struct {
	Taken        []Taken             `json:"taken,omitempty"`
	Conversation *state.Conversation `json:"conversation,omitempty"`
	Asked        *Asked              `json:"asked,omitempty"`
	Status       *Status             `json:"status,omitempty"`
	DeadLetters  []state.DeadLetter  `json:"letters,omitempty"`
	Sent         int                 `json:"sent,omitempty"`
	Failed       []string            `json:"failed,omitempty"`
	Audit        []state.Line        `json:"audit,omitempty"`
	Data         []byte              `json:"data,omitempty"`
}

// Asked is the state of a request of this agent.
type Asked struct {
	ID          string     `json:"id"`
	To          string     `json:"to"`
	Delivery    string     `json:"delivery,omitempty"`
	DeliveryErr string     `json:"why,omitempty"`
	Acked       string     `json:"acked,omitempty"`
	Questions   []Question `json:"questions,omitempty"`
	Result      *Result    `json:"result,omitempty"`
	Failed      string     `json:"failed,omitempty"`
}

// Lost reports whether delivery of the message has failed.
func (a Asked) Lost() bool {
	return a.Delivery != "" && a.Delivery != delivery.Sent && !strings.HasPrefix(a.Delivery, relayedVia)
}

// Question is a question of a peer about a request.
type Question struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Answered bool   `json:"answered,omitempty"`
}

// Status is the state of the agent.
type Status struct {
	Agent       string           `json:"agent"`
	URL         string           `json:"url"`
	TokenFile   string           `json:"peers.TokenFile,omitempty"`
	Peers       []PeerStatus     `json:"peers"`
	DeadLetters int              `json:"deadLetters"`
	Incidents   []state.Incident `json:"incidents,omitempty"`
	Asks        []Asked          `json:"asks,omitempty"`
}

// PeerStatus is the state of a peer.
type PeerStatus struct {
	Name        string    `json:"name"`
	URL         string    `json:"url"`
	Role        string    `json:"role,omitempty"`
	Breaker     string    `json:"breaker"`
	Reachable   *bool     `json:"reachable,omitempty"` // nil: not checked yet
	LastProbe   time.Time `json:"lastProbe,omitzero"`
	LatencyMS   int64     `json:"latencyMs,omitempty"`
	DeadLetters int       `json:"deadLetters,omitempty"`
}

// maxOrder is the size limit of an Order in bytes; it contains files.
const maxOrder = 64 << 20

// Serve answers a call of an operator.
func (a *Adapter) Serve(actor exchange.Actor, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		reply(w, http.StatusMethodNotAllowed, map[string]string{"error": "use POST"})
		return
	}
	if !actor.Has(exchange.Operator) {
		reply(w, http.StatusForbidden, map[string]string{"error": "only an operator may use the mesh in the name of this agent"})
		return
	}
	var o Order
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil {
		reply(w, http.StatusBadRequest, map[string]string{"error": "cannot parse the order: " + err.Error()})
		return
	}
	rep, err := a.do(r.Context(), o)
	if err == nil {
		reply(w, http.StatusOK, rep)
		return
	}
	code := http.StatusServiceUnavailable
	if no, ok := errors.AsType[*mess.Error](err); ok && no.Code != mess.Unavailable {
		code = cmp.Or(map[mess.ErrorCode]int{mess.NotFound: http.StatusNotFound, mess.TooLarge: http.StatusRequestEntityTooLarge}[no.Code], http.StatusBadRequest)
	} else {
		a.log.Error("mesh: an order has failed", "do", o.Do, "err", err)
	}
	reply(w, code, map[string]string{"error": err.Error()})
}

func (a *Adapter) do(ctx context.Context, o Order) (rep Report, err error) {
	switch o.Do {
	case "send", "rally":
		if o.Send == nil {
			return Report{}, mess.Errorf(mess.Invalid, "send: is missing")
		}
		// Finish the call even if the client disconnects.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTime)
		defer cancel()
		if o.Do == "send" {
			rep.Taken, err = a.requests.Send(ctx, *o.Send)
			return rep, err
		}
		var id string
		if id, rep.Taken, err = a.requests.Rally(ctx, *o.Send); err != nil {
			return rep, err
		}
		rep.Conversation, err = a.requests.conversation(id)
		return rep, err
	case "await":
		rep.Asked, err = a.requests.await(ctx, o.ID, o.Seen)
		return rep, err
	case "delivered":
		rep.Asked, err = a.outbox.awaitDelivery(ctx, o.ID, o.Peer)
		return rep, err
	case "conversation":
		rep.Conversation, err = a.requests.conversation(o.ID)
		return rep, err
	case "timeout":
		return rep, a.store.TimedOut(o.ID)
	case "status":
		rep.Status = a.status()
		return rep, nil
	case "rotate":
		return Report{Status: a.status()}, a.registry.Rotate(o.Final)
	case "letters":
		rep.DeadLetters = a.outbox.deadLetters()
		return rep, nil
	case "replay":
		rep.Sent, rep.Failed = a.outbox.replayAll(ctx, func(l state.DeadLetter) bool {
			return (o.ID == "" || l.ID == o.ID) && (o.Peer == "" || l.To == o.Peer) && (o.Final || !l.Final())
		})
		return rep, nil
	case "drop":
		return a.outbox.drop(o)
	case "audit":
		rep.Audit, err = a.store.Tail(max(1, min(o.Lines, 1000)), func(l state.Line) bool {
			return (o.Peer == "" || l.From == o.Peer || l.To == o.Peer) && (o.ID == "" || l.ID == o.ID || l.CorrelationID == o.ID || l.ConversationID == o.ID)
		})
		return rep, err
	case "file":
		if rep.Data, err = a.files.savedFile(o.ID, o.Name); err != nil {
			return rep, mess.Errorf(mess.NotFound, "there is no file %q of %s", o.Name, o.ID)
		}
		return rep, nil
	}
	return Report{}, mess.Errorf(mess.Invalid, "do: unknown value %q", o.Do)
}

func (a *Adapter) status() *Status {
	s := &Status{Agent: a.cfg.Agent, URL: a.base, DeadLetters: len(a.store.DeadLetters())}
	if a.cfg.Token == "" {
		s.TokenFile = a.opts.Dir + "/" + peers.TokenFile
	}
	breakers, health, deadLetters := a.store.Breakers(), a.store.Health(), map[string]int{}
	for _, l := range a.store.DeadLetters() {
		deadLetters[l.To]++
	}
	all := a.registry.Peers()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name].Settings().Config
		p := PeerStatus{Name: name, URL: c.URL, Role: c.Role, Breaker: cmp.Or(breakers[name].State, state.Closed), DeadLetters: deadLetters[name]}
		if h, ok := health[name]; ok {
			p.Reachable, p.LastProbe, p.LatencyMS = &h.Reachable, h.LastProbe, h.LatencyMS
		}
		s.Peers = append(s.Peers, p)
	}
	for _, i := range a.store.Incidents() {
		if i.Status == "active" {
			s.Incidents = append(s.Incidents, i)
		}
	}
	s.Asks = a.requests.list()
	return s
}
