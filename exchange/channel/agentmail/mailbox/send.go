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

// OutgoingMail is a mail to send.
type OutgoingMail struct {
	To         string
	Subject    string
	Body       string
	Thread     string // "" for none
	Importance string // low, normal, high or urgent
	Ack        bool   // the recipient must acknowledge it
}

// Send sends a mail, and returns the time of receipt by the server's clock.
func (b *Mailbox) Send(ctx context.Context, l OutgoingMail) (time.Time, error) {
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
		return time.Time{}, &ToolError{"send_message", "the mail server did not deliver it: " + string(got.Error)}
	}
	return got.Deliveries[0].Payload.Created, nil
}

// withoutSecrets replaces the secrets that only the server and this program know.
func (b *Mailbox) withoutSecrets(text string) string {
	for _, s := range []secret.Text{b.token, b.cfg.Bearer} {
		if s != "" {
			text = strings.ReplaceAll(text, string(s), "***")
		}
	}
	return text
}

// Ask asks an agent for permission to write to it.
func (b *Mailbox) Ask(ctx context.Context, to string) error {
	return b.call(ctx, "request_contact", map[string]any{
		"project_key": b.cfg.Project, "from_agent": b.name, "to_agent": to, "registration_token": string(b.token), "reason": "tasks and their outcomes",
	}, nil)
}

// outboxLimit is the number of sent mails that Sent searches.
const outboxLimit = 100

// Sent reports whether a mail that contains a text was sent since a time. A mail may have arrived
// although its call has timed out, and the server accepts duplicates.
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
