package natsapi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/natsapi"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/exchange/remote/natsclient"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/internal/test/natsserver"
	"github.com/messkit/messkit/mess"
)

var (
	quiet    = slog.New(slog.DiscardHandler)
	subjects = natslink.Of("mess", "home")
	asker    = exchange.Actor{ID: "asker", Roles: exchange.Requester}
	boss     = exchange.Actor{ID: "boss", Roles: exchange.Operator}
)

const (
	patience = time.Minute            // for what must come
	beat     = 200 * time.Millisecond // between two signs of life in a session
)

// sharedStore is a store in memory that several exchanges use.
type sharedStore struct{ *memory.Store }

func (sharedStore) Shared() {}

// rig is NATS servers with exchanges over one store and one set of keys.
type rig struct {
	*testing.T
	server *natsserver.Server
	store  sharedStore
	keys   *keys.Keys
}

func newRig(t *testing.T, conf string) *rig {
	t.Helper()
	r := &rig{T: t, server: natsserver.Start(t, natsserver.Options{More: conf}), store: sharedStore{memory.New()}}
	var err error
	if r.keys, err = keys.Open(t.TempDir(), "home"); err != nil {
		t.Fatal(err)
	}
	return r
}

// address returns the address of the server for a user; "" for none.
func (r *rig) address(seed string) natslink.Address {
	r.Helper()
	a := natslink.Address{URL: r.server.URL()}
	if seed != "" {
		a.NKey = filepath.Join(r.TempDir(), "user.nk")
		if err := os.WriteFile(a.NKey, []byte(seed), 0o600); err != nil {
			r.Fatal(err)
		}
	}
	return a
}

// run runs f until the test ends, or until a call of the returned function.
func (r *rig) run(f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := f(ctx); err != nil {
			r.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	r.Cleanup(stop)
	return stop
}

// node is an exchange that serves executors over NATS.
type node struct {
	x    *exchange.Exchange
	api  *natsapi.API
	stop func() // ends its service for executors
}

func (r *rig) node(seed string) node {
	r.Helper()
	cfg := exchange.DefaultConfig()
	x, err := exchange.Open(r.Context(), cfg, r.store, time.Now, quiet)
	if err != nil {
		r.Fatal(err)
	}
	r.run(x.Run)
	api := natsapi.New(x, r.keys, natsapi.Config{Address: r.address(seed), Subjects: subjects, MaxAttachment: cfg.MaxAttachment, Beat: beat}, quiet)
	if err := api.Connect(); err != nil {
		r.Fatal(err)
	}
	return node{x: x, api: api, stop: r.run(api.Run)}
}

// executor is an executor over NATS that registers, and again when messages may be lost.
type executor struct {
	*natsclient.Client
	r    *rig
	id   string
	got  chan mess.Message
	stop func()
}

// client makes the client of an executor with a key.
func (r *rig) client(id, key, seed string) *natsclient.Client {
	r.Helper()
	c, err := natsclient.New(natsclient.Config{Address: r.address(seed), Executor: id, Key: keyOf(key)}, quiet)
	if err != nil {
		r.Fatal(err)
	}
	return c
}

func (r *rig) issue(id string) string {
	r.Helper()
	key, err := r.keys.Issue(id, exchange.ExecutorRole)
	if err != nil {
		r.Fatal(err)
	}
	return key
}

func (r *rig) executor(id, seed string) *executor {
	r.Helper()
	e := &executor{Client: r.client(id, r.issue(id), seed), r: r, id: id, got: make(chan mess.Message, 1024)}
	stopClient := r.run(e.Run)
	e.register(r.Context())
	stopReceive := r.run(func(ctx context.Context) error {
		for ctx.Err() == nil {
			err := e.Receive(ctx, func(m mess.Message) { e.got <- m })
			if errors.Is(err, httpclient.ErrReset) {
				e.register(ctx)
			}
		}
		return nil
	})
	e.stop = func() { stopReceive(); stopClient() }
	return e
}

func (e *executor) register(ctx context.Context) {
	_, err := e.sendIn(ctx, `config: {executor: {id: `+e.id+`, capabilities: [look], versions: [1.1.0], holding: []}}`)
	if err != nil && ctx.Err() == nil && !errors.Is(err, mess.Unauthorized) { // a test revokes the key
		e.r.Errorf("registration of %s: %v", e.id, err)
	}
}

func (e *executor) send(text string) (mess.Message, error) {
	return e.sendIn(context.Background(), text)
}

func (e *executor) sendIn(ctx context.Context, text string) (mess.Message, error) {
	m, err := mess.Parse([]byte(text))
	if err != nil {
		return m, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return e.Send(ctx, m)
}

// await waits for a message that ok accepts, and discards others.
func (e *executor) await(what string, ok func(mess.Message) bool) mess.Message {
	e.r.Helper()
	limit := time.After(patience)
	for {
		select {
		case m := <-e.got:
			if ok(m) {
				return m
			}
		case <-limit:
			e.r.Fatalf("%s has not received: %s", e.id, what)
		}
	}
}

func (e *executor) offer(ref string) {
	e.r.Helper()
	e.await("the offer of "+ref, func(m mess.Message) bool {
		return len(m.Re) == 1 && m.Re[0] == ref && m.Items[0].Kind() == mess.KindRequest
	})
}

// ask makes a request at an exchange, and returns its ref.
func (n node) ask(t *testing.T, context string) string {
	t.Helper()
	m, err := mess.Parse([]byte(`request: {intent: look, requires: [look]` + context + `}`))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := n.x.Post(t.Context(), exchange.Inbound{Actor: asker, Message: m})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Items[0].(*mess.Ack).Ref
}

// eventually waits until ask returns true.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !ask(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// documentedConf returns the configuration of the servers in the documentation, with the keys of users.
func documentedConf(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/reference/nats.md")
	if err != nil {
		t.Fatal(err)
	}
	const begin = "accounts: {\n"
	_, conf, _ := strings.Cut(string(page), "```\n"+begin)
	conf, _, ok := strings.Cut(conf, "```")
	if !ok {
		t.Fatal("the page has no configuration")
	}
	return strings.NewReplacer("EXCHANGE_KEY", exchangeKey, "PI_KEY", piKey, "ARM_KEY", armKey).Replace(begin + conf)
}

// keyOf returns the function that reads a key.
func keyOf(key string) func() (httpclient.Secret, error) {
	return func() (httpclient.Secret, error) { return httpclient.Secret(key), nil }
}

// The seeds and public keys of three users that exist in these tests only.
const (
	exchangeSeed = "SUAKKMONXEYNQE5A3HCLPT5IH4IFCCON5VIAYPNLW5U3QNLKXAN2YY7DCA"
	exchangeKey  = "UAS44WYNB6ZCKAZDYYNSOLPPSMLBKWD7S2PACQS4OAUFQDDFGNZTNVHC"
	piSeed       = "SUAKQX2F34PBTRJQ4VWWGBPIGLJ4AHSMC5AWT6V6K6PSMJAHG2SGVZAG5I"
	piKey        = "UBAETNJDHRFHWO4DM33MLYAF6RM5X4HER2BKWP2YYJSC6MYMEHDY3YUY"
	armSeed      = "SUAI5QHXIH53DAVXGI3DGBW7AZEFOZ5NEUQPKP2KQ2CHBBLC2OOYJMNU3Y"
	armKey       = "UDFKQ2YES6X5EE6RSDLSZBGY56NPZP5AATXNELSY3FRYZKQZIGFPKTED"
)

// claim takes a request, and ends it.
func (e *executor) claim(ref string) error {
	answer, err := e.send(`{re: ` + ref + `, id: claim-` + e.id + ref + `, MESS: [{status: {code: claimed}}]}`)
	if err != nil {
		return err
	}
	epoch := fmt.Sprint(answer.Items[0].(*mess.Ack).Epoch)
	if _, err := e.send(`{re: ` + ref + `, epoch: ` + epoch + `, MESS: [{status: {code: in_progress}}]}`); err != nil {
		return err
	}
	_, err = e.send(`{re: ` + ref + `, epoch: ` + epoch + `, MESS: [{status: {code: completed, evidence: acknowledged}}, {response: {content: [{text: done}]}}]}`)
	return err
}
