package mcp_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/messkit/messkit/exchange/channel/mcp"
	"github.com/messkit/messkit/mess"
)

// A wait sends progress notifications, and ends before the timeout of clients.
func TestWaitHasHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		g := h.overStdio(model)
		p := &sdk.CallToolParams{Name: "mess_wait", Arguments: map[string]any{"ref": g.request("hang")}}
		p.SetProgressToken("x")
		began := time.Now()
		res, err := g.CallTool(t.Context(), p)
		if took := time.Since(began); err != nil || res.IsError || took < 49*time.Second || took > 55*time.Second {
			t.Errorf("%v %v, after %v", res, err, took)
		}
		synctest.Wait()
		g.mu.Lock()
		defer g.mu.Unlock()
		still := 0
		for _, s := range g.steps {
			if s.Message == "still claimed" {
				still++
			}
		}
		if still != 3 {
			t.Errorf("%d heartbeats, want 3", still)
		}
	})
}

// flakyExchange is an exchange that fails one call on demand.
type flakyExchange struct {
	mcp.Exchange
	fail atomic.Bool
	gone chan struct{}
}

func (f *flakyExchange) Thread(ctx context.Context, ref string) (mcp.Thread, error) {
	if f.fail.CompareAndSwap(true, false) {
		close(f.gone)
		return mcp.Thread{}, mess.Errorf(mess.Unavailable, "cannot be reached")
	}
	return f.Exchange.Thread(ctx, ref)
}

// An exchange that is away for a moment does not end a wait.
func TestWaitOutlastsOutage(t *testing.T) {
	h := newHarness(t)
	x := &flakyExchange{Exchange: mcp.LocalExchange(h.x, model), gone: make(chan struct{})}
	g := h.connectTo(x)
	ref := g.request("hang")
	p := &sdk.CallToolParams{Name: "mess_wait", Arguments: map[string]any{"ref": ref}}
	p.SetProgressToken("x")
	done := make(chan *sdk.CallToolResult, 1)
	go func() {
		res, _ := g.CallTool(t.Context(), p)
		done <- res
	}()
	g.waitUntil(func() bool { return len(g.steps) > 0 })
	x.fail.Store(true)
	h.sendToThread(ref, `[{status: {code: in_progress}}]`)
	<-x.gone
	h.sendToThread(ref, `[{status: {code: completed}}, {response: {content: [done]}}]`)
	if res := <-done; res == nil || res.IsError || res.StructuredContent.(map[string]any)["status"] != "completed" {
		t.Errorf("%+v", res)
	}
}

// A wait returns a question once in a session. The next wait lasts until a change or its timeout,
// so that a model does not call in a loop.
func TestWaitDoesNotRepeatSeenQuestion(t *testing.T) {
	for _, c := range []struct {
		intent string
		status mess.Code
	}{{"operator", mess.NeedsConfirmation}, {"confirm", mess.NeedsConfirmation}, {"ask", mess.NeedsInput}} {
		t.Run(c.intent, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t)
				g := h.overStdio(model)
				ref := g.request(c.intent)
				began := time.Now()
				if o := g.waitForEnd(ref, c.status); o.v["timed_out"] != nil || o.v["needs"] == nil || time.Since(began) > time.Second {
					t.Errorf("the first wait does not show the question: %s", o.text)
				}
				for range 2 {
					began = time.Now()
					o := g.mustCall("mess_wait", map[string]any{"ref": ref, "timeout_seconds": 20})
					if took := time.Since(began); o.v["timed_out"] != true || o.v["needs"] == nil || took < 20*time.Second {
						t.Errorf("a wait for a question that was seen took %v: %s", took, o.text)
					}
				}
				other := h.overStdio(model)
				if o := other.waitForEnd(ref, c.status); o.v["timed_out"] != nil {
					t.Errorf("another session does not see the question: %s", o.text)
				}
				done := make(chan outcome)
				go func() { done <- g.mustCall("mess_wait", map[string]any{"ref": ref, "timeout_seconds": 600}) }()
				synctest.Wait()
				began = time.Now()
				h.sendToThread(ref, `[{status: {code: declined, reason: {type: unsafe, detail: nobody decided}}}]`)
				if o := <-done; o.field("status") != "declined" || time.Since(began) > time.Second {
					t.Errorf("the end of the request did not end the wait: %s", o.text)
				}
			})
		})
	}
}

// After half an answer the other half is a question that is new.
func TestWaitShowsRemainingQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		g := h.overStdio(model)
		ref := g.request("ask twice")
		g.waitForEnd(ref, mess.NeedsInput)
		g.mustCall("mess_answer", map[string]any{"ref": ref, "answers": map[string]any{"a": "sink"}})
		if o := g.waitForEnd(ref, mess.NeedsInput); o.v["timed_out"] != nil {
			t.Errorf("%s", o.text)
		}
	})
}
