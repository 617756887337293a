package reference_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/exchange/remote/reference"
	"github.com/messkit/messkit/internal/test/referenceserver"
	"github.com/messkit/messkit/mess"
)

var quiet = slog.New(slog.DiscardHandler)

// plainTransport passes requests to a server in this process, for fake time.
type plainTransport struct{ http.Handler }

func (s plainTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// referenceServer is a reference server with a requester.
type referenceServer struct {
	*testing.T
	*referenceserver.Server
	keys map[string]string
}

func newReferenceServer(t *testing.T, name string) *referenceServer {
	t.Helper()
	s, err := referenceserver.New(name)
	if err != nil {
		t.Fatal(err)
	}
	p := &referenceServer{t, s, map[string]string{}}
	p.join("agent")
	return p
}

const base = "/api/v1/exchanges/home"

func (p *referenceServer) join(id string) {
	p.Helper()
	var v struct {
		Key string `json:"api_key"`
	}
	p.call("", "POST", "/register", map[string]any{"executor_id": id}, &v)
	p.keys[id] = v.Key
}

// call sends a request like another client would, and fails unless the response is successful.
func (p *referenceServer) call(as, method, path string, in, out any) {
	p.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		p.Fatal(err)
	}
	r := httptest.NewRequest(method, base+path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+p.keys[as])
	w := httptest.NewRecorder()
	p.Answer(w, r) // the faults affect executors only
	if w.Code/100 != 2 || out != nil && json.Unmarshal(w.Body.Bytes(), out) != nil {
		p.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
}

// request creates a request, with fields that these servers store or drop.
func (p *referenceServer) request(fields map[string]any) (ref string) {
	p.Helper()
	var v struct{ Ref string }
	p.call("agent", "POST", "/requests", fields, &v)
	return v.Ref
}

func (p *referenceServer) post(as, ref string, items ...any) {
	p.Helper()
	p.call(as, "PATCH", "/requests/"+ref, map[string]any{"mess": items}, nil)
}

// thread is a thread in the server's response.
type thread struct {
	Status   string
	Executor string `json:"executor_id"`
	Messages []struct {
		From string
		MESS any
	}
}

// items returns the items of a message, by their kind.
func (t thread) items(n int) (all []map[string]any) {
	list, _ := t.Messages[n].MESS.([]any)
	for _, one := range list {
		item, _ := one.(map[string]any)
		all = append(all, item)
	}
	return all
}

func (p *referenceServer) thread(ref string) thread {
	p.Helper()
	var v struct{ Thread thread }
	p.call("agent", "GET", "/requests/"+ref, nil, &v)
	return v.Thread
}

// texts returns the statuses of an actor, in the spelling of the messages.
func (t thread) texts(by string) (codes []string) {
	for i, m := range t.Messages {
		for _, item := range t.items(i) {
			s, _ := item["status"].(map[string]any)
			if m.From == by && (s["executor"] != nil || s["evidence"] != nil) {
				codes = append(codes, fmt.Sprint(s["code"]))
			}
		}
	}
	return codes
}

// executor is an executor without devices: it records received messages, and the test sends its
// messages.
type executor struct {
	*reference.Client
	t        *testing.T
	instance string
	serial   int
}

func (p *referenceServer) newExecutor(id, instance string, cfg reference.Config) *executor {
	p.Helper()
	if p.keys[id] == "" {
		p.join(id)
	}
	c, err := httpclient.New(httpclient.Config{URL: "http://field.example", Exchange: "home", Key: httpclient.Secret(p.keys[id]), Transport: plainTransport{p.Server}}, quiet)
	if err != nil {
		p.Fatal(err)
	}
	cfg.Executor = id
	return &executor{reference.New(c, cfg), p.T, instance, 0}
}

func (b *executor) register(holding ...mess.HeldThread) mess.Ack {
	b.t.Helper()
	e := &mess.Executor{ID: "x", Name: "Name", Capabilities: []mess.Capability{{ID: "look"}}, Holding: holding, Instance: b.instance}
	ack, err := b.send("", 0, &mess.Config{Executor: e})
	if err != nil {
		b.t.Fatal(err)
	}
	return ack
}

func (b *executor) send(ref string, epoch uint64, items ...mess.Item) (mess.Ack, error) {
	b.serial++
	m := mess.Message{ID: fmt.Sprint(b.instance, "-", b.serial), Epoch: epoch, Items: items}
	if ref != "" {
		m.Re = mess.Refs{ref}
	}
	answer, err := b.Send(b.t.Context(), m)
	if err != nil {
		return mess.Ack{}, err
	}
	return *answer.Items[0].(*mess.Ack), nil
}

func (b *executor) claim(ref string) (uint64, error) {
	ack, err := b.send(ref, 0, &mess.Status{Code: mess.Claimed, Instance: b.instance})
	return ack.Epoch, err
}

func (b *executor) start(ref string, epoch uint64) error {
	_, err := b.send(ref, epoch, &mess.Status{Code: mess.InProgress, Instance: b.instance, ActionHash: "hash"})
	return err
}

// inbox records the messages that an executor has received.
type inbox struct {
	mu   sync.Mutex
	list []mess.Message
}

func (m *inbox) handle(one mess.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, one)
}

func (m *inbox) all() []mess.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.list)
}

func (m *inbox) offers() (refs []string) {
	for _, one := range m.all() {
		if one.Items[0].Kind() == mess.KindRequest {
			refs = append(refs, one.Re[0])
		}
	}
	return refs
}

func (m *inbox) kinds() (kinds []mess.Kind) {
	for _, one := range m.all() {
		kinds = append(kinds, one.Items[0].Kind())
	}
	return kinds
}

// eachReferenceServer runs a test on every server.
func eachReferenceServer(t *testing.T, do func(t *testing.T, name string)) {
	t.Helper()
	for _, name := range referenceserver.Names() {
		t.Run(name, func(t *testing.T) { do(t, name) })
	}
}

func has(list []string, one string) bool { return slices.Contains(list, one) }
