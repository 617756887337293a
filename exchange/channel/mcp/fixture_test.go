package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/channel/mcp"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

var (
	model   = exchange.Actor{ID: "claude", Roles: exchange.Requester}
	watcher = exchange.Actor{ID: "watcher", Roles: exchange.Observer}
	kitchen = exchange.Actor{ID: "kitchen-pi", Roles: exchange.ExecutorRole}
)

// harness is a fixture: a real exchange with an executor that carries out each request.
type harness struct {
	testing.TB
	x         *exchange.Exchange
	executors *exchange.Local
	running   sync.WaitGroup
	offered   map[string]bool
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	h := newHarnessWithoutExecutor(t)
	h.sendFromExecutor(`config: {executor: {id: kitchen-pi, versions: [1.1.0], capabilities: [take-photo]}}`)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	h.running.Go(func() { _ = h.executors.Receive(ctx, func(m mess.Message) { h.execute(ctx, m) }) })
	return h
}

// newHarnessWithoutExecutor returns a fixture without an executor.
func newHarnessWithoutExecutor(t testing.TB) *harness {
	t.Helper()
	cfg := exchange.DefaultConfig()
	cfg.Confirm = exchange.ConfirmScript // the test is the person
	cfg.Catalog = []exchange.Definition{{ID: "take-photo", Description: "Take a photo", Tags: []string{"visual"}}}
	x, err := exchange.Open(t.Context(), cfg, memory.New(), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{TB: t, x: x, executors: x.As(kitchen, "local"), offered: map[string]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); h.running.Wait() })
	h.running.Go(func() { _ = x.Run(ctx) })
	return h
}

// sendFromExecutor sends a message of the executor.
func (h *harness) sendFromExecutor(text string) {
	m, err := mess.Parse([]byte(text))
	if err == nil {
		_, err = h.executors.Send(context.Background(), m)
	}
	if err != nil {
		h.Errorf("post by the executor of %s: %v", text, err)
	}
}

// sendToThread sends a message of the executor to a thread.
func (h *harness) sendToThread(ref, items string) {
	h.sendFromExecutor("re: " + ref + "\nMESS: " + items)
}

// execute is the executor: it carries out a request.
func (h *harness) execute(ctx context.Context, m mess.Message) {
	if len(m.Items) == 0 || len(m.Re) == 0 {
		return
	}
	ref := m.Re[0]
	switch i := m.Items[0].(type) {
	case *mess.Request:
		if h.offered[ref] {
			return // the thread was open already, and its event follows
		}
		h.offered[ref] = true
		h.sendToThread(ref, `[{status: {code: claimed}}]`)
		switch i.Intent {
		case "photo":
			h.photo(ctx, ref)
		case "inline":
			h.sendToThread(ref, `[{status: {code: in_progress, progress_pct: 50, message: looking}}]`)
			h.sendToThread(ref, `[{status: {code: completed, evidence: photographed}}, {response: {content: [here it is, {image: "`+mess.DataURI("image/jpeg", picture(64, 48))+`"}, "see ![x](data:text/plain;base64,aGk=) there"], notes: "data:,x"}}]`)
		case "ask":
			h.sendToThread(ref, `[{status: {code: needs_input, questions: [{field: area, question: "where?", options: [sink, stove]}]}}]`)
		case "ask twice":
			h.sendToThread(ref, `[{status: {code: needs_input, questions: [{field: a, question: "where?"}, {field: b, question: "when?"}]}}]`)
		case "confirm":
			h.sendToThread(ref, `[{status: {code: needs_confirmation, action: open the valve, action_hash: abc, reversible: true}}]`)
		case "operator":
			h.sendToThread(ref, `[{status: {code: needs_confirmation, action: open the door, action_hash: abc, confirm_by: operator}}]`)
		case "unknown":
			h.sendToThread(ref, `[{status: {code: in_progress}}]`)
			h.sendToThread(ref, `[{status: {code: failed, reason: {type: interrupted, effect: unknown, detail: power cut}}}]`)
		}
	case *mess.Reply:
		if _, half := i.Answers.Get("a"); half || i.Accept != nil {
			return
		}
		if i.Confirm != nil && !*i.Confirm {
			h.sendToThread(ref, `[{status: {code: cancelled}}]`)
			return
		}
		h.sendToThread(ref, `[{status: {code: in_progress, action_hash: abc}}]`)
		h.sendToThread(ref, `[{status: {code: completed, evidence: acknowledged}}, {response: {content: [done]}}]`)
	case *mess.Cancel:
		h.sendToThread(ref, `[{status: {code: cancelled, reason: {effect: partial}}}]`)
	}
}

func (h *harness) photo(ctx context.Context, ref string) {
	h.sendToThread(ref, `[{status: {code: in_progress}}]`)
	media, err := h.executors.Attach(ctx, ref, "fridge.jpg", "image/jpeg", bytes.NewReader(picture(640, 480)))
	if err != nil {
		h.Error(err)
		return
	}
	media.CapturedAt = "2026-11-21T09:44:50Z"
	_, err = h.executors.Send(ctx, mess.Message{Re: mess.Refs{ref}, Items: []mess.Item{
		&mess.Status{Code: mess.Completed, Evidence: mess.Photographed},
		&mess.Response{Content: []mess.Entry{mess.TextEntry("the fridge"), mess.MediaEntry("image", media)}},
	}})
	if err != nil {
		h.Error(err)
	}
}

// picture is a JPEG with something to see.
func picture(w, ht int) []byte {
	img := image.NewRGBA(image.Rect(0, 0, w, ht))
	for y := range ht {
		for x := range w {
			img.Set(x, y, color.RGBA{byte(x * y), byte(x ^ y), byte(x + y), 255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 95}); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// mcpClient is an MCP client with the notifications that it has got.
type mcpClient struct {
	*harness
	*sdk.ClientSession
	mu            sync.Mutex
	notifications *sync.Cond
	updated       []string
	listed        int
	steps         []*sdk.ProgressNotificationParams
	// Over stdio.
	ended    sync.WaitGroup // the server
	toServer io.Closer
}

func (h *harness) client() (*mcpClient, *sdk.Client) {
	g := &mcpClient{harness: h}
	g.notifications = sync.NewCond(&g.mu)
	note := func(do func()) {
		g.mu.Lock()
		defer g.mu.Unlock()
		do()
		g.notifications.Broadcast()
	}
	return g, sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			note(func() { g.updated = append(g.updated, r.Params.URI) })
		},
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { note(func() { g.listed++ }) },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			note(func() { g.steps = append(g.steps, r.Params) })
		},
	})
}

// waitUntil waits for notifications of the server.
func (g *mcpClient) waitUntil(ready func() bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !ready() {
		g.notifications.Wait()
	}
}

// overStdio is a client at the other end of two pipes.
func (h *harness) overStdio(actor exchange.Actor) *mcpClient {
	h.Helper()
	return h.connectTo(mcp.LocalExchange(h.x, actor))
}

func (h *harness) connectTo(x mcp.Exchange) *mcpClient {
	h.Helper()
	g, c := h.client()
	in, toServer := io.Pipe()
	g.toServer = toServer
	fromServer, out := io.Pipe()
	s := mcp.New(x, "1.2.3", slog.New(slog.DiscardHandler))
	g.ended.Go(func() {
		if err := s.Serve(context.Background(), in, out); err != nil {
			h.Errorf("Serve: %v", err)
		}
	})
	var err error
	if g.ClientSession, err = c.Connect(h.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil); err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = g.Close(); g.ended.Wait() })
	return g
}

// httpServer is the HTTP server of the exchange with the MCP server behind it.
type httpServer struct {
	*harness
	keys   *keys.Keys
	server *httpapi.Server
	url    string
	line   *http.Transport
	stop   func() // and wait
}

func (h *harness) overHTTP(cfg httpapi.Config, mc mcp.Config) *httpServer {
	h.Helper()
	k, err := keys.Open(h.TempDir(), "home")
	if err != nil {
		h.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	d := mcp.NewHTTPServer(h.x, mc, "1.2.3", log)
	cfg.MountedHandlers = map[string]httpapi.MountedHandler{"/mcp": d}
	w := &httpServer{harness: h, keys: k, server: httpapi.New(h.x, k, cfg, log), line: &http.Transport{}}
	s := httptest.NewServer(w.server.Handler())
	w.url = s.URL
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := d.Run(ctx); err != nil {
			h.Error(err)
		}
	})
	w.stop = func() { cancel(); ended.Wait() }
	h.Cleanup(func() { w.stop(); w.line.CloseIdleConnections(); s.CloseClientConnections(); s.Close() })
	return w
}

func (w *httpServer) key(actor exchange.Actor) string {
	w.Helper()
	key, err := w.keys.Rotate(actor.ID, actor.Roles)
	if err != nil {
		w.Fatal(err)
	}
	return key
}

// bearerTransport sends a key with every request.
type bearerTransport struct {
	key  string
	line http.RoundTripper
}

func (b bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return b.line.RoundTrip(r)
}

func (w *httpServer) transport(key string) *sdk.StreamableClientTransport {
	return &sdk.StreamableClientTransport{Endpoint: w.url + "/mcp", HTTPClient: &http.Client{Transport: bearerTransport{key, w.line}}, MaxRetries: -1}
}

func (w *httpServer) connect(key string) *mcpClient {
	w.Helper()
	g, c := w.client()
	var err error
	if g.ClientSession, err = c.Connect(w.Context(), w.transport(key), nil); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = g.Close() })
	return g
}

// outcome is a result in a form that tests can look at.
type outcome struct {
	*sdk.CallToolResult
	text string
	v    map[string]any
}

func (g *mcpClient) call(name string, arguments any) outcome {
	g.Helper()
	res, err := g.CallTool(g.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		g.Fatalf("%s %v: %v", name, arguments, err)
	}
	o := outcome{CallToolResult: res}
	for _, c := range res.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			o.text += t.Text
		}
	}
	o.v, _ = res.StructuredContent.(map[string]any)
	all, err := json.Marshal(res)
	if err != nil || o.v == nil {
		g.Fatalf("%s: %v, %s", name, err, all)
	}
	if dataPattern.Match(all) {
		g.Errorf("%s: a data URI reached the result: %.500s", name, all)
	}
	return o
}

// mustCall calls a tool that must not fail.
func (g *mcpClient) mustCall(name string, arguments any) outcome {
	g.Helper()
	o := g.call(name, arguments)
	if o.IsError {
		g.Fatalf("%s %v: %s", name, arguments, o.text)
	}
	return o
}

// wantToolError calls a tool that must fail with these words in its error.
func (g *mcpClient) wantToolError(name string, arguments any, words ...string) {
	g.Helper()
	o := g.call(name, arguments)
	for _, w := range words {
		if !o.IsError || !strings.Contains(o.text, w) {
			g.Errorf("%s %.200s: error %v, %s; want %q in it", name, arguments, o.IsError, o.text, w)
		}
	}
}

func (o outcome) field(name string) string {
	s, _ := o.v[name].(string)
	return s
}

// request makes a request and returns its ref.
func (g *mcpClient) request(intent string) string {
	g.Helper()
	return g.mustCall("mess_request", map[string]any{"intent": intent}).field("ref")
}

// waitForEnd waits for the end of a request.
func (g *mcpClient) waitForEnd(ref string, status mess.Code) outcome {
	g.Helper()
	o := g.mustCall("mess_wait", map[string]any{"ref": ref})
	if o.field("status") != string(status) {
		g.Fatalf("%s: %s, want %s", ref, o.text, status)
	}
	return o
}

// kitchenless is a requester without requests.
var kitchenless = exchange.Actor{ID: "stranger", Roles: exchange.Requester}

// anyHTTP is the default configuration of the HTTP server.
var anyHTTP = httpapi.Config{}

func (w *httpServer) withKey(actor exchange.Actor) *mcpClient { return w.connect(w.key(actor)) }
