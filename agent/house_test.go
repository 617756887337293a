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
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

var (
	claude = exchange.Actor{ID: "claude-agent", Roles: exchange.Requester}
	person = exchange.Actor{ID: "teague", Roles: exchange.Requester | exchange.Operator}
)

// house is a real exchange and an agent with simulated devices, in a bubble of fake time.
type house struct {
	t     *testing.T
	x     *exchange.Exchange
	close func()

	dir     string // of the journal
	gate    *policy.Policy
	gateCfg policy.Config
	cfg     agent.Config
	words   words
	asked   func()         // called when the resolver reads a sentence; nil for none
	reads   agent.Resolver // the resolver; nil: words
	journal *journal.Journal
	agent   *agent.Agent // the running agent
	more    []device.Device
	lamp    *lamp
	fridge  *fridge
	vacuum  *vacuum
	line    *line // the connection of the agent and the exchange
	stop    func()
}

// pi returns the agent's actor at the exchange.
func (h *house) pi() exchange.Actor {
	return exchange.Actor{ID: h.cfg.ID, Roles: exchange.ExecutorRole}
}

// memo returns the record that an agent writes of its plan.
func memo(t *testing.T, plan capabilities.Plan, intent string) json.RawMessage {
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

// inHouse runs a test in a house with a running agent.
func inHouse(t *testing.T, story func(*house)) {
	t.Helper()
	inHouseWith(t, func(*house) {}, story)
}

// inHouseWith does the same after set has changed the house.
func inHouseWith(t *testing.T, set, story func(*house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{
			t: t, dir: t.TempDir(), gateCfg: policy.DefaultConfig(), cfg: agent.DefaultConfig(),
			words: words{}, lamp: &lamp{}, fridge: &fridge{}, vacuum: newVacuum(), stop: func() {},
		}
		h.cfg.ID, h.cfg.Fit = "home-pi", nil // the simulated images are words
		h.cfg.Signer = signer(t)
		h.openExchange(exchange.DefaultConfig())
		h.words.learn()
		set(h)
		h.startAgent()
		story(h)
		h.stopAgent()
		h.accounts()
		h.close()
	})
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (h *house) openExchange(cfg exchange.Config) {
	cfg.Confirm = exchange.ConfirmScript // the test acts as the person
	x, err := exchange.Open(h.t.Context(), cfg, memory.New(), time.Now, quiet())
	if err != nil {
		h.t.Fatal(err)
	}
	h.x = x
	h.line = &line{to: x.As(h.pi(), "test")}
	h.close = running(h.t, x.Run)
}

// running runs f until the test calls the returned function.
func running(t *testing.T, f func(context.Context) error) (stop func()) {
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
func (h *house) startAgent() {
	h.t.Helper()
	j, err := journal.Open(h.dir)
	if err != nil {
		h.t.Fatal(err)
	}
	h.journal = j
	h.gate = policy.New(h.gateCfg, time.Now, quiet())
	var reads agent.Resolver = understood{h.words, h.asked}
	if h.reads != nil {
		reads = h.reads
	}
	a := agent.New(h.cfg, h.line, reads, append([]device.Device{
		{Name: "porch-lamp", Label: "porch light", Driver: h.lamp},
		{Name: "fridge-cam", Label: "fridge", Driver: h.fridge},
		{Name: "vacuum", Driver: h.vacuum},
	}, h.more...), h.gate, j, time.Now, quiet())
	h.agent = a
	stop := running(h.t, a.Run)
	h.stop = func() {
		stop()
		if err := j.Close(); err != nil {
			h.t.Error(err)
		}
		h.stop = func() {}
	}
	synctest.Wait()
}

func (h *house) stopAgent() { h.stop() }

// after lets time pass.
func (h *house) after(d time.Duration) {
	time.Sleep(d) // fake time
	synctest.Wait()
}

// says posts a message that the exchange must accept, and returns the ref.
func (h *house) says(who exchange.Actor, text string) string {
	h.t.Helper()
	ref, err := h.try(who, text)
	if err != nil {
		h.t.Fatalf("%s says %s: %v", who.ID, text, err)
	}
	return ref
}

func (h *house) try(who exchange.Actor, text string) (string, error) {
	h.t.Helper()
	defer synctest.Wait()
	return h.post(who, text)
}

// post posts a message and does not wait for its result.
func (h *house) post(who exchange.Actor, text string) (string, error) {
	h.t.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		h.t.Fatalf("%s: %v", text, err)
	}
	answer, err := h.x.Post(h.t.Context(), exchange.Inbound{Actor: who, Channel: "test", Message: m})
	if err != nil {
		return "", err
	}
	return messeaf.ThreadRef(answer.Items[0].(*mess.Ack).Ref), nil
}

func (h *house) thread(ref string) exchange.Thread {
	h.t.Helper()
	t, err := h.x.Thread(h.t.Context(), person, ref)
	if err != nil {
		h.t.Fatal(err)
	}
	return t
}

// ends posts a request and checks its status a minute later, with evidence and effect.
func (h *house) ends(request string, code mess.Code, evidence mess.Evidence, want mess.Effect) (ref string) {
	h.t.Helper()
	ref = h.says(claude, request)
	h.after(time.Minute)
	s := h.is(ref, code)
	effect := mess.Effect("")
	if s.Reason != nil {
		effect = s.Reason.Effect
	}
	if s.Evidence != evidence || effect != want {
		h.t.Errorf("evidence %q, effect %q (%+v); want %q, %q", s.Evidence, effect, s.Reason, evidence, want)
	}
	return ref
}

// is checks the status of a thread and returns its last status message.
func (h *house) is(ref string, want mess.Code) mess.Status {
	h.t.Helper()
	last, _ := h.last(ref)
	if got := h.thread(ref).Status; got != want {
		h.t.Fatalf("%s is %s, want %s; last: %+v %+v", ref, got, want, last, last.Reason)
	}
	return last
}

// last returns the last status and the last response of a thread.
func (h *house) last(ref string) (s mess.Status, r mess.Response) {
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

// answers checks that the last response contains all words.
func (h *house) answers(ref string, words ...string) mess.Response {
	h.t.Helper()
	_, r := h.last(ref)
	var said []string
	for _, e := range r.Content {
		if text, ok := e.Text(); ok {
			said = append(said, text)
		}
	}
	all := strings.Join(append(said, r.Notes), " ")
	for _, w := range words {
		if !strings.Contains(all, w) {
			h.t.Errorf("%s answers %q, want %q in it", ref, all, w)
		}
	}
	return r
}

// codes returns the statuses of a thread in their order.
func (h *house) codes(ref string) string {
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

// picture reads the attachment of a thread.
func (h *house) picture(ref string) (string, exchange.Attachment) {
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
