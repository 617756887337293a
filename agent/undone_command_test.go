package agent_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpdevice"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
)

// A lamp that did not acknowledge a command may act late, even if it reads back unchanged: the
// thread ends, and the exchange offers it to no one. If the command did not reach the lamp at
// all, the exchange offers the thread again.
func TestOnlyUndoneCommandIsOfferedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		effect mess.Effect
		again  bool
	}{
		"it may act yet": {errors.New("no answer"), mess.EffectUnknown, false},
		"nothing done":   {drivers.MarkNothingDone(errors.New("no answer")), mess.EffectNone, true},
	} {
		t.Run(name, func(t *testing.T) {
			withHarnessSetup(t, func(h *harness) { h.lamp.broken = c.err }, func(h *harness) {
				ana := exchange.Actor{ID: "ana", Roles: exchange.Requester | exchange.ExecutorRole}
				h.send(ana, "config: {executor: {id: ana, kind: person, capabilities: [walk]}}")
				ref := h.send(requester, "request: {intent: turn on the porch light}")
				h.advance(time.Second)
				s := h.wantStatus(ref, mess.Failed)
				if again := strings.Count(h.statuses(ref), "in_progress") > 1; again != c.again || s.Reason.Effect != c.effect {
					t.Errorf("%s: %+v, want effect %s, begun again: %t", h.statuses(ref), s.Reason, c.effect, c.again)
				}
				if did := h.lamp.acts(); !c.again && did != "on" {
					t.Errorf("the lamp did %q", did)
				}
			})
		})
	}
}

// httpPlug is an HTTP device that takes a command, does not answer, and acts on a signal.
type httpPlug struct {
	*httptest.Server
	let   chan struct{}
	obeys sync.WaitGroup

	mu     sync.Mutex
	on     bool
	orders int
}

func newHTTPPlug() *httpPlug {
	p := &httpPlug{let: make(chan struct{})}
	p.Server = httptest.NewServer(p)
	return p
}

func (p *httpPlug) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.on
	if r.URL.Path == "/rpc/Switch.Set" {
		var order struct{ On bool }
		if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		p.orders++
		if p.orders == 1 {
			p.obeys.Go(func() {
				<-p.let
				p.mu.Lock()
				defer p.mu.Unlock()
				p.on = order.On
			})
			panic(http.ErrAbortHandler) // the connection breaks
		}
		p.on = order.On
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"output": p.on, "was_on": was}) // a client that hung up has its error
}

func (p *httpPlug) state() (on bool, orders int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.on, p.orders
}

// Over a real network, the device has the command, the connection breaks, the device reads back
// as off, and it goes on later. No report claims an effect of none, and no executor repeats the
// command.
func TestLateActOfHTTPDevice(t *testing.T) {
	t.Parallel()
	p := newHTTPPlug()
	t.Cleanup(p.Close)
	cfg := httpdevice.DefaultConfig()
	if err := strictyaml.Decode("home.yaml", []byte("family: shelly-gen2\nsafe: keep\ntimeout: 1m\nurl: "+p.URL), &cfg); err != nil {
		t.Fatal(err)
	}
	d, err := httpdevice.New("desk-lamp", cfg, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	x, err := exchange.Open(t.Context(), exchange.DefaultConfig(), memory.New(), time.Now, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer runUntilStopped(t, x.Run)()
	j, err := journal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}()
	plan := step("desk-lamp", true)
	acfg := agent.DefaultConfig()
	acfg.ID = "home-pi"
	a := agent.New(acfg, x.As(exchange.Actor{ID: "home-pi", Roles: exchange.ExecutorRole}, "test"),
		resolverFunc{sentences: sentences{"desk lamp on": {Plan: &plan}}}, []device.Device{{Name: "desk-lamp", Driver: d}},
		policy.New(settings.DefaultConfig(), time.Now, quiet()), j, time.Now, quiet())
	defer runUntilStopped(t, a.Run)()
	post := func(actor exchange.Actor, text string) string {
		t.Helper()
		m, err := mess.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := x.Post(t.Context(), exchange.Inbound{Actor: actor, Channel: "test", Message: m})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Items[0].(*mess.Ack).Ref
	}
	ana := exchange.Actor{ID: "ana", Roles: exchange.Requester | exchange.ExecutorRole}
	post(ana, "config: {executor: {id: ana, kind: person, capabilities: [walk]}}")
	ref := post(requester, "request: {intent: desk lamp on}")
	var now exchange.Thread
	for deadline := time.Now().Add(5 * time.Minute); !now.Status.Terminal(); time.Sleep(10 * time.Millisecond) {
		if now, err = x.Thread(t.Context(), person, ref); err != nil || time.Now().After(deadline) {
			t.Fatalf("%s, %v", now.Status, err)
		}
	}
	var last mess.Status
	for _, m := range now.Messages {
		for _, item := range m.Items {
			if s, ok := item.(*mess.Status); ok {
				last = *s
			}
		}
	}
	if now.Status != mess.Failed || last.Reason == nil || last.Reason.Effect != mess.EffectUnknown || !strings.Contains(last.Reason.Detail, "it read back as off just now, and may still act") {
		t.Errorf("%s, %+v", now.Status, last.Reason)
	}
	close(p.let)
	p.obeys.Wait()
	if on, orders := p.state(); !on || orders != 1 || x.HasOffer(ref, "ana") {
		t.Errorf("on=%t after %d orders, offered to a person: %t", on, orders, x.HasOffer(ref, "ana"))
	}
	seen := false
	for deadline := time.Now().Add(time.Minute); !seen && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if now, err = x.Thread(t.Context(), person, ref); err != nil {
			t.Fatal(err)
		}
		for _, m := range now.Messages {
			for _, item := range m.Items {
				s, ok := item.(*mess.Status)
				seen = seen || ok && s.Reason != nil && s.Reason.Type == "late_act" && strings.Contains(s.Reason.Detail, "desk-lamp reads back as on")
			}
		}
	}
	if !seen || now.Status != mess.Failed {
		t.Errorf("%s; the late act is in the thread: %t", now.Status, seen)
	}
}

// A device that goes on again during its time goes off at the end of its first time, and the
// answer says so.
func TestAnswerStatesRemainingTime(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.policyCfg.Devices = map[string]settings.Limits{"porch-lamp": {MaxOn: 10 * time.Second}}
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: turn on the porch light}")
		h.wantAnswer(ref, "it is switched off again in 10s, at ")
		h.advance(6 * time.Second)
		h.wantAnswer(h.send(requester, "request: {intent: turn on the porch light}"), "it is switched off again in 4s, at ")
		h.advance(5 * time.Second)
		if did := h.lamp.acts(); did != "on, on, off" {
			t.Errorf("acts are %s, want on, on, off", did)
		}
	})
}
