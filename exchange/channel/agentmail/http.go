package agentmail

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/mess"
)

// Path is the path of this channel in the HTTP API.
const Path = "/agentmail"

const (
	maxWait  = time.Minute
	maxBatch = 100 // messages in one answer
	maxBytes = 8 << 20
)

// Serve accepts a message of an actor (POST), returns the messages for it (GET), or ends
// reservations (DELETE).
func (d *Adapter) Serve(actor exchange.Actor, w http.ResponseWriter, r *http.Request) {
	from := peer{name: actor.ID, actor: actor, http: true, gives: true}
	switch r.Method {
	case http.MethodPost:
		d.servePost(from, w, r)
	case http.MethodGet, http.MethodHead:
		d.serveFetch(from, w, r)
	case http.MethodDelete:
		d.serveRelease(actor, w, r)
	default:
		w.Header().Set("Allow", "DELETE, GET, HEAD, POST")
		answer(w, http.StatusMethodNotAllowed, problem{Error: "method_not_allowed", Details: "use POST for a message, GET for the answers, DELETE for a reservation"})
	}
}

// serveRelease ends the reservations of a device for an operator.
func (d *Adapter) serveRelease(actor exchange.Actor, w http.ResponseWriter, r *http.Request) {
	device := r.URL.Query().Get("device")
	if !actor.Has(exchange.Operator) {
		answer(w, http.StatusForbidden, problem{Error: "only an operator may free what others have reserved", Code: mess.Forbidden})
		return
	}
	by, err := d.Release(device)
	switch {
	case err != nil:
		answer(w, http.StatusServiceUnavailable, problem{Error: "the exchange cannot store it now; try again", Code: mess.Unavailable})
	case len(by) == 0:
		answer(w, http.StatusNotFound, problem{Error: fmt.Sprintf("no agent has reserved %.60q", device), Code: mess.NotFound})
	default:
		answer(w, http.StatusOK, map[string][]string{"by": by})
	}
}

// problem is the answer to a rejected message ("Invalid Message Format").
type problem struct {
	Error     string          `json:"error"`
	Details   string          `json:"details,omitempty"`
	Code      mess.ErrorCode  `json:"why,omitempty"`
	MessageID string          `json:"message_id,omitempty"`
	Report    json.RawMessage `json:"report,omitempty"`
}

// codes are the HTTP status codes of errors; all others have 422.
var codes = map[string]int{
	codeForbidden: http.StatusForbidden, codeUnknownTask: http.StatusNotFound, codeStale: http.StatusConflict, codeConflict: http.StatusConflict,
	string(mess.NotFound): http.StatusNotFound, string(mess.Conflict): http.StatusConflict,
	string(mess.IllegalTransition): http.StatusConflict, string(mess.StaleToken): http.StatusConflict, string(mess.NotYet): http.StatusConflict,
	string(mess.TooLarge): http.StatusRequestEntityTooLarge,
}

func (d *Adapter) servePost(from peer, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil || len(body) > maxBody {
		answer(w, http.StatusRequestEntityTooLarge, problem{Error: "too_large", Details: "a message has 10 MB at most"})
		return
	}
	l := email{from: from, body: string(body), at: d.now(), mail: format.Mail{From: from.name, Created: d.now()}}
	got, err := d.inbound.accept(r.Context(), l)
	if err == nil {
		answer(w, http.StatusAccepted, got)
		return
	}
	bad, ok := errors.AsType[*format.Invalid](err)
	if !ok {
		answer(w, http.StatusServiceUnavailable, problem{Error: "unavailable", Details: err.Error()})
		return
	}
	d.recordRejected(l, bad.Code, bad.Details)
	p := problem{Error: bad.Code, Details: d.redacted(bad.Details), MessageID: bad.MessageID}
	if report, ok := bad.Report(d.agentName(), newID(), d.now()); ok {
		text, _ := report.JSON() // the answer is complete without the report
		p.Report = d.withoutSecrets(text)
	}
	answer(w, cmp.Or(codes[bad.Code], http.StatusUnprocessableEntity), p)
}

// item is a message in an answer. The next request continues after Seq.
type item struct {
	Seq     uint64          `json:"seq"`
	Message json.RawMessage `json:"message"`
}

// serveFetch answers with the messages after a number, and removes those before it. With a wait it
// waits for a message.
func (d *Adapter) serveFetch(from peer, w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseUint("0"+r.URL.Query().Get("after"), 10, 63)
	if err != nil {
		answer(w, http.StatusBadRequest, problem{Error: "invalid", Details: "after: write the number next of the last answer"})
		return
	}
	wait, err := waitOf(r.URL.Query().Get("wait"))
	if err != nil {
		answer(w, http.StatusBadRequest, problem{Error: "invalid", Details: err.Error()})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	if err := d.outbox.acknowledge(from, after); err != nil {
		answer(w, http.StatusServiceUnavailable, problem{Error: "unavailable", Details: err.Error()})
		return
	}
	for {
		list, news := d.outbox.pending(from, after)
		if len(list) > 0 || wait == 0 || ctx.Err() != nil {
			d.writeMessages(r.Context(), w, after, list)
			return
		}
		select {
		case <-ctx.Done():
		case <-news:
		}
	}
}

func waitOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxWait {
		return 0, errors.New("wait: write how long, from 0s to 1m")
	}
	return d, nil
}

// writeMessages writes as many messages as one answer holds.
func (d *Adapter) writeMessages(ctx context.Context, w http.ResponseWriter, after uint64, list []outboxEntry) {
	out := struct {
		Messages []item `json:"messages"`
		Next     uint64 `json:"next"`
		More     bool   `json:"more,omitempty"`
	}{Messages: []item{}, Next: after}
	size := 0
	for _, e := range list {
		body, err := d.outbox.render(ctx, &e)
		if errors.Is(err, mess.Unavailable) {
			answer(w, http.StatusServiceUnavailable, problem{Error: "unavailable", Details: err.Error()})
			return
		}
		if err != nil {
			d.log.Error("cannot build a message; messkit drops it", "ref", e.Ref, "to", e.To, "err", err)
			out.Next = e.Seq
			continue
		}
		if size += len(body); size > maxBytes && len(out.Messages) > 0 {
			out.More = true
			break
		}
		out.Messages = append(out.Messages, item{e.Seq, body})
		out.Next = e.Seq
	}
	answer(w, http.StatusOK, out)
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // an error means that the client has disconnected
}
