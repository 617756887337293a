package agentmail_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailbox"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailboxtest"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/internal/test/scenario"
	"github.com/messkit/messkit/mess"
)

const (
	project = "/house"
	boss    = "Orchestrator-1"
)

var kitchen = scenario.Kitchen

// fixture is an exchange with an executor and the adapter under test, at a mail server.
type fixture struct {
	*scenario.Executor
	x       *exchange.Exchange
	mail    *mailboxtest.Server // nil for another server, or none
	at      mailbox.Config      // mail server; without URL there is none
	adapter *agentmail.Adapter
	cfg     agentmail.Config
	dir     string
	name    string
	ctx     context.Context // time limit of the test
	end     func()          // stops the adapter
}

// newFixture returns a fixture with an executor, and an adapter with a name at the server.
func newFixture(t testing.TB, mail *mailboxtest.Server, name string, cfg agentmail.Config) *fixture {
	t.Helper()
	return bare(t, mail, name, cfg).lived()
}

// lived adds an executor to a fixture, and opens its adapter.
func (h *fixture) lived() *fixture {
	h.Helper()
	h.Register()
	h.run(h.Run)
	h.open()
	return h
}

// bare returns a fixture without an executor, whose adapter is not open.
func bare(t testing.TB, mail *mailboxtest.Server, name string, cfg agentmail.Config) *fixture {
	t.Helper()
	return bareOn(t, memory.New(), mail, name, cfg)
}

// bareOn is bare with a store of the test.
func bareOn(t testing.TB, store exchange.Store, mail *mailboxtest.Server, name string, cfg agentmail.Config) *fixture {
	t.Helper()
	x, err := exchange.Open(t.Context(), exchange.DefaultConfig(), store, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	cfg.Poll, cfg.MaxZone = time.Second, time.Hour
	var at mailbox.Config
	if mail != nil {
		at = mailbox.Config{URL: mail.URL, Bearer: "let-me-in", Project: project}
	}
	h := &fixture{Executor: scenario.NewExecutor(t, x), x: x, mail: mail, at: at, cfg: cfg, dir: t.TempDir(), name: name, ctx: ctx}
	h.React = h.react
	h.run(func(ctx context.Context) { _ = x.Run(ctx) })
	return h
}

// run calls do in the background until the test ends.
func (h *fixture) run(do func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var g sync.WaitGroup
	g.Go(func() { do(ctx) })
	stop = func() { cancel(); g.Wait() }
	h.Cleanup(stop)
	return stop
}

// open opens the adapter as a new run of the program does.
func (h *fixture) open() {
	h.Helper()
	var box agentmail.Mailbox
	if at := h.at; at.URL != "" {
		h.cfg.Name, h.cfg.Project, h.cfg.Server = h.name, at.Project, at.URL
		at.Name, at.Contacts, at.Timeout = h.name, h.cfg.Contacts(), time.Minute
		box = mailbox.New(at)
	}
	d, err := agentmail.Open(h.ctx, h.x, h.cfg, box, h.dir, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		h.Fatal(err)
	}
	h.adapter = d
	h.end = h.run(func(ctx context.Context) {
		if err := d.Run(ctx); err != nil {
			h.Errorf("the adapter: %v", err)
		}
	})
}

// react is the executor: the intent of the request selects its reaction.
func (h *fixture) react(ctx context.Context, ref string, item mess.Item) {
	switch i := item.(type) {
	case *mess.Request:
		h.SendTo(ref, `[{status: {code: claimed, estimate: 5s}}]`)
		switch i.Intent {
		case "photo":
			h.photo(ctx, ref)
			h.RecordAct(i.Intent)
		case "ask":
			h.SendTo(ref, `[{status: {code: needs_input, questions: [{field: area, question: "where?", options: [sink, stove]}]}}]`)
		case "confirm":
			h.SendTo(ref, `[{status: {code: needs_confirmation, action: open the valve, action_hash: abc, reversible: true, confirm_within: PT5M}}]`)
		case "late":
			h.SendTo(ref, `[{status: {code: needs_confirmation, action: open the valve, action_hash: abc, confirm_within: PT0.001S}}]`)
		case "operator":
			h.SendTo(ref, `[{status: {code: needs_confirmation, action: open the door, action_hash: abc, confirm_by: operator}}]`)
		case "wait":
			h.SendTo(ref, `[{status: {code: in_progress, message: begun}}]`)
		case "fail":
			h.SendTo(ref, `[{status: {code: failed, reason: {type: jam, detail: the brush is stuck, effect: partial}, recoverable: true, suggestion: free the brush}}]`)
		}
	case *mess.Reply:
		if i.Confirm != nil && !*i.Confirm {
			h.SendTo(ref, `[{status: {code: cancelled}}]`)
			return
		}
		h.SendTo(ref, `[{status: {code: in_progress, action_hash: abc}}]`)
		h.RecordAct(fmt.Sprint("after reply ", i.Answers))
		h.SendTo(ref, `[{status: {code: completed, evidence: acknowledged}}, {response: {content: [done]}}]`)
	case *mess.Cancel:
		h.SendTo(ref, `[{status: {code: cancelled, reason: {detail: it was stopped, effect: partial}}}]`)
	}
}

func (h *fixture) photo(ctx context.Context, ref string) {
	h.SendTo(ref, `[{status: {code: in_progress, progress_pct: 40, message: looking}}]`)
	h.Photo(ctx, ref, picture(), "2026-11-21T09:44:50Z")
}

var picture = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 320, 240)), nil); err != nil {
		panic(err)
	}
	return b.Bytes()
})

// server returns a mail server with the agent that assigns tasks.
func server(t testing.TB) *mailboxtest.Server {
	s := mailboxtest.New("let-me-in")
	t.Cleanup(s.Close)
	s.Join(project, boss)
	return s
}

// assignment returns a task in JSON.
func assignment(id, task, intent string, more ...string) string {
	return fmt.Sprintf(`{"version":"1.0.0","timestamp":"2026-11-22T00:00:00Z","sender_id":"%s","message_id":"%s","type":"task_assignment","task_id":"%s","description":"%s",
"specification":{"acceptance_criteria":[]},"file_patterns":[],"priority":"normal","priority_value":2%s}`, boss, id, task, intent, strings.Join(more, ""))
}

// agentMessage is a message that an agent got.
type agentMessage struct {
	mailboxtest.Mail
	format.Message
}

// waitForMails waits until the messages of an agent are ready, and returns them.
func (h *fixture) waitForMails(who string, ready func([]agentMessage) bool) []agentMessage {
	h.Helper()
	var all []agentMessage
	_, ok := h.mail.Until(h.ctx, who, func(mails []mailboxtest.Mail) bool {
		all = nil
		for _, m := range mails {
			msg, err := format.Parse(m.Body, format.Mail{From: m.From, Subject: m.Subject}, format.Strict)
			if err != nil {
				h.Errorf("%s got %q: %v", who, m.Body, err)
				continue
			}
			all = append(all, agentMessage{m, msg})
		}
		return ready(all)
	})
	if !ok {
		for _, one := range all {
			h.Logf("%s %s", one.Message.Type, one.Mail.Body)
		}
		status, _ := json.Marshal(h.adapter.Status())
		h.Fatalf("%s has not got what it should have; the adapter: %s", who, status)
	}
	return all
}

// until waits for a message of some type about a task.
func (h *fixture) until(who, task string, kind format.Type) agentMessage {
	h.Helper()
	var found agentMessage
	h.waitForMails(who, func(all []agentMessage) bool {
		for _, one := range all {
			if one.Type == kind && format.TaskOf(one.Message.Body) == task {
				found = one
				return true
			}
		}
		return false
	})
	return found
}

// assign sends a mail of the boss.
func (h *fixture) assign(thread, body string) *mailboxtest.Mail {
	return h.mail.Post(project, boss, h.name, "task", thread, body)
}

func body[B format.Body](t testing.TB, s agentMessage) B {
	t.Helper()
	b, ok := s.Message.Body.(B)
	if !ok {
		t.Fatalf("body is a %T", s.Message.Body)
	}
	return b
}

var operator = exchange.Actor{ID: "operator", Roles: exchange.Operator | exchange.Observer | exchange.Requester}

// ref returns the thread of a message.
func (s agentMessage) ref() string {
	ref, _, _ := strings.Cut(format.RefOf(s.Message.Body), "/")
	return ref
}
