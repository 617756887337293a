package natsapi_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/remote/natsclient"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/mess"
)

// With the documented permissions an executor works, and reaches nothing of another one.
func TestDocumentedPermissions(t *testing.T) {
	t.Parallel()
	r := newRig(t, documentedConf(t))
	n := r.node(exchangeSeed)
	pi, arm := r.executor("pi", piSeed), r.executor("arm", armSeed)
	ref := n.ask(t, "")
	pi.offer(ref)
	arm.offer(ref)
	if err := pi.claim(ref); err != nil {
		t.Fatal(err)
	}
	arm.await("that it is taken", func(m mess.Message) bool { return m.Items[0].Kind() == mess.KindStatus && m.Re[0] == ref })
	var serverErrors []error
	said := make(chan error, 16)
	nc, err := r.address(armSeed).Connect(natslink.Options{Name: "arm", What: "arm", Dial: time.Second, Log: quiet},
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { said <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, subject := range []string{"mess.@home.e.pi.in.*", "mess.@home.e.pi.out", "mess.@home.e.pi.out.*", "mess.@home.e.>", "_INBOX.pi.>", "_INBOX.>", ">", "mess.home.>", "$JS.>"} {
		if _, err := nc.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		serverErrors = append(serverErrors, await(t, said, "reading "+subject))
	}
	for _, subject := range []string{"mess.@home.e.pi.out", "mess.@home.e.pi.out.x", "mess.@home.e.pi.in.x", "mess.@home.e.arm.in.x", "_INBOX.pi.x.y", "$JS.API.INFO", "mess.home.t.x"} {
		if err := nc.Publish(subject, []byte("x")); err != nil {
			t.Fatal(err)
		}
		serverErrors = append(serverErrors, await(t, said, "writing "+subject))
	}
	for _, err := range serverErrors {
		if !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("the server says %v, want a permissions violation", err)
		}
	}
	if err := arm.claim(n.ask(t, "")); err != nil {
		t.Errorf("arm afterwards: %v", err)
	}
}

func await(t *testing.T, said <-chan error, what string) error {
	t.Helper()
	select {
	case err := <-said:
		return err
	case <-time.After(patience):
		t.Fatalf("%s: the server has said nothing", what)
		return nil
	}
}

// Find tells whether the servers keep executors apart.
func TestFind(t *testing.T) {
	t.Parallel()
	for conf, want := range map[string]natsclient.Found{"": {Exchange: "home", Open: true}, documentedConf(t): {Exchange: "home"}} {
		r := newRig(t, conf)
		seed, pi := exchangeSeed, piSeed
		if conf == "" {
			seed, pi = "", ""
		}
		r.node(seed)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cfg := natsclient.Config{Address: r.address(pi), Executor: "pi", Key: keyOf(r.issue("pi"))}
		if got, err := natsclient.Find(ctx, cfg, quiet); err != nil || got != want {
			t.Errorf("found %+v, %v, want %+v", got, err, want)
		}
		cfg.Key = keyOf("mess_home_wrong")
		if _, err := natsclient.Find(ctx, cfg, quiet); !errors.Is(err, mess.Unauthorized) {
			t.Errorf("with a wrong key: %v", err)
		}
	}
}

// At servers that let everybody publish everywhere, a message counts only with the key of its executor.
func TestForgedMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	n := r.node("")
	pi := r.executor("pi", "")
	ref := n.ask(t, "")
	pi.offer(ref)
	nc, err := r.address("").Connect(natslink.Options{Name: "thief", What: "thief", Dial: time.Second, Log: quiet}, nats.CustomInboxPrefix(natslink.Inbox("pi")))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	overheard, err := nc.SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	claim := []byte(`{"id":"x","re":"` + ref + `","MESS":[{"status":{"code":"claimed"}}]}`)
	thief := natslink.Secret(r.issue("thief"))
	r.issue("asker2")
	for what, data := range map[string][]byte{
		"without a key":         natslink.Seal(nil, natslink.Head{Kind: natslink.Message, Executor: "pi", ID: "1"}, claim),
		"with the key of other": natslink.Seal(thief, natslink.Head{Kind: natslink.Message, Executor: "pi", ID: "2"}, claim),
		"as another executor":   natslink.Seal(thief, natslink.Head{Kind: natslink.Message, Executor: "thief", ID: "3"}, claim),
		"not a message":         []byte("{}"),
	} {
		answer, err := nc.Request(subjects.Executor("pi", natslink.Out), data, patience)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if h, _, _, err := natslink.Open(answer.Data, thief); err == nil || h.Kind != natslink.Refused {
			t.Errorf("%s: the answer is %+v, %v", what, h, err)
		}
	}
	if got := n.api.Counts(); got.Refused != 4 {
		t.Errorf("%d messages are refused, want 4", got.Refused)
	}
	th, err := n.x.Thread(t.Context(), boss, ref)
	if err != nil || th.Status != mess.Pending {
		t.Errorf("the request is %s, %v", th.Status, err)
	}
	stealOrders(t, nc, overheard, thief)
	if err := pi.claim(ref); err != nil {
		t.Errorf("the true executor: %v", err)
	}
	if len(pi.got) > 0 {
		t.Errorf("the executor has got a forged message: %+v", <-pi.got)
	}
	if msgs := len(mustThread(t, n, ref).Messages); msgs == 0 {
		t.Error("the thread is empty")
	}
}

// stealOrders sends forged orders into the session of pi, and repeats all that it has overheard.
func stealOrders(t *testing.T, nc *nats.Conn, overheard *nats.Subscription, thief []byte) {
	t.Helper()
	stop := []byte(`{"MESS":[{"config":{"stop":{"id":"s","why":"forged"}}}]}`)
	for {
		m, err := overheard.NextMsg(2 * beat)
		if err != nil {
			break
		}
		if _, session, ok := strings.Cut(m.Subject, ".pi.in."); ok {
			h := natslink.Head{Kind: natslink.Order, Executor: "pi", ID: "9", Session: session, Number: 2}
			for _, data := range [][]byte{natslink.Seal(nil, h, stop), natslink.Seal(thief, h, stop), m.Data} {
				if err := nc.Publish(m.Subject, data); err != nil {
					t.Fatal(err)
				}
			}
			break
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
}

func mustThread(t *testing.T, n node, ref string) exchange.Thread {
	t.Helper()
	th, err := n.x.Thread(t.Context(), boss, ref)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

// doneOnce checks that a request was claimed once and is completed, with one message for each step.
func doneOnce(t *testing.T, n node, ref string) {
	t.Helper()
	counts := map[mess.Code]int{}
	th := mustThread(t, n, ref)
	for _, m := range th.Messages {
		for _, item := range m.Items {
			if s, ok := item.(*mess.Status); ok {
				counts[s.Code]++
			}
		}
	}
	if th.Status != mess.Completed || counts[mess.Claimed] != 1 || counts[mess.InProgress] != 1 || counts[mess.Completed] != 1 {
		t.Errorf("%s is %s with the steps %v", ref, th.Status, counts)
	}
}

// When its exchange ends, an executor goes to the other one at once, and gets its work there. So it does
// when the exchange has lost its connection.
func TestExecutorChangesExchange(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	first := r.node("")
	pi := r.executor("pi", "")
	eventually(t, "a session at the first exchange", func() bool { return first.api.Counts().Executors == 1 })
	second := r.node("")
	one := second.ask(t, "")
	pi.offer(one)
	if err := pi.claim(one); err != nil {
		t.Fatal(err)
	}
	first.stop()
	eventually(t, "a session at the second exchange", func() bool { return second.api.Counts().Executors == 1 })
	two := second.ask(t, "")
	pi.offer(two)
	if err := pi.claim(two); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{one, two} {
		doneOnce(t, second, ref)
	}
	if _, err := second.x.Stop(t.Context(), boss, mess.Stop{Reason: "smoke", Executors: mess.Refs{"pi"}}); err != nil {
		t.Fatal(err)
	}
	pi.await("the stop", func(m mess.Message) bool { c, ok := m.Items[0].(*mess.Config); return ok && c.Stop != nil })
}

// An executor and an exchange go on after a server was killed and started again. A request from the time
// without it arrives once.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	n := r.node("")
	pi := r.executor("pi", "")
	pi.offer(n.ask(t, ""))
	r.server.Kill()
	ref := n.ask(t, "")
	ended := make(chan error, 1)
	go func() { ended <- pi.claim(ref) }()
	r.server.Restart()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	doneOnce(t, n, ref)
	pi.offer(n.ask(t, ""))
}

// The exchange counts an executor as connected until it has left, or is silent for long.
func TestPresence(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	n := r.node("")
	pi := r.executor("pi", "")
	connected := func(want int) func() bool { return func() bool { return n.api.Counts().Executors == want } }
	eventually(t, "a session", connected(1))
	pi.stop()
	eventually(t, "the end of the session", connected(0))
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	key := r.issue("arm")
	// This executor begins a session, and then says nothing: it was killed.
	nc, err := r.address("").Connect(natslink.Options{Name: "arm", What: "arm", Dial: time.Second, Log: quiet}, nats.CustomInboxPrefix(natslink.Inbox("arm")))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	begin := natslink.Seal(natslink.Secret(key), natslink.Head{Kind: natslink.Begin, Executor: "arm", ID: "1", Session: "S"}, nil)
	if _, err := nc.RequestWithContext(ctx, subjects.Executor("arm", natslink.Out), begin); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the session of arm", connected(1))
	eventually(t, "the end of the silent session", connected(0))
}

// A revoked key ends the session at once, and counts no more.
func TestRevokedKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	n := r.node("")
	pi := r.executor("pi", "")
	eventually(t, "a session", func() bool { return n.api.Counts().Executors == 1 })
	if _, err := r.keys.Revoke("pi"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the session", func() bool { return n.api.Counts().Executors == 0 })
	m := mess.Message{Items: []mess.Item{&mess.Query{Type: "status"}}}
	if _, err := pi.Client.Send(t.Context(), m); !errors.Is(err, mess.Unauthorized) {
		t.Errorf("a message with the revoked key: %v", err)
	}
}

// A message that is longer than the servers carry arrives whole, in both directions.
func TestLongMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t, "max_payload: 32768")
	n := r.node("")
	pi := r.executor("pi", "")
	ref := n.ask(t, `, context: [{text: "`+strings.Repeat("a long text ", 4000)+`"}]`)
	pi.offer(ref)
	if _, err := pi.send(`{re: ` + ref + `, id: c, MESS: [{status: {code: claimed}}]}`); err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat([]byte{0, 1, 2, 255}, 1<<16)
	if m, err := pi.Attach(t.Context(), ref, "picture.png", "image/png", bytes.NewReader(data)); err != nil || *m.Size != 1<<18 {
		t.Errorf("%+v, %v", m, err)
	}
	_, err := pi.Attach(t.Context(), "2000-01-01-001", "x.png", "", strings.NewReader("x"))
	if !errors.Is(err, mess.NotFound) {
		t.Errorf("a file for a thread that is not there: %v", err)
	}
}
