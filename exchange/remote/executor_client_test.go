package remote_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

var asker = exchange.Actor{ID: "asker", Roles: exchange.Requester}

// unique separates the tests that share an exchange: each has its own executors and its own
// capability.
func unique(t *testing.T, id string) (executor, capability string) {
	name := strings.ToLower(strings.ReplaceAll(t.Name()[strings.LastIndex(t.Name(), "/")+1:], "_", "-"))
	return id + "-" + name, "do-" + name
}

// executorClient is a registered executor.
type executorClient struct {
	executorsExchange
	t    *testing.T
	id   string
	card string // its registration
	got  chan mess.Message
	off  func()
}

// newExecutorClient registers an executor and starts its Receive.
func newExecutorClient(t *testing.T, tr transport, id, capability string) *executorClient {
	t.Helper()
	m := &executorClient{executorsExchange: tr.as(t, id), t: t, id: id}
	m.card = `config: {executor: {id: ` + id + `, capabilities: [` + capability + `], versions: [1.1.0], holding: []}}`
	m.mustSend(m.card)
	m.listen()
	return m
}

func (m *executorClient) listen() {
	m.got = make(chan mess.Message, 1<<16)
	ctx, cancel := context.WithCancel(m.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for { // as an agent does
			err := m.Receive(ctx, func(one mess.Message) { m.got <- one })
			if ctx.Err() != nil {
				if err != nil {
					m.t.Errorf("Receive of %s: %v", m.id, err)
				}
				return
			}
			if _, err := m.send(m.card); err != nil && ctx.Err() == nil {
				m.t.Errorf("%s registers anew: %v", m.id, err)
			}
		}
	})
	m.off = func() { cancel(); wg.Wait() }
	m.t.Cleanup(m.off)
}

func (m *executorClient) send(text string) (mess.Message, error) {
	m.t.Helper()
	one, err := mess.Parse([]byte(text))
	if err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(m.t.Context()), patience)
	defer cancel()
	return m.Send(ctx, one)
}

func (m *executorClient) mustSend(text string) *mess.Ack {
	m.t.Helper()
	answer, err := m.send(text)
	if err != nil {
		m.t.Fatalf("post by %s of %s: %v", m.id, text, err)
	}
	ack, ok := answer.Items[0].(*mess.Ack)
	if !ok || answer.From != exchange.Self {
		m.t.Fatalf("post by %s of %s: the answer is %+v", m.id, text, answer)
	}
	return ack
}

// waitForMessage waits for a message that ok accepts, and discards others.
func (m *executorClient) waitForMessage(what string, ok func(mess.Message) bool) mess.Message {
	m.t.Helper()
	limit := time.After(patience)
	for {
		select {
		case one := <-m.got:
			if ok(one) {
				return one
			}
		case <-limit:
			m.t.Fatalf("%s has not received: %s", m.id, what)
		}
	}
}

func (m *executorClient) waitForOffer(ref string) mess.Message {
	m.t.Helper()
	return m.waitForMessage("the offer of "+ref, func(one mess.Message) bool {
		return len(one.Re) == 1 && one.Re[0] == ref && one.Items[0].Kind() == mess.KindRequest
	})
}

// claim claims a thread and returns the epoch.
func (m *executorClient) claim(ref string) string {
	m.t.Helper()
	return fmt.Sprint(m.mustSend(`{re: ` + ref + `, MESS: [{status: {code: claimed}}]}`).Epoch)
}

// request creates a request of another actor.
func request(t *testing.T, tr transport, capability, more string) string {
	t.Helper()
	m, err := mess.Parse([]byte(`request: {intent: look into the fridge, requires: [` + capability + `]` + more + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return post(t, tr, m).Ref
}

func post(t *testing.T, tr transport, m mess.Message) *mess.Ack {
	t.Helper()
	answer, err := tr.x.Post(t.Context(), exchange.Inbound{Actor: asker, Channel: "test", Message: m})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Items[0].(*mess.Ack)
}

func postText(t *testing.T, tr transport, text string) {
	t.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	post(t, tr, m)
}

func threadOf(t *testing.T, tr transport, ref string) exchange.Thread {
	t.Helper()
	got, err := tr.x.Thread(t.Context(), asker, ref)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
