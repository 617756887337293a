package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess/messeaf"
)

// sharedStore is a memory store that several exchanges use.
type sharedStore struct{ *memory.Store }

func (sharedStore) Shared() {}

// startNodes starts exchanges on one store.
func startNodes(t *testing.T, n int) (nodes []*harness) {
	store := sharedStore{memory.New()}
	for range n {
		nodes = append(nodes, newHarnessOver(t, httpapi.Config{}, exchange.DefaultConfig(), store).serve())
	}
	return nodes
}

// threadEvent is an event of a stream or a poll.
type threadEvent struct {
	id, name string
	data     struct {
		Thread  struct{ Ref string }
		Message struct{ Ref string }
	}
}

// traveller is a client that follows all threads at one node after the other.
type traveller struct {
	t     testing.TB
	nodes []*harness
	last  string              // id of the last event
	got   map[string][]string // refs of messages, by thread
	count int                 // of these messages
	moves int
	wrong []string // names of other events
}

// read reads at most most events of a stream at a node, until it has a number of messages.
func (c *traveller) read(ctx context.Context, node, most, until int) error {
	h := c.nodes[node]
	req, err := http.NewRequestWithContext(ctx, "GET", h.url+root+"/events", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+h.op)
	req.Header.Set("Last-Event-ID", c.last)
	res, err := h.line.RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	c.moves++
	in := bufio.NewReader(res.Body)
	var e threadEvent
	for most > 0 && c.count != until {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		switch {
		case key == "id":
			e.id = value
		case key == "event":
			e.name = value
		case key == "data":
			if err := json.Unmarshal([]byte(value), &e.data); err != nil {
				return err
			}
		case line == "\n" && e.name != "":
			most--
			c.take(e)
			e = threadEvent{}
		}
	}
	return nil
}

func (c *traveller) take(e threadEvent) {
	if e.id != "" {
		c.last = e.id
	}
	if e.name != "message" {
		c.wrong = append(c.wrong, e.name)
		return
	}
	ref := e.data.Thread.Ref
	c.count++
	c.got[ref] = append(c.got[ref], e.data.Message.Ref)
}

// A client that follows threads, and moves to another node every few events, gets each message once, and
// those of a thread in order. Meanwhile all nodes change threads.
func TestStreamMovesAmongNodes(t *testing.T) {
	nodes := startNodes(t, 3)
	c := &traveller{t: t, nodes: nodes, got: map[string][]string{}}
	var refs []string
	robots := make([]string, len(nodes)) // the keys of one executor at all nodes
	for i, h := range nodes {
		r := h.do("POST", root+"/keys", h.op, `{"actor":"robot","roles":["executor"]}`)
		h.want(r, 201, "")
		robots[i] = r.field("api_key")
	}
	nodes[0].want(nodes[0].do("POST", root+"/mess", robots[0], `[{"config":{"executor":{"id":"robot","capabilities":["look"]}}}]`), 200, "")
	write := func(ctx context.Context, node, n int) error {
		h := nodes[node]
		for i := range n {
			ref := h.create(h.op, fmt.Sprintf(`{"intent":"look","id":"n%d-%d","requires":["look"]}`, node, i))
			for _, status := range []string{"claimed", "in_progress", "completed"} { // at another node each time
				at := rand.IntN(len(nodes))
				r := reply{code: 409}
				for r.code == 409 && ctx.Err() == nil { // the node does not know the last report yet
					r = nodes[at].do("PATCH", root+"/requests/"+ref, robots[at], fmt.Sprintf(`{"status":%q}`, status))
				}
				if r.code != 200 {
					return fmt.Errorf("a report: %d %s", r.code, r.body)
				}
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return nil
	}
	r := nodes[0].do("GET", root+"/events?wait=0s", nodes[0].op, "")
	if c.last = r.field("last"); c.last == "" {
		t.Fatalf("the present position: %s", r.body)
	}
	const threads, messages = 25, 4
	g, ctx := errgroup.WithContext(t.Context())
	for node := range nodes {
		g.Go(func() error { return write(ctx, node, threads) })
	}
	travel := make(chan error, 1)
	go func() {
		var err error
		for node := 0; err == nil && c.count < 3*threads*messages; node = (node + 1 + rand.IntN(2)) % len(nodes) {
			err = c.read(t.Context(), node, 1+rand.IntN(5), 3*threads*messages)
		}
		travel <- err
	}()
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := <-travel; err != nil {
		t.Fatal(err)
	}
	for _, h := range nodes { // nothing comes again
		r := h.do("GET", root+"/events?wait=100ms&after="+c.last, h.op, "")
		h.want(r, 200, fmt.Sprintf(`{"events":[],"last":%q}`, c.last))
	}
	person := exchange.Actor{ID: "p", Roles: exchange.Operator}
	page, err := nodes[0].x.List(t.Context(), person, exchange.Filter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Threads {
		if e.Intent == "look" {
			refs = append(refs, e.Ref)
		}
	}
	if len(refs) != 75 || c.moves < 50 || len(c.wrong) > 0 {
		t.Errorf("%d threads, %d moves, other events %q", len(refs), c.moves, c.wrong)
	}
	for _, ref := range refs {
		one, err := nodes[0].x.Thread(t.Context(), person, ref)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, m := range one.Messages {
			if !messeaf.IsAck(m) {
				want = append(want, messeaf.Named(ref, m).Ref)
			}
		}
		if !slices.Equal(c.got[ref], want) {
			t.Errorf("%s: the client has the messages %q, want %q", ref, c.got[ref], want)
		}
	}
}

// A node answers an id that it cannot place with a reset, and never with a gap. Such an id is that of
// another store or of the future, an altered one, or one that is too old.
func TestNodeResetsUnknownPosition(t *testing.T) {
	nodes, away := startNodes(t, 2), startHarness(t, httpapi.Config{})
	position := func(h *harness) string { return h.do("GET", root+"/events?wait=0s", h.op, "").field("last") }
	for range 3 {
		nodes[0].create(nodes[0].op, `{"intent":"look"}`)
		away.create(away.op, `{"intent":"look"}`)
	}
	known := position(nodes[0])
	parts := strings.SplitN(known, "-", 3)
	if len(parts) != 3 {
		t.Fatalf("the id %q has no position", known)
	}
	pos, tag, _ := strings.Cut(parts[2], ".")
	for name, id := range map[string]string{
		"another store": position(away), "the future": parts[0] + "x-1-" + pos + "00." + tag, "an altered tag": parts[0] + "x-1-" + pos + "." + tag + "1",
		"garbage": "~~~", "no position": parts[0] + "x-1", "a long one": known + strings.Repeat("-1", 4000),
	} {
		r := nodes[1].do("GET", root+"/events?wait=10s&after="+id, nodes[1].op, "")
		if r.code != 200 || !strings.Contains(r.body, `"event":"reset"`) || strings.Contains(r.body, `"event":"message"`) {
			t.Errorf("%s: %d %s", name, r.code, r.body)
		}
	}
	r := nodes[1].do("GET", root+"/events?wait=0s&after="+known, nodes[1].op, "")
	nodes[1].want(r, 200, fmt.Sprintf(`{"events":[],"last":%q}`, known))
	for range 1100 { // more than a node keeps
		nodes[1].create(nodes[1].op, `{"intent":"look"}`)
	}
	if r = nodes[1].do("GET", root+"/events?wait=10s&after="+known, nodes[1].op, ""); !strings.Contains(r.body, `"event":"reset"`) {
		t.Errorf("a position that is too old: %.200s", r.body)
	}
}

// A client goes on after its last event when an exchange on a data folder has restarted, also in the
// middle of a thread that has ended meanwhile.
func TestStreamContinuesAfterRestart(t *testing.T) {
	dir, last, want := t.TempDir(), "", ""
	run := func(name string, test func(h *harness)) {
		if !t.Run(name, func(t *testing.T) {
			store, err := files.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { // after the exchange
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			})
			test(newHarnessOver(t, httpapi.Config{}, exchange.DefaultConfig(), store).serve())
		}) {
			t.FailNow()
		}
	}
	poll := func(h *harness, after string) reply {
		return h.do("GET", root+"/events?wait=1s&after="+after, h.op, "")
	}
	run("before", func(h *harness) {
		last = poll(h, "").field("last")
		first := h.create(h.op, `{"intent":"one"}`)
		last = poll(h, last).field("last")
		h.create(h.op, `{"intent":"two"}`)
		h.want(h.do("PATCH", root+"/requests/"+first, h.op, `{"mess":[{"cancel":{}}]}`), 200, "")
		want = poll(h, last).body
	})
	run("after", func(h *harness) {
		got := poll(h, last)
		if events := withoutIDs(t, got.body); events != withoutIDs(t, want) || strings.Count(events, `"event":"message"`) != 2 {
			t.Errorf("after the restart the client gets\n%s\nwant\n%s", events, withoutIDs(t, want))
		}
		h.create(h.op, `{"intent":"three"}`)
		got = poll(h, got.field("last"))
		if strings.Count(got.body, `"event":"message"`) != 1 || !strings.Contains(got.body, "three") {
			t.Errorf("then %s", got.body)
		}
		executor := h.do("POST", root+"/keys", h.op, `{"actor":"pi","roles":["executor"]}`).field("api_key")
		r := h.do("GET", root+"/events?wait=1s&as=executor&after="+last, executor, "")
		if !strings.Contains(r.body, `"event":"reset"`) { // it registers again, because nothing has its states
			t.Errorf("an executor gets %s", r.body)
		}
	})
	run("again", func(h *harness) {
		if got := poll(h, last); strings.Count(got.body, `"event":"message"`) != 3 {
			t.Errorf("after a second restart the client gets %s", got.body)
		}
	})
}

// withoutIDs returns the events of a poll without their ids, which differ among processes.
func withoutIDs(t *testing.T, body string) string {
	t.Helper()
	var v struct {
		Events []map[string]any
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	for _, e := range v.Events {
		delete(e, "id")
	}
	b, err := json.Marshal(v.Events)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
