package natsapi_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/exchange/remote/natsclient"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/mess"
)

// connect connects as a plain client of the servers.
func (r *rig) connect(seed string) *nats.Conn {
	r.Helper()
	nc, err := r.address(seed).Connect(natslink.Options{Name: "plain", What: "plain", Dial: time.Second, Log: quiet}, nats.CustomInboxPrefix(natslink.Inbox("pi")))
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(nc.Close)
	return nc
}

// The exchange answers in the inbox of the executor alone. The servers do not check the subject for an
// answer, so a message could make it write into its own store.
func TestAnswersOnlyInInbox(t *testing.T) {
	t.Parallel()
	r := newRig(t, documentedConf(t))
	r.node(exchangeSeed)
	arm, all := r.connect(armSeed), r.connect(exchangeSeed)
	stolen, err := all.SubscribeSync("mess.home.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := all.Flush(); err != nil {
		t.Fatal(err)
	}
	hello := natslink.Seal(nil, natslink.Head{Kind: natslink.Hello, Executor: "arm", ID: "1"}, nil)
	out := subjects.Executor("arm", natslink.Out)
	inbox, err := arm.SubscribeSync(natslink.Inbox("arm") + ".a")
	if err != nil {
		t.Fatal(err)
	}
	for _, reply := range []string{"mess.home.t.x", natslink.Inbox("pi") + ".a", inbox.Subject} {
		if err := arm.PublishMsg(&nats.Msg{Subject: out, Reply: reply, Data: hello}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := inbox.NextMsg(patience); err != nil { // the last of the three
		t.Fatal(err)
	}
	if m, err := stolen.NextMsg(beat); err == nil {
		t.Errorf("the exchange has sent %q to %s", m.Data, m.Subject)
	}
}

// A stop goes before the offers that wait for the acknowledgment of an executor.
func TestStopBeforeWaitingOffers(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	n := r.node("")
	secret := natslink.Secret(r.issue("pi"))
	nc := r.connect("")
	ask := func(h natslink.Head, body string) {
		t.Helper()
		h.Executor = "pi"
		if _, err := nc.Request(subjects.Executor("pi", natslink.Out), natslink.Seal(secret, h, []byte(body)), patience); err != nil {
			t.Fatal(err)
		}
	}
	in, err := nc.SubscribeSync(subjects.Executor("pi", natslink.In, "s1"))
	if err != nil {
		t.Fatal(err)
	}
	ask(natslink.Head{Kind: natslink.Message, ID: "1"}, `{"id":"1","MESS":[{"config":{"executor":{"id":"pi","capabilities":["look"],"versions":["1.1.0"],"holding":[]}}}]}`)
	ask(natslink.Head{Kind: natslink.Begin, ID: "2", Session: "s1"}, "")
	var numbers []uint64
	next := func() (natslink.Head, *nats.Msg) { // the next event that has not come before
		t.Helper()
		for {
			m, err := in.NextMsg(patience)
			if err != nil {
				t.Fatal(err)
			}
			h, _, _, err := natslink.Open(m.Data, secret)
			if err != nil {
				t.Fatal(err)
			}
			if h.Number > uint64(len(numbers)) {
				numbers = append(numbers, h.Number)
				return h, m
			}
		}
	}
	for range 20 {
		n.ask(t, "")
	}
	first, m := next()
	if first.Kind != natslink.News {
		t.Fatalf("the first event is %+v", first)
	}
	if _, err := n.x.Stop(t.Context(), boss, mess.Stop{Reason: "smoke", Executors: mess.Refs{"pi"}}); err != nil {
		t.Fatal(err)
	}
	orders := 0
	for i := range 21 { // the rest of the offers, and the stop
		answer := natslink.Head{Kind: natslink.Answer, Executor: "pi", ID: first.ID, Number: first.Number}
		if err := m.Respond(natslink.Seal(secret, answer, nil)); err != nil {
			t.Fatal(err)
		}
		if i == 20 {
			break
		}
		if first, m = next(); first.Kind == natslink.Order {
			if orders++; i > 1 {
				t.Errorf("the stop came behind %d offers", i)
			}
		}
	}
	if orders != 1 {
		t.Errorf("the stop came %d times", orders)
	}
}

// Two long bodies of one executor at the same time both arrive, and one that is too long is refused.
func TestLongBodiesAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	n := r.node("")
	pi := r.executor("pi", "")
	ref := n.ask(t, "")
	pi.offer(ref)
	if err := pi.claim(ref); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var g sync.WaitGroup
	for _, name := range []string{"a.bin", "b.bin"} {
		g.Go(func() {
			if _, err := pi.Attach(ctx, ref, name, "", bytes.NewReader(bytes.Repeat([]byte(name), 1<<20))); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	g.Wait()
	m := mess.Message{Items: []mess.Item{&mess.Request{Intent: strings.Repeat("x", 11<<20)}}}
	if _, err := pi.Send(ctx, m); !errors.Is(err, mess.TooLarge) {
		t.Errorf("11 MB: %v", err)
	}
}

// An executor goes on with a new key in its file, and nothing is refused.
func TestRenewedKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	n := r.node("")
	var key atomic.Value
	key.Store(r.issue("pi"))
	c, err := natsclient.New(natsclient.Config{Address: r.address(""), Executor: "pi", Key: func() (httpclient.Secret, error) {
		return httpclient.Secret(key.Load().(string)), nil
	}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	r.run(c.Run)
	e := &executor{Client: c, r: r, id: "pi"}
	e.register(t.Context())
	eventually(t, "a session", func() bool { return n.api.Counts().Executors == 1 })
	next, err := r.keys.Rotate("pi", exchange.ExecutorRole)
	if err != nil {
		t.Fatal(err)
	}
	key.Store(next)
	for range 3 {
		if _, err := e.send(`config: {executor: {id: pi, holding: []}}`); err != nil {
			t.Errorf("with the new key in the file: %v", err)
		}
	}
	eventually(t, "a session with the new key", func() bool { return n.api.Counts().Executors == 1 })
}

// A session that another one replaces ends openly, so that its executor begins again at once: somebody
// may have repeated an old message.
func TestReplacedSessionEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.node("")
	secret := natslink.Secret(r.issue("pi"))
	nc := r.connect("")
	in, err := nc.SubscribeSync(subjects.Executor("pi", natslink.In, "s1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, session := range []string{"s1", "s2"} {
		begin := natslink.Seal(secret, natslink.Head{Kind: natslink.Begin, Executor: "pi", ID: session, Session: session}, nil)
		eventually(t, "an answer", func() bool {
			_, err := nc.Request(subjects.Executor("pi", natslink.Out), begin, beat)
			return err == nil
		})
	}
	for {
		m, err := in.NextMsg(patience)
		if err != nil {
			t.Fatalf("the first session has not ended: %v", err)
		}
		if h, _, _, err := natslink.Open(m.Data, secret); err == nil && h.Kind == natslink.End {
			return
		}
	}
}
