package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// One of several requests of a message is wrong: the exchange makes no thread of the others, so that
// the corrected message makes each thread once.
func TestRequestsOfOneMessageAreTakenTogether(t *testing.T) {
	for name, c := range map[string]struct {
		second string
		want   mess.ErrorCode
	}{
		"unknown dependency": {`"constraints": {"depends_on": ["nothing"]}`, mess.MissingReference},
		"unknown reference":  {`"context": [{"ref": "nothing"}]`, mess.MissingReference},
		"used id":            {`"id": "used"`, mess.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, func(h *harness) {
				h.send(agent, "request: {id: used, intent: sing}")
				h.wantError(agent, `[{"request": {"intent": "ring"}}, {"request": {"intent": "dance", `+c.second+`}}]`, c.want)
				h.wantThreads(1)
				ack := h.send(agent, `[{"request": {"intent": "ring"}}, {"request": {"id": "used", "intent": "sing"}},
					{"request": {"id": "third", "intent": "dance", "context": [{"ref": "fourth"}], "constraints": {"depends_on": ["fourth"]}}}, {"request": {"id": "fourth", "intent": "bow"}}]`)
				if len(ack.Requests) != 4 {
					t.Errorf("ack of the corrected message is %+v, want four requests", ack)
				}
				h.wantThreads(4)
			})
		})
	}
}

// wantThreads checks the number of threads of the agent.
func (h *harness) wantThreads(want int) {
	h.t.Helper()
	page, err := h.x.List(h.t.Context(), agent, exchange.Filter{Requester: agent.ID})
	if err != nil || len(page.Threads) != want {
		h.t.Errorf("there are %d threads, %v, want %d", len(page.Threads), err, want)
	}
}

// A message has a request and a cancel of an unknown thread: the answer has the ref of the request,
// and the error of the cancel.
func TestRejectedPartDoesNotHideRequest(t *testing.T) {
	withHarness(t, func(h *harness) {
		m, err := h.post(agent, `[{"request": {"intent": "ring"}}, {"cancel": {"re": ["nothing"]}}]`)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range mess.ItemsOf[*mess.Ack]([]mess.Message{m}) {
			got = append(got, fmt.Sprintf("%t %s", a.Ref != "", a.Extra.Text("error")))
		}
		if len(got) != 2 || got[0] != "true " || !strings.HasPrefix(got[1], "false ") || !strings.Contains(got[1], `there is no thread "nothing"`) {
			t.Errorf("acks are %q, want that of the request and the error of the cancel", got)
		}
		h.wantThreads(1)
	})
}

// almostFullStore has no room after some steps.
type almostFullStore struct {
	exchange.Store
	room int
}

func (s *almostFullStore) Append(ctx context.Context, step exchange.Step) (thread.Rev, error) {
	if s.room--; s.room < 0 {
		return "", errors.New("no space")
	}
	return s.Store.Append(ctx, step)
}

// The store fails after the first of two requests: the answer names the request that the exchange
// has taken, so that its sender does not send it again.
func TestAnswerNamesRequestsBeforeFailure(t *testing.T) {
	withHarnessOver(t, &almostFullStore{memory.New(), 1}, exchange.DefaultConfig(), func(h *harness) {
		const both = `[{"request": {"intent": "ring"}}, {"request": {"intent": "dance"}}]`
		m, err := h.post(agent, both)
		if err != nil || len(m.Items) != 2 {
			t.Fatalf("answer is %+v, %v, want two acks", m.Items, err)
		}
		first, second := m.Items[0].(*mess.Ack), m.Items[1].(*mess.Ack)
		if len(first.Requests) != 1 || first.Requests[0].Ref == "" || second.Extra.Text("error") == "" {
			t.Errorf("acks are %+v and %+v, want one ref and one error", first, second)
		}
		h.wantThreads(1)
		h.wantError(agent, both, mess.Unavailable)
		h.wantThreads(1)
	})
}
