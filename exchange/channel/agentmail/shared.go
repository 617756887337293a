package agentmail

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/internal/secret"
	"github.com/messkit/messkit/mess"
)

// shared has the values that all parts of the adapter use. Its own fields do not change after Open.
type shared struct {
	x   *exchange.Exchange
	cfg Config
	now func() time.Time
	log *slog.Logger
	*store
}

// agentName returns the name of this agent for others.
func (h *shared) agentName() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return cmp.Or(h.s.Name, h.cfg.Name, h.x.ID())
}

// isCapability reports whether a capability exists.
func (h *shared) isCapability(id string) bool {
	for _, c := range h.x.Capabilities(nil) {
		if c.ID == id {
			return true
		}
	}
	return false
}

// post posts a message of an actor. It finishes even if ctx ends.
func (h *shared) post(ctx context.Context, actor exchange.Actor, m mess.Message) (mess.Message, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), postTimeout)
	defer cancel()
	return h.x.Post(ctx, exchange.Inbound{Actor: actor, Channel: channel, Message: m, DependsOnLater: true})
}

// postTimeout is the time limit of the exchange for one message.
const postTimeout = 30 * time.Second

// wrap returns the message of a body.
func (h *shared) wrap(id string, at time.Time, b format.Body) format.Message {
	return format.Message{Version: format.Version, Timestamp: mess.TimeOf(at.UTC()), SenderID: h.agentName(), MessageID: id, Type: b.Type(), Body: b}
}

// queue adds a whole message to the outbox.
func (h *shared) queue(to peer, thread string, m format.Message) error {
	body, err := m.JSON()
	if err != nil {
		return err
	}
	at, err := m.Timestamp.Time()
	if err != nil {
		return err
	}
	return h.change(func(s *state) {
		s.add(outboxEntry{ID: m.MessageID, To: to.name, HTTP: to.http, At: at, Task: format.TaskOf(m.Body), Thread: thread, Kind: string(m.Type), Body: body})
	})
}

// recordRejected records a rejected message.
func (h *shared) recordRejected(l email, code, details string) {
	h.log.Warn("mail refused", "from", l.from.name, "code", code, "err", short(details))
	err := h.change(func(s *state) {
		s.Refused = append(s.Refused, Refused{At: h.now(), From: short(l.from.name), Code: code, Details: short(details), Subject: short(l.mail.Subject)})
	})
	if err != nil {
		h.log.Warn("cannot store a rejected message", "err", err)
	}
}

// answerCoordination answers a coordination request.
func (h *shared) answerCoordination(to peer, m format.Message, text string) error {
	id := newID()
	now := h.now()
	reply := h.wrap(id, now, &format.CoordinationRequest{
		RequestType: "sync", Participants: []string{to.name}, Topic: text, Metadata: mess.Object{{Key: "in_reply_to", Value: m.MessageID}},
	})
	return h.queue(to, "", reply)
}

// redactedText replaces a secret.
const redactedText = "***"

// minSecret is the length of the shortest secret that is replaced, in bytes. Shorter texts occur
// by chance in numbers and images.
const minSecret = 8

// secrets returns the tokens of the mail server and of the configuration.
func (h *shared) secrets() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, s := range append(slices.Clone(h.cfg.Secrets), secret.Text(h.s.Token)) {
		if len(s) >= minSecret {
			all = append(all, string(s))
		}
	}
	return all
}

// redacted replaces the secrets in a text.
func (h *shared) redacted(text string) string {
	for _, s := range h.secrets() {
		text = strings.ReplaceAll(text, s, redactedText)
	}
	return text
}

// withoutSecrets replaces the secrets in a JSON message (section "Security Considerations", 4).
func (h *shared) withoutSecrets(body []byte) []byte {
	text := string(body)
	for _, s := range h.secrets() {
		text = strings.ReplaceAll(text, inString(s), redactedText)
	}
	if text == string(body) {
		return body
	}
	return []byte(text)
}

// inString returns a text in the form that it has in a JSON string.
func inString(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string never fails
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}
