package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/exchange/store/snapshot"
	"github.com/messkit/messkit/internal/test/natsserver"
	"github.com/messkit/messkit/mess"
)

var (
	agent    = exchange.Actor{ID: "claude-agent", Roles: exchange.Requester}
	operator = exchange.Actor{ID: "teague", Roles: exchange.Requester | exchange.Operator}
	watcher  = exchange.Actor{ID: "watcher", Roles: exchange.Observer}
	pis      = []exchange.Actor{{ID: "kitchen-pi", Roles: exchange.ExecutorRole}, {ID: "garage-pi", Roles: exchange.ExecutorRole}}
)

// joined opens an exchange over a store.
func joined(t *testing.T, s *jetstream.Store) *exchange.Exchange {
	t.Helper()
	x, err := exchange.Open(t.Context(), exchange.DefaultConfig(), s, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// run runs an exchange until the test ends.
func run(t *testing.T, x *exchange.Exchange) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// post posts a message. It returns the ref of the first ack, and whether the exchange has accepted it.
func post(t *testing.T, x *exchange.Exchange, actor exchange.Actor, text string) (ref string, ok bool) {
	t.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	answer, err := x.Post(t.Context(), exchange.Inbound{Actor: actor, Channel: "test", Message: m})
	if _, refused := errors.AsType[*mess.Error](err); err != nil && !refused {
		t.Fatalf("%s: %v", text, err)
	}
	for _, a := range mess.ItemsOf[*mess.Ack]([]mess.Message{answer}) {
		return a.Ref, err == nil
	}
	return "", err == nil
}

// happen makes a random history in an exchange, and adds the refs of new threads.
func happen(t *testing.T, x *exchange.Exchange, r *rand.Rand, steps int, refs []string) []string {
	t.Helper()
	for range steps {
		pi := pis[r.IntN(len(pis))]
		if len(refs) == 0 || r.IntN(4) == 0 {
			ref, ok := post(t, x, agent, fmt.Sprintf("request: {id: r%d, intent: look, requires: [%s]}", len(refs), []string{"look", "switch", "none"}[r.IntN(3)]))
			if !ok {
				t.Fatal("a request is refused")
			}
			refs = append(refs, ref)
			continue
		}
		ref := refs[r.IntN(len(refs))]
		switch r.IntN(9) {
		case 0:
			post(t, x, agent, "cancel: {re: "+ref+"}")
		case 1:
			if err := x.SaveChannelState(t.Context(), "test", fmt.Sprint("doc", r.IntN(5)), [][]byte{nil, []byte("a"), []byte("b")}[r.IntN(3)]); err != nil {
				t.Fatal(err)
			}
		case 2, 3, 4:
			post(t, x, pi, "status: {re: "+ref+", code: claimed, instance: a}")
		default:
			code := []string{"in_progress", "completed", "failed", "declined"}[r.IntN(4)]
			post(t, x, pi, "status: {re: "+ref+", code: "+code+", instance: a, message: m}")
		}
	}
	return refs
}

// stateOf returns what an exchange says about everything.
func stateOf(t *testing.T, x *exchange.Exchange, refs []string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, "open", x.OpenByStatus(), "documents", len(x.ChannelState("test")))
	for name, doc := range x.ChannelState("test") {
		fmt.Fprintf(&b, "document %s %s\n", name, doc)
	}
	lines := strings.Split(b.String(), "\n")
	slices.Sort(lines)
	for _, e := range x.Executors() {
		lines = append(lines, fmt.Sprint("executor ", e.ID, e.Capabilities))
	}
	for _, f := range []exchange.Filter{
		{},
		{Limit: 3},
		{Status: []mess.Code{mess.Pending}},
		{Status: []mess.Code{mess.Completed, mess.Failed}},
		{Status: []mess.Code{mess.Claimed}},
		{Executor: pis[0].ID},
		{Party: pis[1].ID},
		{Capability: "look"},
		{Capability: "switch"},
		{Requester: agent.ID},
		{Device: "kitchen-pi:lamp"},
	} {
		for _, actor := range append([]exchange.Actor{agent, operator}, pis...) {
			page, err := x.List(t.Context(), actor, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Threads {
				lines = append(lines, fmt.Sprint(actor.ID, f.Status, f.Executor, f.Party, f.Capability, ": ", e.Ref, e.Rev, e.Ver, e.Status, e.Executor, e.Updated.UnixNano(), e.Serial, e.Epoch))
			}
		}
	}
	for _, ref := range refs {
		for _, pi := range pis {
			lines = append(lines, fmt.Sprint("offer ", ref, pi.ID, x.HasOffer(ref, pi.ID)))
		}
	}
	return strings.Join(lines, "\n")
}

// compareStates compares an exchange that has read all steps with one that has read a snapshot.
func compareStates(t *testing.T, whole, quick *exchange.Exchange, refs []string) {
	t.Helper()
	if diff := cmp.Diff(stateOf(t, whole, refs), stateOf(t, quick, refs)); diff != "" {
		t.Errorf("all steps (-), the snapshot (+):\n%s", diff)
	}
}

// eventsOf returns a function that waits for a message of a thread, and returns all events of an exchange
// since eventsOf, up to that message.
func eventsOf(t *testing.T, x *exchange.Exchange) (until func(ref string) []string) {
	t.Helper()
	events, begun := make(chan exchange.Event, 1000), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() {
		if err := x.FollowFrom(ctx, watcher, "", func() error { close(begun); return nil }, func(e exchange.Event) error {
			events <- e
			return nil
		}); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); following.Wait() })
	<-begun
	return func(ref string) (lines []string) {
		for end := time.After(15 * time.Second); ; {
			select {
			case e := <-events:
				_, id, _ := strings.Cut(e.ID, "-") // after the name of the process
				lines = append(lines, fmt.Sprint(e.Kind, " ", id, " ", e.Thread.Ref, e.Thread.Ver, e.Thread.Status, e.Message.Ref))
				if e.Thread.Ref == ref {
					return lines
				}
			case <-end:
				t.Fatalf("no event of %s, but %q", ref, lines)
			}
		}
	}
}

// An exchange that starts from a snapshot says the same about everything as one that has read all steps,
// has the same client ids, and publishes the same events afterwards.
func TestExchangeFromSnapshot(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{})
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("history ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			var log bytes.Buffer
			c := jetstream.WithSnapshotAfter(config(1, server), 20)
			c.AcceptLoss = true
			writer := opened(t, c)
			first := joined(t, opened(t, c))
			run(t, first)
			for i, pi := range pis {
				post(t, first, pi, "config: {executor: {id: "+pi.ID+", capabilities: ["+[]string{"look", "look, switch"}[i]+"], versions: [1.0.0, 1.1.0], holding: []}}")
			}
			var refs []string
			for range 4 {
				refs = happen(t, first, r, 60, refs)
				if _, err := writer.Snapshot(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			refs = happen(t, first, r, 10, refs)
			c.IgnoreSnapshot = true
			whole := joined(t, opened(t, c))
			c.IgnoreSnapshot, c.Log = false, slog.New(slog.NewTextHandler(&log, nil))
			quick := joined(t, opened(t, c))
			if !strings.Contains(log.String(), "has read the snapshot") {
				t.Fatalf("it has not read the snapshot: %s", log.String())
			}
			compareStates(t, whole, quick, refs)
			run(t, whole)
			run(t, quick)
			ofWhole, ofQuick := eventsOf(t, whole), eventsOf(t, quick)
			if ref, ok := post(t, quick, agent, "request: {id: r0, intent: look, requires: [look]}"); !ok || ref != refs[0] {
				t.Errorf("a client id of an earlier thread gives %s, want %s", ref, refs[0])
			}
			happen(t, first, r, 20, refs)
			last, ok := post(t, first, agent, "request: {id: final, intent: look, requires: [look]}")
			if !ok {
				t.Fatal("the last request is refused")
			}
			if diff := cmp.Diff(ofWhole(last), ofQuick(last)); diff != "" {
				t.Errorf("events after all steps (-), after the snapshot (+):\n%s", diff)
			}
			compareStates(t, whole, quick, append(refs, last))
		})
	}
}

// A snapshot that is in use is from a time of which the stream still knows the threads that have left it since.
func TestSnapshotAge(t *testing.T) {
	if 3*snapshot.MaxAge > jetstream.GoneFor {
		t.Errorf("a snapshot of %v is used, and the stream forgets archived threads after %v", snapshot.MaxAge, jetstream.GoneFor)
	}
}
