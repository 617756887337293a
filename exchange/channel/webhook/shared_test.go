package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/webhook"
	"github.com/messkit/messkit/exchange/notices"
	"github.com/messkit/messkit/exchange/push"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// sharedStore is a memory store that several exchanges use. Each has a link to it that can break.
type sharedStore struct {
	*memory.Store
	cut *atomic.Bool
}

func (sharedStore) Shared() {}

var errCut = errors.New("no server answers")

func (s sharedStore) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (thread.Rev, error) {
	if s.cut.Load() {
		return "", errCut
	}
	return s.Store.Put(ctx, kind, id, doc, after)
}

// people is a person with one address.
type people struct{ address string }

func (p people) Persons() []string { return []string{"ana"} }

func (p people) Settings(string) mess.Object {
	return mess.Object{{Key: "notifications", Value: []any{mess.Object{{Key: "type", Value: "webhook"}, {Key: "url", Value: p.address}}}}}
}
func (p people) Subscriptions(string) []push.Subscription { return nil }
func (p people) Subscribed() []string                     { return nil }
func (p people) SubscriptionsChanged() <-chan struct{}    { return nil }
func (p people) EndSubscription(_, _ string)              {}

// household has a key for everybody. The person sees all tasks.
type household struct{}

func (household) Shared(actor string) (exchange.Actor, []byte, bool) {
	who, secret, ok := keyring{}.Shared(actor)
	if actor == "ana" {
		who.Roles = exchange.Requester | exchange.Observer
	}
	return who, secret, ok
}

// cluster has three exchanges over one store, and receivers with a log of their own.
type cluster struct {
	*testing.T
	nodes []*sender

	mu   sync.Mutex
	got  map[string]int // attempts by delivery id and host
	from []int          // the exchange of each attempt
	lost func(node int) bool
}

// sender is one exchange with its webhooks.
type sender struct {
	*cluster
	node    int
	x       *exchange.Exchange
	hooks   *webhook.Dispatcher
	notices *notices.Log
	cut     atomic.Bool
	stop    func()
}

// RoundTrip is the way of one exchange to the receivers.
func (s *sender) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.cut.Load() {
		return nil, errCut
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.got[r.URL.Host+" "+r.Header.Get("X-Mess-Delivery")]++
	s.from = append(s.from, s.node)
	lost := s.lost
	s.mu.Unlock()
	if lost != nil && lost(s.node) {
		return nil, errCut
	}
	return code(200)
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{T: t, got: map[string]int{}}
	store := memory.New()
	for i := range 3 {
		s := &sender{cluster: c, node: i}
		log := slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil))
		x, err := exchange.Open(t.Context(), exchange.DefaultConfig(), sharedStore{store, &s.cut}, time.Now, log)
		if err != nil {
			t.Fatal(err)
		}
		s.x = x
		if s.hooks, err = webhook.Open(x, household{}, webhook.Config{}, t.TempDir(), log); err != nil {
			t.Fatal(err)
		}
		webhook.Through(s.hooks, s)
		s.notices = notices.Open(x, log)
		s.hooks.Serve(people{"https://ana.example/hook"}, s.notices, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for _, run := range []func(context.Context) error{x.Run, s.hooks.Run, s.notices.Run} {
			all.Go(func() { _ = run(ctx) })
		}
		s.stop = sync.OnceFunc(func() { cancel(); all.Wait() })
		c.nodes = append(c.nodes, s)
		time.Sleep(2 * time.Second)
	}
	return c
}

func (c *cluster) end() {
	for _, s := range c.nodes {
		s.stop()
	}
}

// kill ends an exchange as a crash does: it writes and sends nothing more.
func (s *sender) kill() {
	s.cut.Store(true)
	s.stop()
}

// post sends a message to an exchange, as an actor.
func (s *sender) post(by, text string) string {
	s.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		s.Fatal(err)
	}
	who, _, _ := keyring{}.Shared(by)
	answer, err := s.x.Post(s.Context(), exchange.Inbound{Actor: who, Channel: "http", Message: m})
	if err != nil {
		s.Fatalf("%s: %v", text, err)
	}
	return answer.Items[0].(*mess.Ack).Ref
}

// want checks the receivers' own logs: how many notifications each host has, and that it has none twice.
func (c *cluster) want(hosts map[string]int) {
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	count := map[string]int{}
	for id, n := range c.got {
		var host, delivery string
		if _, err := fmt.Sscan(id, &host, &delivery); err != nil {
			c.Fatal(err)
		}
		if count[host]++; n != 1 {
			c.Errorf("%s has the notification %s %d times", host, delivery, n)
		}
	}
	for host, n := range hosts {
		if count[host] != n {
			c.Errorf("%s has %d notifications, want %d", host, count[host], n)
		}
	}
}

const joinPi = `{"config":{"executor":{"id":"pi","capabilities":["look"],"versions":["1.0.0","1.1.0"],"notifications":[{"type":"webhook","url":"https://pi.example/hook"}]}}}`

// ask sends a request to an exchange, of which the executor is notified, and has it ask the person.
func (s *sender) ask(n int) {
	s.Helper()
	ref := s.post("agent", fmt.Sprintf(`{"request":{"intent":"look %d","requires":["look"]}}`, n))
	s.post("pi", "re: "+ref+"\nMESS: [{status: {code: claimed}}]")
	s.post("pi", "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: needs_input, questions: [{field: a, question: \"A?\"}]}}]")
}

// begin registers the executor, sends a request, and returns the exchange that has sent the notifications.
func (c *cluster) begin() (first int) {
	c.nodes[0].post("pi", joinPi)
	time.Sleep(10 * time.Second) // of the clock of the test
	c.nodes[0].ask(0)
	time.Sleep(10 * time.Second)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from[0]
}

// lastSender returns the exchange that has sent the last notification.
func (c *cluster) lastSender() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from[len(c.from)-1]
}

// Of three exchanges one sends each notification, whichever exchange takes the request. All show it in
// their log.
func TestOneExchangeSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.end()
		c.nodes[0].post("pi", joinPi)
		time.Sleep(10 * time.Second)
		for n := range 9 {
			c.nodes[n%3].ask(n)
		}
		time.Sleep(time.Minute)
		c.want(map[string]int{"pi.example": 27, "ana.example": 9})
		ana, _, _ := household{}.Shared("ana")
		for _, s := range c.nodes {
			list := s.hooks.Deliveries(exchange.Actor{ID: "operator", Roles: exchange.Operator})
			if len(list) != 36 {
				t.Errorf("exchange %d shows %d deliveries, want 36", s.node, len(list))
			}
			for _, e := range list {
				if e.State != webhook.Delivered {
					t.Errorf("exchange %d shows %+v", s.node, e)
				}
			}
			if err := s.notices.Mark(t.Context(), ana, []string{s.notices.List(ana)[s.node].ID}); err != nil {
				t.Error(err)
			}
			if n := len(s.notices.List(exchange.Actor{ID: "operator", Roles: exchange.Operator})); n != 9 {
				t.Errorf("the bell of exchange %d has %d notices, want 9", s.node, n)
			}
		}
		synctest.Wait()
		for _, s := range c.nodes {
			if n := s.notices.Count(ana).Unread; n != 6 {
				t.Errorf("at exchange %d the person has not read %d notices, want 6", s.node, n)
			}
		}
	})
}

// The exchange that sends fails. Another one sends what waits and what happens meanwhile, each once.
func TestSenderFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.end()
		first := c.begin()
		other := c.nodes[(first+1)%3]
		c.nodes[first].kill()
		for n := range 5 {
			other.ask(1 + n)
			time.Sleep(5 * time.Second)
		}
		time.Sleep(time.Minute)
		c.want(map[string]int{"pi.example": 18, "ana.example": 6})
		last := c.lastSender()
		if last == first {
			t.Errorf("exchange %d sends after its end", first)
		}
		second := c.nodes[last]
		second.stop() // it gives the lease back
		third := c.nodes[3-first-last]
		third.ask(6)
		time.Sleep(5 * time.Second)
		c.want(map[string]int{"pi.example": 21, "ana.example": 7})
	})
}

// The exchange that sends loses the store for long. It sends nothing more before another one takes over,
// and writes nothing of what it still has when it reaches the store again.
func TestSenderLosesStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.end()
		first := c.begin()
		for round := range 3 {
			c.nodes[first].cut.Store(true)
			for n := range 6 {
				c.nodes[(first+1)%3].ask(1 + 6*round + n)
				time.Sleep(6 * time.Second)
			}
			c.nodes[first].cut.Store(false)
			time.Sleep(time.Minute)
			c.want(map[string]int{"pi.example": 3 + 18*(round+1), "ana.example": 1 + 6*(round+1)})
			first = c.lastSender()
		}
	})
}

// A receiver that has got a notification of which the exchange does not know that, because it has failed,
// gets it again under the same id.
func TestUnknownDeliveryIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.end()
		c.nodes[0].post("pi", joinPi)
		time.Sleep(10 * time.Second)
		first := -1
		c.mu.Lock()
		c.lost = func(node int) bool {
			if first < 0 {
				first = node
				c.nodes[node].cut.Store(true)
			}
			return first == node
		}
		c.mu.Unlock()
		c.nodes[0].post("agent", `{"request":{"intent":"look","requires":["look"]}}`)
		time.Sleep(time.Minute)
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.got) != 1 || len(c.from) != 2 || c.from[0] == c.from[1] {
			t.Errorf("the receiver has %v from the exchanges %v, want one notification from two", c.got, c.from)
		}
	})
}
