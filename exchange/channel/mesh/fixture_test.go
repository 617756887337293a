package mesh_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/test/scenario"
	"github.com/messkit/messkit/mess"
)

const (
	tokenHere = "token-of-arm" // token that peers send to the agent
	tokenHub  = "token-of-hub" // token that the agent sends to the hub
	shared    = "90c3df646cbd62eea9c7004e1f24037f62f3457e03a1f24adad2216c900c7c5c"
)

// fixture is an exchange with an executor and the adapter under test.
type fixture struct {
	*scenario.Executor
	x             *exchange.Exchange
	adapter       *mesh.Adapter
	hub           *hub
	server        *httptest.Server
	cfg           peers.Config
	dir           string
	running       sync.WaitGroup
	disk          *disk
	storage       error // error of the program's disk
	stop          context.CancelFunc
	notifications []string // notifications
	doing         sync.Mutex
}

// noticed returns the notifications to people.
func (h *fixture) noticed() []string {
	h.doing.Lock()
	defer h.doing.Unlock()
	return slices.Clone(h.notifications)
}

// disk is a store that can be full or lose power.
type disk struct {
	exchange.Store
	full  atomic.Bool
	power atomic.Pointer[power]
}

// write calls do unless the disk is full or without power. If answered is true, the writer always
// learns the result.
func (d *disk) write(answered bool, do func() error) error {
	if d.full.Load() {
		return errFull
	}
	if p := d.power.Load(); p != nil {
		return p.write(answered, do)
	}
	return do()
}

var errFull = errors.New("no space left on device")

func (d *disk) Put(ctx context.Context, kind, name string, doc []byte, after thread.Rev) (rev thread.Rev, err error) {
	err = d.write(false, func() error {
		rev, err = d.Store.Put(ctx, kind, name, doc, after)
		return err
	})
	return rev, err
}

func (d *disk) Append(ctx context.Context, step thread.Step) (rev thread.Rev, err error) {
	if step.After != "" {
		return d.Store.Append(ctx, step)
	}
	err = d.write(true, func() error { // the exchange continues here
		rev, err = d.Store.Append(ctx, step)
		return err
	})
	return rev, err
}

// newFixture opens a fixture; change may change the configuration of the adapter.
func newFixture(t testing.TB, change func(*peers.Config)) *fixture {
	t.Helper()
	on := &disk{Store: memory.New()}
	x, err := exchange.Open(t.Context(), exchange.DefaultConfig(), on, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	h := &fixture{Executor: scenario.NewExecutor(t, x), x: x, hub: newHub(t), dir: t.TempDir(), disk: on}
	h.React = h.react
	h.cfg = peers.DefaultConfig()
	h.cfg.On, h.cfg.Token, h.cfg.Burst = true, tokenHere, 1000
	h.cfg.Peers = map[string]peers.Peer{"hub": {URL: h.hub.URL, Token: tokenHub}, "beta": {URL: "http://127.0.0.1:1", Token: "x"}}
	if change != nil {
		change(&h.cfg)
	}
	if err := h.cfg.Load("arm_01", func(s string) string { return s }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); h.running.Wait() })
	h.running.Go(func() { _ = x.Run(ctx) })
	h.Register()
	h.running.Go(func() { h.Run(ctx) })
	h.open()
	return h
}

// open opens the adapter as the next run does.
func (h *fixture) open() {
	h.Helper()
	if h.server == nil {
		h.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasPrefix(r.URL.Path, mesh.FilesPath):
				h.adapter.ServeFile(w, r)
			case r.URL.Path == "/api/status":
				h.adapter.ServeStatus(w, r)
			case r.URL.Path == mesh.ControlPath:
				h.adapter.Serve(exchange.Actor{ID: "operator", Roles: exchange.Operator}, w, r)
			default:
				h.adapter.ServeHTTP(w, r)
			}
		}))
		h.Cleanup(h.server.Close)
	}
	d, err := mesh.Open(context.Background(), h.x, h.cfg, mesh.Options{
		Dir: h.dir, Base: h.server.URL, Version: "test", YesNo: catalog.MatchYesNo, Storage: func() error { return h.storage },
		Watch: 10 * time.Millisecond,
		Notice: func(p mess.Priority, text string) {
			h.doing.Lock()
			defer h.doing.Unlock()
			h.notifications = append(h.notifications, string(p)+" "+text)
		},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		h.Fatal(err)
	}
	h.adapter = d
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	h.stop = func() { cancel(); <-ended }
	h.running.Go(func() { defer close(ended); _ = d.Run(ctx) })
	h.Cleanup(cancel)
}

// envelope returns a message of the hub.
func envelope(kind wire.Type, id, body string) wire.Envelope {
	return wire.Envelope{ID: id, Time: time.Now(), From: "hub", To: "arm_01", Type: kind, TTL: 5 * time.Minute, Payload: wire.Payload{Subject: body, Body: body}}
}

// request returns a request of the hub with an address for the answer.
func (h *fixture) request(id, body string) wire.Envelope {
	e := envelope(wire.Request, id, body)
	e.ReplyTo = &wire.ReplyTo{URL: h.hub.URL + "/hooks/arm_01", Token: tokenHub}
	return e
}

// post posts a message as the hub, and returns the status code and the body of the answer.
func (h *fixture) post(e wire.Envelope) (int, map[string]any) {
	h.Helper()
	return h.raw("/hooks/"+e.From, tokenHere, string(wire.Hook{Message: e.Text()}.Text()))
}

func (h *fixture) raw(path, token, body string) (int, map[string]any) {
	h.Helper()
	req, err := http.NewRequest(http.MethodPost, h.server.URL+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return h.roundTrip(req)
}

func (h *fixture) roundTrip(req *http.Request) (int, map[string]any) {
	h.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	defer res.Body.Close()
	var v map[string]any
	if err := json.NewDecoder(res.Body).Decode(&v); err != nil {
		h.Fatal(err)
	}
	return res.StatusCode, v
}

// takes posts a message that the agent must accept.
func (h *fixture) takes(e wire.Envelope) map[string]any {
	h.Helper()
	code, v := h.post(e)
	if code != http.StatusAccepted || v["ok"] != true {
		h.Fatalf("%s: %d %v", e.ID, code, v)
	}
	return v
}

// react is the executor: the intent of the request selects its reaction.
func (h *fixture) react(ctx context.Context, ref string, item mess.Item) {
	switch i := item.(type) {
	case *mess.Request:
		h.RecordAct("request " + i.Intent)
		h.SendTo(ref, `[{status: {code: claimed}}]`)
		switch i.Intent {
		case "photo":
			h.photo(ctx, ref, 640)
		case "small photo":
			h.photo(ctx, ref, 48)
		case "ask":
			h.SendTo(ref, `[{status: {code: needs_input, questions: [{field: area, question: "where?", options: [sink, stove]}]}}]`)
		case "ask two":
			h.SendTo(ref, `[{status: {code: needs_input, questions: [{field: area, question: "where?"}, {field: depth, question: "how deep?"}]}}]`)
		case "confirm":
			h.SendTo(ref, `[{status: {code: needs_confirmation, action: open the valve, action_hash: abc, consequences: It may drip.}}]`)
		case "fail":
			h.SendTo(ref, `[{status: {code: in_progress}}]`)
			h.SendTo(ref, `[{status: {code: failed, reason: {type: interrupted, effect: unknown, detail: power cut}}}]`)
		case "forever":
			h.SendTo(ref, `[{status: {code: in_progress, progress_pct: 10, message: looking, eta: "2030-01-01T09:00:00+01:00"}}]`)
		default:
			h.SendTo(ref, `[{status: {code: in_progress}}]`)
			h.SendTo(ref, `[{status: {code: completed, evidence: read_back}}, {response: {content: ["47 tanks"]}}]`)
		}
	case *mess.Reply:
		if i.Confirm != nil && !*i.Confirm {
			h.SendTo(ref, `[{status: {code: cancelled}}]`)
			return
		}
		h.RecordAct("reply " + textOf(i.Answers))
		h.SendTo(ref, `[{status: {code: in_progress, action_hash: abc}}]`)
		h.SendTo(ref, `[{status: {code: completed}}, {response: {content: [done]}}]`)
	case *mess.Cancel:
		h.SendTo(ref, `[{status: {code: cancelled, reason: {effect: partial}}}]`)
	}
}

// count returns how often the executor did something.
func (h *fixture) count(what string) (n int) {
	for _, one := range h.Acts() {
		if one == what {
			n++
		}
	}
	return n
}

func (h *fixture) photo(ctx context.Context, ref string, side int) {
	h.SendTo(ref, `[{status: {code: in_progress}}]`)
	h.Photo(ctx, ref, picture(side, side), "")
}

// picture returns a JPEG with much detail.
func picture(w, ht int) []byte {
	img := image.NewRGBA(image.Rect(0, 0, w, ht))
	for y := range ht {
		for x := range w {
			img.Set(x, y, color.RGBA{byte(x * y), byte(x ^ y), byte(x * x * y), 255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 95}); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// audit returns the audit log.
func (h *fixture) audit() []map[string]any {
	h.Helper()
	_, v := h.order(`{"do":"audit","lines":1000}`)
	list, _ := v["audit"].([]any)
	var lines []map[string]any
	for _, one := range list {
		lines = append(lines, one.(map[string]any))
	}
	return lines
}

// audited reports whether the log has a line with a status.
func (h *fixture) audited(status string) bool {
	for _, l := range h.audit() {
		if l["status"] == status {
			return true
		}
	}
	return false
}

// order calls the API of the agent as an operator.
func (h *fixture) order(text string) (int, map[string]any) {
	h.Helper()
	return h.raw(mesh.ControlPath, "", text)
}

// until waits until a condition is true.
func (h *fixture) until(what string, is func() bool) {
	h.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if is() {
			return
		}
	}
	h.Fatalf("%s: not within %v", what, patience)
}

func textOf(o mess.Object) string {
	text, _ := json.Marshal(o)
	return string(text)
}

var watcher = exchange.Actor{ID: "watcher", Roles: exchange.Observer}
