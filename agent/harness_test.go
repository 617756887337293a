package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

var (
	requester = exchange.Actor{ID: "claude-agent", Roles: exchange.Requester}
	person    = exchange.Actor{ID: "teague", Roles: exchange.Requester | exchange.Operator}
)

// harness is a real exchange and an agent with simulated devices, in a bubble of fake time.
type harness struct {
	t     *testing.T
	x     *exchange.Exchange
	close func()

	dir        string // of the journal
	policy     *policy.Policy
	policyCfg  settings.Config
	cfg        agent.Config
	sentences  sentences
	asked      func()         // called when the resolver reads a sentence; nil for none
	reads      agent.Resolver // the resolver; nil: words
	journal    *journal.Journal
	agent      *agent.Agent // the running agent
	more       []device.Device
	lamp       *lamp
	fridge     *fridge
	vacuum     *vacuum
	connection *connection // the connection of the agent and the exchange
	stop       func()
}

// actor returns the agent's actor at the exchange.
func (h *harness) actor() exchange.Actor {
	return exchange.Actor{ID: h.cfg.ID, Roles: exchange.ExecutorRole}
}

// recoveryRecord returns the record that an agent writes of its plan.
func recoveryRecord(t *testing.T, plan capabilities.Plan, intent string) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(struct {
		Plan    capabilities.Plan `json:"plan"`
		Request mess.Request      `json:"request"`
	}{plan, mess.Request{Intent: intent}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// withHarness runs a test in a harness with a running agent.
func withHarness(t *testing.T, test func(*harness)) {
	t.Helper()
	withHarnessSetup(t, func(*harness) {}, test)
}

// withHarnessSetup does the same after set has changed the harness.
func withHarnessSetup(t *testing.T, set, test func(*harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &harness{
			t: t, dir: t.TempDir(), policyCfg: settings.DefaultConfig(), cfg: agent.DefaultConfig(),
			sentences: sentences{}, lamp: &lamp{}, fridge: &fridge{}, vacuum: newVacuum(), stop: func() {},
		}
		h.cfg.ID, h.cfg.Fit = "home-pi", nil // the simulated images are words
		h.cfg.Signer = testSigner(t)
		h.openExchange(exchange.DefaultConfig())
		h.sentences.addDefaults()
		set(h)
		h.startAgent()
		test(h)
		h.stopAgent()
		h.checkTerminalStatuses()
		h.close()
	})
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (h *harness) openExchange(cfg exchange.Config) {
	cfg.Confirm = exchange.ConfirmScript // the test acts as the person
	x, err := exchange.Open(h.t.Context(), cfg, memory.New(), time.Now, quiet())
	if err != nil {
		h.t.Fatal(err)
	}
	h.x = x
	h.connection = &connection{to: x.As(h.actor(), "test")}
	h.close = runUntilStopped(h.t, x.Run)
}

// runUntilStopped runs f until the test calls the returned function.
func runUntilStopped(t *testing.T, f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// startAgent starts the agent as after a boot: it only knows its journal.
func (h *harness) startAgent() {
	h.t.Helper()
	j, err := journal.Open(h.dir)
	if err != nil {
		h.t.Fatal(err)
	}
	h.journal = j
	h.policy = policy.New(h.policyCfg, time.Now, quiet())
	var reads agent.Resolver = resolverFunc{h.sentences, h.asked}
	if h.reads != nil {
		reads = h.reads
	}
	a := agent.New(h.cfg, h.connection, reads, append([]device.Device{
		{Name: "porch-lamp", Label: "porch light", Driver: h.lamp},
		{Name: "fridge-cam", Label: "fridge", Driver: h.fridge},
		{Name: "vacuum", Driver: h.vacuum},
	}, h.more...), h.policy, j, time.Now, quiet())
	h.agent = a
	stop := runUntilStopped(h.t, a.Run)
	h.stop = func() {
		stop()
		if err := j.Close(); err != nil {
			h.t.Error(err)
		}
		h.stop = func() {}
	}
	synctest.Wait()
}

func (h *harness) stopAgent() { h.stop() }

// advance lets time pass.
func (h *harness) advance(d time.Duration) {
	time.Sleep(d) // fake time
	synctest.Wait()
}

// send posts a message that the exchange must accept, and returns the ref.
func (h *harness) send(actor exchange.Actor, text string) string {
	h.t.Helper()
	ref, err := h.post(actor, text)
	if err != nil {
		h.t.Fatalf("post by %s of %s: %v", actor.ID, text, err)
	}
	return ref
}

func (h *harness) post(actor exchange.Actor, text string) (string, error) {
	h.t.Helper()
	defer synctest.Wait()
	return h.postWithoutWait(actor, text)
}

// postWithoutWait posts a message and does not wait for its result.
func (h *harness) postWithoutWait(actor exchange.Actor, text string) (string, error) {
	h.t.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		h.t.Fatalf("%s: %v", text, err)
	}
	answer, err := h.x.Post(h.t.Context(), exchange.Inbound{Actor: actor, Channel: "test", Message: m})
	if err != nil {
		return "", err
	}
	return messeaf.ThreadRef(answer.Items[0].(*mess.Ack).Ref), nil
}

func (h *harness) thread(ref string) exchange.Thread {
	h.t.Helper()
	t, err := h.x.Thread(h.t.Context(), person, ref)
	if err != nil {
		h.t.Fatal(err)
	}
	return t
}

// wantResult posts a request and checks its status a minute later, with evidence and effect.
func (h *harness) wantResult(request string, code mess.Code, evidence mess.Evidence, want mess.Effect) (ref string) {
	h.t.Helper()
	ref = h.send(requester, request)
	h.advance(time.Minute)
	s := h.wantStatus(ref, code)
	effect := mess.Effect("")
	if s.Reason != nil {
		effect = s.Reason.Effect
	}
	if s.Evidence != evidence || effect != want {
		h.t.Errorf("evidence %q, effect %q (%+v); want %q, %q", s.Evidence, effect, s.Reason, evidence, want)
	}
	return ref
}

// wantStatus checks the status of a thread and returns its last status message.
func (h *harness) wantStatus(ref string, want mess.Code) mess.Status {
	h.t.Helper()
	last, _ := h.last(ref)
	if got := h.thread(ref).Status; got != want {
		h.t.Fatalf("%s is %s, want %s; last: %+v %+v", ref, got, want, last, last.Reason)
	}
	return last
}

// last returns the last status and the last response of a thread.
func (h *harness) last(ref string) (s mess.Status, r mess.Response) {
	h.t.Helper()
	for _, m := range h.thread(ref).Messages {
		for _, item := range m.Items {
			switch i := item.(type) {
			case *mess.Status:
				s = *i
			case *mess.Response:
				r = *i
			}
		}
	}
	return s, r
}

// wantAnswer checks that the last response contains all words.
func (h *harness) wantAnswer(ref string, fragments ...string) mess.Response {
	h.t.Helper()
	_, r := h.last(ref)
	var codes []string
	for _, e := range r.Content {
		if text, ok := e.Text(); ok {
			codes = append(codes, text)
		}
	}
	all := strings.Join(append(codes, r.Notes), " ")
	for _, w := range fragments {
		if !strings.Contains(all, w) {
			h.t.Errorf("%s answers %q, want %q in it", ref, all, w)
		}
	}
	return r
}

// statuses returns the statuses of a thread in their order.
func (h *harness) statuses(ref string) string {
	h.t.Helper()
	var codes []string
	for _, m := range h.thread(ref).Messages {
		for _, item := range m.Items {
			if s, ok := item.(*mess.Status); ok {
				codes = append(codes, string(s.Code))
			}
		}
	}
	return strings.Join(codes, " ")
}

// image reads the attachment of a thread.
func (h *harness) image(ref string) (string, exchange.Attachment) {
	h.t.Helper()
	list := h.thread(ref).Attachments()
	if len(list) != 1 {
		h.t.Fatalf("%s has %d attachments, want one", ref, len(list))
	}
	r, a, err := h.x.Attachment(h.t.Context(), person, ref, list[0].Name)
	if err != nil {
		h.t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		h.t.Fatal(err)
	}
	return string(data), a
}
