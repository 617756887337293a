package mailboxtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func (s *Server) add(from *agent, to, subject, body, thread string, ack bool) *Mail {
	m := &Mail{
		ID: int64(len(s.mails) + 1), Project: from.project, From: from.name, To: to, Subject: subject[:min(200, len(subject))], Body: body, Thread: thread,
		Created: time.Now(), Ack: ack,
	}
	s.mails = append(s.mails, m)
	return m
}

func (s *Server) send(a args) (any, error) {
	if _, ok := a["body_md"]; !ok {
		return nil, refusal("1 validation error for call[send_message]\nbody_md\n  Missing required argument")
	}
	from, err := s.self(a, "sender_name", "sender_token")
	if err != nil {
		return nil, err
	}
	if t := a.text("thread_id"); t != "" && !thread.MatchString(t) {
		return nil, refusal(fmt.Sprintf("Invalid thread_id: '%s'. Thread IDs must start with an alphanumeric character", t))
	}
	list, _ := a["to"].([]any)
	deliveries := []any{}
	for _, one := range list {
		name, _ := one.(string)
		to := s.agents[key(from.project, name)]
		switch {
		case plain.MatchString(name) || role.MatchString(name):
			return nil, refusal(fmt.Sprintf("Invalid recipient '%s': '%[1]s' looks like a descriptive role name.", name))
		case to == nil:
			return nil, refusal(fmt.Sprintf("Unable to send message — local recipients %s are not registered in project '%s'; Use resource://agents", name, from.project))
		case to.retired:
			return nil, refusal(fmt.Sprintf("Agent '%s' is retired and no longer accepts new messages.", to.name))
		case to.policy != "open" && !s.contacts[key(from.project, from.name)+">"+to.name]:
			return nil, refusal(fmt.Sprintf("Contact approval required for recipients: %s. Before retrying, create a pending request", to.name))
		}
		m := s.add(from, to.name, a.text("subject"), a.text("body_md"), a.text("thread_id"), a["ack_required"] == true)
		deliveries = append(deliveries, map[string]any{"project": from.project, "payload": s.shown(m, true)})
	}
	return map[string]any{"deliveries": deliveries, "count": len(deliveries), "verified_sender": true}, nil
}

func (s *Server) shown(m *Mail, body bool) map[string]any {
	out := map[string]any{
		"id": m.ID, "subject": m.Subject, "importance": "normal", "ack_required": m.Ack, "created_ts": m.Created.UTC().Format("2006-01-02T15:04:05.999999+00:00"),
		"attachments": []any{}, "from": m.From, "kind": "to", "thread_id": nil,
	}
	if m.Thread != "" {
		out["thread_id"] = m.Thread
	}
	if body {
		out["body_md"] = m.Body
	}
	return out
}

func (s *Server) inbox(a args) (any, error) {
	one, err := s.self(a, "agent_name", "registration_token")
	if err != nil {
		return nil, err
	}
	limit := 20.0
	if n, ok := a["limit"].(float64); ok {
		limit = n
	}
	if limit < 1 {
		return nil, refusal(fmt.Sprintf("limit must be at least 1, got %g. Use a positive integer.", limit))
	}
	var since time.Time
	if text := a.text("since_ts"); text != "" {
		if since, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return nil, refusal(fmt.Sprintf("Invalid since_ts format: '%s'. Expected ISO-8601 format", text))
		}
	}
	list := []any{}
	for _, m := range slices.Backward(s.mails) {
		if m.Project == one.project && strings.EqualFold(m.To, one.name) && !m.Created.Before(since) && len(list) < int(limit) {
			m.Delivered = true
			list = append(list, s.shown(m, a["include_bodies"] == true))
		}
	}
	return list, nil
}

func (s *Server) acknowledge(a args) (any, error) {
	if _, err := s.self(a, "agent_name", "registration_token"); err != nil {
		return nil, err
	}
	id, _ := a["message_id"].(float64)
	s.acked[int64(id)] = true
	return map[string]any{"message_id": id, "acknowledged": true}, nil
}

func (s *Server) outbox(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := url.Parse(r.Params.URI)
	if err != nil {
		return nil, err
	}
	one := s.agents[key(u.Query().Get("project"), strings.Trim(u.Path, "/"))]
	if one == nil || u.Query().Get("agent_token") != one.token {
		return nil, fmt.Errorf("no such agent")
	}
	list := []any{}
	for _, m := range slices.Backward(s.mails) {
		if m.From == one.name {
			list = append(list, s.shown(m, true))
		}
	}
	text, err := json.Marshal(map[string]any{"messages": list})
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json", Text: string(text)}}}, err
}
