// Package mailbox is the mailbox of one agent at an MCP Agent Mail server: its identity there, the
// mail for it, and the mail that it sends. It does not read the mails.
package mailbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/messkit/messkit/internal/cleantext"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/internal/secret"
)

// Config configures a mailbox.
type Config struct {
	URL         string      // address of the server, with its path: http://127.0.0.1:8765/mcp/
	Bearer      secret.Text // token of the server; "" for none
	Project     string      // absolute path that names the project
	Name        string      // name of the agent
	Description string      // abilities of the agent, for other agents
	Version     string      // version of this program
	Contacts    []string    // agents that may write to it
	Timeout     time.Duration
}

// Mailbox is a mailbox. Only one goroutine may use it at a time.
type Mailbox struct {
	cfg    Config
	client *sdk.Client
	http   *http.Client
	access *bearer

	mu      sync.Mutex
	session *sdk.ClientSession // nil: not connected

	name  string // name that the server has given
	token secret.Text
}

// New makes a mailbox. It does not connect.
func New(cfg Config) *Mailbox {
	b := &bearer{token: cfg.Bearer, next: http.DefaultTransport}
	return &Mailbox{
		cfg: cfg, access: b, http: &http.Client{Transport: b, Timeout: cfg.Timeout}, name: cfg.Name,
		client: sdk.NewClient(&sdk.Implementation{Name: "messkit", Version: cfg.Version}, &sdk.ClientOptions{Logger: slog.New(slog.DiscardHandler)}),
	}
}

// CheckURL returns an error if a text is no address of a server.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return fmt.Errorf("%q is not the address of a mail server; write one like http://127.0.0.1:8765/mcp/", text)
	}
	return nil
}

// endpoint returns the address with a slash at its end. Without it the server frames its second
// answer wrong.
func (c Config) endpoint() string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return c.URL
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/mcp/"
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	return u.String()
}

// bearer adds the token of the server to every request, and records a rejection.
type bearer struct {
	token secret.Text
	next  http.RoundTripper

	mu     sync.Mutex
	denied int // status code of the last rejection, 0 for none
}

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+string(b.token))
	}
	res, err := b.next.RoundTrip(r)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.denied = 0
	if err == nil && (res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden) {
		b.denied = res.StatusCode
	}
	return res, err
}

func (b *bearer) no() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.denied
}

// connect returns the session, and connects if there is none.
func (b *Mailbox) connect(ctx context.Context) (*sdk.ClientSession, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.session != nil {
		return b.session, nil
	}
	s, err := b.client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: b.cfg.endpoint(), HTTPClient: b.http, DisableStandaloneSSE: true, MaxRetries: -1}, nil)
	if err != nil {
		return nil, b.broken(err)
	}
	b.session = s
	return s, nil
}

// Close closes the connection.
func (b *Mailbox) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.session != nil {
		_ = b.session.Close() // the server keeps no state for it
		b.session = nil
	}
}

// broken returns the error for a failure of the transport.
func (b *Mailbox) broken(err error) error {
	if b.access.no() != 0 {
		return fmt.Errorf("%w (%d)", ErrDenied, b.access.no())
	}
	return fmt.Errorf("mail server: %w", err)
}

// call calls a tool and decodes the result into out, unless out is nil.
func (b *Mailbox) call(ctx context.Context, tool string, args map[string]any, out any) error {
	s, err := b.connect(ctx)
	if err != nil {
		return err
	}
	res, err := s.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		b.Close()
		return b.broken(err)
	}
	if res.IsError {
		return &ToolError{tool, strings.TrimPrefix(textOf(res), "Error calling tool '"+tool+"': ")}
	}
	if out == nil {
		return nil
	}
	data, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		return &ToolError{tool, "its answer is not as expected: " + err.Error()}
	}
	return nil
}

func textOf(res *sdk.CallToolResult) string {
	var all []string
	for _, c := range res.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, "\n")
}

// Identity is the identity of the agent at the server.
type Identity struct {
	Name  string // given by the server
	Token secret.Text
}

// Enter registers the agent, or renews the registration that belongs to the token, and allows its
// contacts to write to it. The caller repeats it, so that the server does not retire the agent.
func (b *Mailbox) Enter(ctx context.Context, was Identity) (Identity, error) {
	if err := b.call(ctx, "health_check", map[string]any{}, nil); err != nil {
		return was, err
	}
	if err := b.call(ctx, "ensure_project", map[string]any{"human_key": b.cfg.Project}, nil); err != nil {
		return was, err
	}
	args := map[string]any{
		"project_key": b.cfg.Project, "program": "messkit", "model": "executor", "name": b.cfg.Name, "task_description": b.cfg.Description,
	}
	if was.Token != "" {
		args["name"], args["registration_token"] = was.Name, string(was.Token)
	}
	var got struct {
		Name    string `json:"name"`
		Token   string `json:"registration_token"`
		Retired string `json:"retired_at"`
	}
	if err := b.call(ctx, "register_agent", args, &got); err != nil {
		return was, err
	}
	id := Identity{got.Name, cmp.Or(secret.Text(got.Token), was.Token)}
	b.name, b.token = id.Name, id.Token
	if got.Retired != "" {
		if err := b.call(ctx, "unretire_agent", b.self(), nil); err != nil {
			return id, err
		}
	}
	return id, b.admit(ctx)
}

// admit allows the contacts to write to the agent. A contact that is not registered yet is
// admitted when it sends a contact request, or at the next Enter.
func (b *Mailbox) admit(ctx context.Context) error {
	policy := b.self()
	policy["policy"] = "contacts_only"
	if err := b.call(ctx, "set_contact_policy", policy, nil); err != nil {
		return err
	}
	for _, from := range b.cfg.Contacts {
		if err := b.Admit(ctx, from); err != nil && !errors.Is(err, ErrNoAgent) {
			return err
		}
	}
	return nil
}

// Admit allows an agent to write to this one.
func (b *Mailbox) Admit(ctx context.Context, from string) error {
	return b.call(ctx, "respond_contact", map[string]any{
		"project_key": b.cfg.Project, "to_agent": b.name, "from_agent": from, "accept": true, "registration_token": string(b.token),
	}, nil)
}

// self returns the arguments that name the agent.
func (b *Mailbox) self() map[string]any {
	return map[string]any{"project_key": b.cfg.Project, "agent_name": b.name, "registration_token": string(b.token)}
}

// Mail is a received mail.
type Mail struct {
	ID      int64     `json:"id"`
	From    string    `json:"from"`
	Subject string    `json:"subject"`
	Thread  string    `json:"thread_id"`
	Body    string    `json:"body_md"`
	Created time.Time `json:"created_ts"`
	Ack     bool      `json:"ack_required"`
}

const (
	firstPage = 200
	lastPage  = 1000 // the server's limit
)

// Fetch returns the mails since a time, the oldest first. An earlier call may have returned some
// of them.
func (b *Mailbox) Fetch(ctx context.Context, since time.Time) ([]Mail, error) {
	for limit := firstPage; ; limit = lastPage {
		args := b.self()
		args["include_bodies"], args["limit"] = true, limit
		if !since.IsZero() {
			args["since_ts"] = since.UTC().Format(time.RFC3339Nano)
		}
		var got struct {
			Result []Mail `json:"result"`
		}
		if err := b.call(ctx, "fetch_inbox", args, &got); err != nil {
			return nil, err
		}
		if len(got.Result) == limit && limit < lastPage {
			continue
		}
		order.By(got.Result, func(x, y Mail) int { return int(x.ID - y.ID) })
		return got.Result, nil
	}
}

// Acknowledge acknowledges a mail. It is idempotent.
func (b *Mailbox) Acknowledge(ctx context.Context, id int64) error {
	args := b.self()
	args["message_id"] = id
	return b.call(ctx, "acknowledge_message", args, nil)
}

// ThreadID returns a thread name that the server accepts, "" for none.
func ThreadID(task string) string {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, task)
	slug = strings.TrimLeft(slug, "._-")
	return slug[:min(len(slug), maxThread)]
}

const maxThread = 128

// maxSubject is the length at which the server cuts a subject, in bytes.
const maxSubject = 200

// Subject makes a subject of a text.
func Subject(text string) string {
	text = strings.Join(strings.Fields(cleantext.Line(text)), " ")
	return strings.ToValidUTF8(text[:min(len(text), maxSubject)], "")
}

// Private reports whether a connection to an address is encrypted or stays on this machine.
func Private(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
