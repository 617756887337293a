package mqtt_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mqtt"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/internal/test/freeport"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

var quiet = slog.New(slog.DiscardHandler)

// patience is the timeout of the tests for an expected event.
const patience = time.Minute

// harness is a fixture: a real exchange with a real broker.
type harness struct {
	*testing.T
	x       *exchange.Exchange
	adapter *mqtt.Adapter
	keys    *keys.Keys
	dir     string
	addr    string
	log     *log
	home    bool           // the adapter publishes to Home Assistant
	close   func()         // stops the adapter and its broker
	own     *mqtt.Embedded // its broker; nil: another one
}

// log keeps the log.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

func runUntilStopped(t *testing.T, f func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := f(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(stop)
	return stop
}

// newHarness returns a fixture without an adapter.
func newHarness(t *testing.T, set ...func(*exchange.Config)) *harness {
	t.Helper()
	return newHarnessOver(t, memory.New(), set...)
}

func newHarnessOver(t *testing.T, store exchange.Store, set ...func(*exchange.Config)) *harness {
	t.Helper()
	cfg := exchange.DefaultConfig()
	cfg.Confirm = exchange.ConfirmScript // the test is the person
	for _, f := range set {
		f(&cfg)
	}
	h := &harness{T: t, dir: t.TempDir(), log: &log{}}
	var err error
	if h.keys, err = keys.Open(h.dir, "home"); err != nil {
		t.Fatal(err)
	}
	if h.x, err = exchange.Open(t.Context(), cfg, store, time.Now, quiet); err != nil {
		t.Fatal(err)
	}
	runUntilStopped(t, h.x.Run)
	return h
}

func (h *harness) newAdapter() *slog.Logger {
	h.Helper()
	l := slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	if h.adapter, err = mqtt.New(h.x, mqtt.Config{Version: "1", MaxAttachment: 10 << 20, HomeAssistant: h.home}, time.Now, l); err != nil {
		h.Fatal(err)
	}
	return l
}

// newEmbeddedHarness returns a fixture with an embedded broker.
func newEmbeddedHarness(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t)
	h.serve()
	return h
}

// serve starts the adapter, at the same address as before.
func (h *harness) serve() {
	h.Helper()
	if h.addr == "" {
		h.addr = freeport.Address(h)
	}
	l, err := net.Listen("tcp", h.addr)
	if err != nil {
		h.Fatal(err)
	}
	h.addr = l.Addr().String()
	logger := h.newAdapter()
	e := mqtt.NewEmbedded(h.adapter, h.keys, mqtt.EmbeddedConfig{Reserved: []string{"inner"}}, logger)
	h.own, h.close = e, runUntilStopped(h.T, func(ctx context.Context) error { return e.Run(ctx, l) })
	h.waitUntilOnline()
}

// waitUntilOnline waits for the exchange at its broker.
func (h *harness) waitUntilOnline() {
	h.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", h.addr); err == nil {
			_ = c.Close()
			return
		}
	}
	h.Fatal("the broker does not listen")
}

// key makes a key with roles.
func (h *harness) key(id string, roles exchange.Role) string {
	h.Helper()
	key, err := h.keys.Issue(id, roles)
	if err != nil {
		h.Fatal(err)
	}
	return key
}

// observer returns an observer, which may read all statuses.
func (h *harness) observer(id string) login {
	h.Helper()
	return login{id: id, user: id, key: h.key(id, exchange.Observer)}
}

// client is a client of the broker that is no part of messkit.
type client struct {
	paho.Client
	h        *harness
	lost     chan error
	mu       sync.Mutex
	received []received
	news     chan struct{}
}

type received struct {
	topic, text string
	retained    bool
}

// login is how a peer connects.
type login struct {
	id, user, key string
	will          string // topic
	keep          bool   // no clean session
}

func (h *harness) try(a login) (*client, error) {
	p := &client{h: h, lost: make(chan error, 1), news: make(chan struct{}, 1)}
	o := paho.NewClientOptions().AddBroker("tcp://" + h.addr).SetClientID(a.id).SetUsername(a.user).SetPassword(a.key).
		SetProtocolVersion(4).SetAutoReconnect(false).SetCleanSession(!a.keep).SetConnectTimeout(patience).SetWriteTimeout(5 * time.Second).
		SetConnectionLostHandler(func(_ paho.Client, err error) { p.lost <- err }).
		SetDefaultPublishHandler(func(_ paho.Client, m paho.Message) {
			p.mu.Lock()
			p.received = append(p.received, received{m.Topic(), string(m.Payload()), m.Retained()})
			p.mu.Unlock()
			select {
			case p.news <- struct{}{}:
			default:
			}
		})
	if a.will != "" {
		o.SetWill(a.will, `{"state":"lost","epoch":1}`, 1, true)
	}
	p.Client = paho.NewClient(o)
	t := p.Connect()
	t.Wait()
	h.Cleanup(func() { p.Disconnect(0) })
	return p, t.Error()
}

func (h *harness) connect(a login) *client {
	h.Helper()
	p, err := h.try(a)
	if err != nil {
		h.Fatalf("%s: %v", a.id, err)
	}
	return p
}

// subscribe reports whether the broker grants a subscription.
func (p *client) subscribe(filter string) bool {
	p.h.Helper()
	t := p.Subscribe(filter, 1, nil)
	if !t.WaitTimeout(patience) {
		p.h.Fatalf("no answer to a subscription of %s", filter)
	}
	return t.Error() == nil && t.(*paho.SubscribeToken).Result()[filter] <= 2
}

func (p *client) listen(filters ...string) *client {
	p.h.Helper()
	for _, f := range filters {
		if !p.subscribe(f) {
			p.h.Fatalf("may not read %s", f)
		}
	}
	return p
}

// publish publishes with QoS 1, and waits for the PUBACK or the loss of the connection. It reports
// whether the PUBACK came.
func (p *client) publish(topic, text string) bool { return p.publishWith(topic, text, 1, false) }

func (p *client) publishWith(topic, text string, qos byte, retain bool) bool {
	p.h.Helper()
	t := p.Publish(topic, qos, retain, text)
	select {
	case <-t.Done():
		return t.Error() == nil
	case err := <-p.lost:
		p.lost <- err
		return false
	case <-time.After(patience):
		p.h.Fatalf("no word of the broker about %s", topic)
		return false
	}
}

// waitFor waits for something that a peer gets.
func (p *client) waitFor(what string, ok func(received) bool) received {
	p.h.Helper()
	limit := time.After(patience)
	for {
		p.mu.Lock()
		for _, r := range p.received {
			if ok(r) {
				p.mu.Unlock()
				return r
			}
		}
		p.mu.Unlock()
		select {
		case <-p.news:
		case <-limit:
			p.h.log.mu.Lock()
			defer p.h.log.mu.Unlock()
			p.h.Fatalf("missing message: %s; received: %v; log:\n%s", what, p.all(), p.h.log.text.String())
		}
	}
}

func (p *client) waitForText(text string) received {
	p.h.Helper()
	return p.waitFor(text, func(r received) bool { return strings.Contains(r.text, text) })
}

func (p *client) all() []received {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]received{}, p.received...)
}

// count is how often something with a text has come.
func (p *client) count(text string) (n int) {
	for _, r := range p.all() {
		if strings.Contains(r.text, text) {
			n++
		}
	}
	return n
}

const root = "mess/1/home/"

// newExecutor is an executor with a key that has registered and is ready.
func (h *harness) newExecutor(id string) *client {
	h.Helper()
	p := h.connect(login{id: id, user: id, key: h.key(id, exchange.ExecutorRole)}).listen(root+"e/"+id+"/in", root+"e/"+id+"/now")
	p.publishWith(root+"e/"+id+"/status", `{"state":"ready","epoch":5}`, 1, true)
	p.publish(root+"e/"+id+"/out", `{"id":"reg","MESS":[{"config":{"executor":{"id":"`+id+`","capabilities":["take-photo"],"versions":["1.1.0"],"holding":[]}}}]}`)
	p.waitForText(`"re":"reg"`)
	return p
}

// request posts a request from an actor in this process, and returns its ref.
func (h *harness) request(text string) string {
	h.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		h.Fatal(err)
	}
	answer, err := h.x.Post(h.Context(), exchange.Inbound{Actor: exchange.Actor{ID: "asker", Roles: exchange.Requester}, Channel: "test", Message: m})
	if err != nil {
		h.Fatal(err)
	}
	return messeaf.ThreadRef(answer.Items[0].(*mess.Ack).Ref)
}

// eventually waits until ok returns true, and fails after patience.
func (h *harness) eventually(what string, ok func() bool) {
	h.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	h.Fatalf("not within the time limit: %s", what)
}

func (h *harness) threads() int {
	h.Helper()
	page, err := h.x.List(h.Context(), exchange.Actor{ID: "look", Roles: exchange.Observer}, exchange.Filter{Limit: 1000})
	if err != nil {
		h.Fatal(err)
	}
	return len(page.Threads)
}
