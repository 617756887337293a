package mesh

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/safehttp"
	"github.com/messkit/messkit/internal/secret"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// HooksPath is the path to which peers send messages.
const HooksPath = "/hooks/"

// rejection is the error of a rejected message. The peer and the audit log receive it.
type rejection struct {
	code  int
	name  string
	text  string
	after time.Duration // Retry-After; 0: none
}

func (r *rejection) Error() string { return r.text }

func reject(code int, name, text string) *rejection {
	return &rejection{code: code, name: name, text: text}
}

// ServeHTTP accepts a message of a peer that sends a valid token.
func (b *inbound) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var line state.Line
	answer, err := b.hook(r, &line)
	no, refused := errors.AsType[*rejection](err)
	switch {
	case err == nil:
		reply(w, http.StatusAccepted, answer)
		return
	case !refused: // the exchange cannot store it now, so the peer must send it again
		no = &rejection{http.StatusServiceUnavailable, "unavailable", "the agent cannot store it now; send it again", time.Minute}
		b.log.Error("mesh: cannot accept a message", "err", err)
	}
	if no.code == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	if no.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(no.after.Seconds()))))
	}
	line.To, line.Status, line.Detail = b.cfg.Agent, "refused_"+no.name, no.text
	if line.From == "" {
		line.From = host(r)
	}
	switch {
	case no.name == "locked_out": // a peer that guesses tokens must not fill the disk
		b.rejections.skip()
	case b.rejections.note(host(r), time.Now()):
		b.store.Audit(line)
	}
	reply(w, no.code, map[string]any{"ok": false, "error": no.name, "message": no.text})
}

func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // an error means that the peer has disconnected
}

// hook checks a request in the order that MESH agents use: path, method, token, size, text,
// sender.
func (b *inbound) hook(r *http.Request, line *state.Line) (map[string]any, error) {
	sender, ok := strings.CutPrefix(r.URL.Path, HooksPath)
	switch {
	case r.URL.Query().Has("token"):
		return nil, reject(http.StatusBadRequest, "token_in_query", "a token does not belong into the address; send Authorization: Bearer TOKEN")
	case !ok || !wire.ValidName(sender):
		return nil, reject(http.StatusNotFound, "not_found", "there is only /hooks/{sender} and /hooks/agent")
	case r.Method != http.MethodPost:
		return nil, reject(http.StatusMethodNotAllowed, "method", "use POST")
	}
	may, err := b.authenticate(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, wire.MaxBody+1))
	switch {
	case err != nil:
		return nil, reject(http.StatusBadRequest, "unread", "the body did not come through")
	case len(body) > wire.MaxBody:
		return nil, reject(http.StatusRequestEntityTooLarge, "too_large", "the body is larger than 256 KiB; send a file by its address")
	}
	h, err := wire.ParseHook(body)
	if err != nil {
		return nil, reject(http.StatusBadRequest, "invalid", err.Error())
	}
	if !wire.Detect(h.Message) {
		if _, err := b.sessionOf(h.SessionKey, ""); err != nil {
			return nil, err
		}
		return b.legacy(r, sender, h, may, line)
	}
	return b.envelope(r, sender, h, may, line)
}

// sessionAllowed reports whether the configuration allows a session key.
func (b *inbound) sessionAllowed(key string) bool {
	if !b.cfg.AllowSessionKey || len(key) > maxSessionKey {
		return false
	}
	return len(b.cfg.SessionPrefixes) == 0 || slices.ContainsFunc(b.cfg.SessionPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// sessionOf returns the session key of a message. Some peers remove the prefix agent:{id}: from
// the key next to the message; then the full key in the reply context counts.
func (b *inbound) sessionOf(beside, within string) (string, error) {
	if !b.cfg.AllowSessionKey {
		within = "" // the key is only echoed
	}
	keys := []string{beside, within}
	if beside == "" || within != "" && beside == withoutAgentPrefix(within) {
		keys = []string{within}
	}
	for _, key := range keys {
		if key != "" && !b.sessionAllowed(key) {
			return "", reject(http.StatusBadRequest, "session_key", "sessionKey: has no allowed prefix, or the agent allows no keys")
		}
	}
	return keys[0], nil
}

const maxSessionKey = 512

// authenticate checks the token of a request, and returns a function that reports for which peers
// it is valid. After too many wrong tokens from an address, further wrong ones get the error
// locked_out for a while. It always accepts a valid token.
func (b *inbound) authenticate(r *http.Request) (may func(p *peers.Agent) bool, _ error) {
	shown := r.Header.Get("X-Openclaw-Token")
	if scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		shown = strings.TrimSpace(rest)
	}
	common, own := false, map[string]bool{}
	for _, one := range b.registry.Tokens() {
		common = sameToken(shown, one) || common
	}
	for name, p := range b.registry.Peers() {
		c := p.Settings().Config
		if sameToken(shown, c.Accept) || c.Accept != "" && sameToken(shown, c.AcceptBefore) {
			own[name] = true
		}
	}
	if common || len(own) > 0 {
		return func(p *peers.Agent) bool { return own[p.Name] || common && p.Settings().Config.Accept == "" }, nil
	}
	if wait := b.failedLogins.count(host(r), time.Now()); wait > 0 {
		no := reject(http.StatusTooManyRequests, "locked_out", "too many wrong tokens from this address; wait")
		no.after = wait
		return nil, no
	}
	return nil, reject(http.StatusUnauthorized, "unauthorized", "the token is missing or wrong; send Authorization: Bearer TOKEN with the token of this agent")
}

func sameToken(shown string, token secret.Text) bool {
	return token != "" && subtle.ConstantTimeCompare([]byte(shown), []byte(string(token))) == 1
}

func host(r *http.Request) string {
	h, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return h
}

// failedLoginsByAddress counts wrong tokens by address.
type failedLoginsByAddress struct {
	mu sync.Mutex
	of map[string]*failedLogins
}

type failedLogins struct {
	n     int
	until time.Time
}

const (
	maxWrong       = 20 // in a minute, from one address
	maxWrongPlaces = 1024
)

// count counts a wrong token and returns how long its address must wait.
func (w *failedLoginsByAddress) count(from string, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil || len(w.of) >= maxWrongPlaces && w.of[from] == nil {
		w.of = map[string]*failedLogins{}
	}
	m := w.of[from]
	if m == nil || now.After(m.until) {
		m = &failedLogins{until: now.Add(time.Minute)}
		w.of[from] = m
	}
	if m.n++; m.n <= maxWrong {
		return 0
	}
	return m.until.Sub(now)
}

// sender returns the peer that sent a message if the token is valid for it.
func (b *inbound) sender(name string, may func(*peers.Agent) bool) (*peers.Agent, error) {
	p := b.registry.Peer(name)
	if p == nil {
		return nil, reject(http.StatusForbidden, "unknown_sender", "from: "+strconv.Quote(name)+" is unknown here")
	}
	if !may(p) {
		return nil, reject(http.StatusForbidden, "wrong_token", "this token is not that of "+name)
	}
	return p, nil
}

// spend counts a message against a rate limit.
func spend(of *rate.Limiter) error {
	if of.Allow() {
		return nil
	}
	no := reject(http.StatusTooManyRequests, "rate_limited", "too many messages; send fewer a minute")
	no.after = time.Duration((1 - of.Tokens()) / float64(of.Limit()) * float64(time.Second))
	return no
}

// legacy accepts a text without an envelope. The adapter logs it and forwards it to
// Config.TextURL, and never makes a task of it.
func (b *inbound) legacy(r *http.Request, sender string, h wire.Hook, may func(*peers.Agent) bool, line *state.Line) (map[string]any, error) {
	line.From, line.Type = sender, "text"
	if len(h.Message) > wire.MaxText {
		return nil, reject(http.StatusRequestEntityTooLarge, "too_large", "the text is larger than 64 KiB")
	}
	of := b.texts
	if sender != "agent" {
		p, err := b.sender(sender, may)
		if err != nil {
			return nil, err
		}
		of = p.Rate
	}
	if err := spend(of); err != nil {
		return nil, err
	}
	line.Body = h.Message
	if err := b.inSession(h.SessionKey, state.InSession{From: sender, To: b.cfg.Agent, Type: "text", Body: h.Message, Timestamp: time.Now()}); err != nil {
		return nil, err
	}
	if err := b.forwardText(r.Context(), sender, h); err != nil {
		return nil, err
	}
	line.To, line.Status = b.cfg.Agent, "received_text"
	b.store.Audit(*line)
	b.log.Info("mesh: text without an envelope", "from", sender, "bytes", len(h.Message))
	return map[string]any{"ok": true, "text": true}, nil
}

// unavailable reports whether an error says that the exchange cannot accept anything now.
// Otherwise the message is invalid.
func unavailable(err error) bool {
	_, no := errors.AsType[*mess.Error](err)
	return !no || errors.Is(err, mess.Unavailable)
}

// legacyText is a text without an envelope, in the form in which Config.TextURL receives it.
type legacyText struct {
	ID         string    `json:"id"`
	From       string    `json:"from"` // peer in the path; "agent": unknown
	To         string    `json:"to"`
	Text       string    `json:"text"`
	SessionKey string    `json:"sessionKey,omitempty"`
	At         time.Time `json:"at"`
}

func (b *inbound) restoreText(doc []byte) error {
	t, err := stored[legacyText](doc)
	if err == nil {
		b.spawn(func(ctx context.Context) { b.deliverText(ctx, t) })
	}
	return err
}

// forwardText stores a text, and forwards it to Config.TextURL unless that is "". It returns
// after it has stored the text.
func (b *inbound) forwardText(ctx context.Context, from string, h wire.Hook) error {
	if b.cfg.TextURL == "" {
		return nil
	}
	t := legacyText{ID: newID(), From: from, To: b.cfg.Agent, Text: h.Message, SessionKey: h.SessionKey, At: time.Now().UTC()}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTime)
	defer cancel()
	if err := b.save(ctx, docText+t.ID, t); err != nil {
		return err
	}
	b.spawn(func(ctx context.Context) { b.deliverText(ctx, t) })
	return nil
}

// textGaps are the waits before the attempts, the same as between agents (section 8).
var textGaps = [...]time.Duration{0, 5 * time.Second, 15 * time.Second, time.Minute}

// deliverText forwards a text. If all attempts fail, only the audit log contains it.
func (b *inbound) deliverText(ctx context.Context, t legacyText) {
	status, detail := "text_not_handed_on", ""
	for _, gap := range textGaps {
		if !wait.For(ctx, gap) {
			return // the next run continues
		}
		code, err := b.postText(ctx, t)
		if ctx.Err() != nil {
			return
		}
		if detail = fmt.Sprintf("it answers %d", code); err != nil {
			detail = err.Error()
		}
		if err == nil && code/100 == 2 {
			status, detail = "text_handed_on", ""
		}
		if err == nil && (code/100 == 2 || code/100 == 4) {
			break
		}
	}
	if detail != "" {
		b.log.Error("mesh: cannot forward a text", "from", t.From, "id", t.ID, "err", detail)
	}
	b.store.Audit(state.Line{From: t.From, To: t.To, Type: "text", ID: t.ID, Status: status, Detail: detail})
	if err := b.save(ctx, docText+t.ID, nil); err != nil {
		b.log.Warn("mesh: a text may go out again", "id", t.ID, "err", err)
	}
}

// postText posts a text once and returns the status code of the answer.
func (b *inbound) postText(ctx context.Context, t legacyText) (code int, _ error) {
	body, err := json.Marshal(t)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.cfg.TextURL, bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("there is no such address")
	}
	req.Header.Set("Content-Type", "application/json")
	client := safehttp.Client(safehttp.Config{
		Check:   func(netip.Addr) error { return nil }, // the configuration names the address, so every address is allowed
		Connect: 10 * time.Second, Total: workTime,
	})
	defer client.CloseIdleConnections()
	res, err := safehttp.Send(client, req)
	if err != nil {
		b.log.Debug("mesh: text_url does not accept a text", "err", err)
		return 0, errors.New("no server answers at text_url")
	}
	return res.StatusCode, nil
}
