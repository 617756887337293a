package mailbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/messkit/messkit/internal/secret"
)

// Letter is a mail to be sent.
type Letter struct {
	To         string
	Subject    string
	Body       string
	Thread     string // "" for none
	Importance string // low, normal, high or urgent
	Ack        bool   // it is to be acknowledged
}

// Send sends a mail, and returns when the server has taken it by its own clock.
func (b *Mailbox) Send(ctx context.Context, l Letter) (time.Time, error) {
	args := map[string]any{
		"project_key": b.cfg.Project, "sender_name": b.name, "sender_token": string(b.token), "to": []string{l.To}, "subject": b.withoutSecrets(l.Subject),
		"body_md": b.withoutSecrets(l.Body), "importance": l.Importance, "ack_required": l.Ack, "convert_images": false, "topic": "mess",
	}
	if l.Thread != "" {
		args["thread_id"] = l.Thread
	}
	var got struct {
		Count      int             `json:"count"`
		Error      json.RawMessage `json:"error"`
		Deliveries []struct {
			Payload struct {
				Created time.Time `json:"created_ts"`
			} `json:"payload"`
		} `json:"deliveries"`
	}
	if err := b.call(ctx, "send_message", args, &got); err != nil {
		return time.Time{}, err
	}
	if len(got.Error) > 0 && string(got.Error) != "null" || got.Count == 0 || len(got.Deliveries) == 0 {
		return time.Time{}, &ToolError{"send_message", "it was not delivered: " + string(got.Error)}
	}
	return got.Deliveries[0].Payload.Created, nil
}

// withoutSecrets is a text without what only the server and this program know.
func (b *Mailbox) withoutSecrets(text string) string {
	for _, s := range []secret.Text{b.token, b.cfg.Bearer} {
		if s != "" {
			text = strings.ReplaceAll(text, string(s), "***")
		}
	}
	return text
}

// Ask asks an agent to be allowed to write to it.
func (b *Mailbox) Ask(ctx context.Context, to string) error {
	return b.call(ctx, "request_contact", map[string]any{
		"project_key": b.cfg.Project, "from_agent": b.name, "to_agent": to, "registration_token": string(b.token), "reason": "tasks and their outcomes",
	}, nil)
}

// outboxLimit is how many mails are looked through for one that may have been sent.
const outboxLimit = 100

// Sent reports whether a mail with a text in it was sent since then: what has timed
// out may have arrived, and the server would take it twice.
func (b *Mailbox) Sent(ctx context.Context, text string, since time.Time) (bool, error) {
	s, err := b.connect(ctx)
	if err != nil {
		return false, err
	}
	q := url.Values{"project": {b.cfg.Project}, "include_bodies": {"true"}, "limit": {fmt.Sprint(outboxLimit)}, "agent_token": {string(b.token)}}
	if !since.IsZero() {
		q.Set("since_ts", since.UTC().Format(time.RFC3339))
	}
	res, err := s.ReadResource(ctx, &sdk.ReadResourceParams{URI: "resource://outbox/" + url.PathEscape(b.name) + "?" + q.Encode()})
	if err != nil {
		b.Close()
		return false, b.broken(errors.New(strings.ReplaceAll(err.Error(), url.QueryEscape(string(b.token)), "***")))
	}
	return slices.ContainsFunc(res.Contents, func(c *sdk.ResourceContents) bool { return strings.Contains(c.Text, text) }), nil
}
