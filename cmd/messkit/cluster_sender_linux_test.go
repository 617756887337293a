package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// sender returns the node that sends the notifications: the last one whose log says so.
func (c *trialCluster) sender() (node int) {
	c.t.Helper()
	last := ""
	for i := range c.nodes {
		text, err := os.ReadFile(filepath.Join(c.dir, fmt.Sprintf("node%d.log", i+1)))
		if err != nil {
			c.t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if at, _, _ := strings.Cut(line, " level="); strings.Contains(line, "taken a lease") && strings.Contains(line, "lease=webhook") && at > last {
				node, last = i, at
			}
		}
	}
	if last == "" {
		c.t.Fatal("no node says that it sends the notifications")
	}
	return node
}

// works runs an executor until ctx ends, and returns a function that reports whether it has had the offers
// of threads. After a reset it registers again, as the agent does.
func (c *trialCluster) works(ctx context.Context, x *httpclient.Client, e *mess.Executor) (offered func(refs ...string) bool) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	c.t.Cleanup(func() { cancel(); running.Wait() })
	var mu sync.Mutex
	had := map[string]bool{}
	running.Go(func() {
		for ctx.Err() == nil {
			_, err := x.Send(ctx, mess.Message{Items: []mess.Item{&mess.Config{Executor: e}}})
			if err == nil {
				err = x.Receive(ctx, func(m mess.Message) {
					mu.Lock()
					defer mu.Unlock()
					for _, ref := range append([]string{m.Ref}, m.Re...) {
						had[messeaf.ThreadRef(ref)] = true
					}
				})
			}
			if err != nil && !errors.Is(err, mess.Unavailable) && ctx.Err() == nil {
				c.t.Errorf("the executor has ended: %v", err)
				return
			}
		}
	})
	return func(refs ...string) bool {
		mu.Lock()
		defer mu.Unlock()
		return !slices.ContainsFunc(refs, func(ref string) bool { return !had[ref] })
	}
}

// One node of three sends each notification once. After its kill another one sends those of all requests,
// also of those that came meanwhile. An executor and a requester with the addresses of all nodes move to
// another one.
func TestTrialClusterSendsOnce(t *testing.T) {
	t.Parallel()
	c := startTrialCluster(t, t.TempDir())
	defer c.end(os.Interrupt)
	var mu sync.Mutex
	got := map[string]int{} // by event and ref: the receiver's own log
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var v struct{ Thread struct{ Ref string } }
		if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		got[r.Header.Get("X-Mess-Event")+" "+v.Thread.Ref]++
	}))
	defer receiver.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	key, err := c.client(0).IssueKey(ctx, "robot", []string{"executor"})
	if err != nil {
		t.Fatal(err)
	}
	robot := mess.Executor{
		ID: "robot", Capabilities: []mess.Capability{{ID: "garden.water"}},
		Extra: mess.Object{{Key: "notifications", Value: []any{mess.Object{{Key: "type", Value: "webhook"}, {Key: "url", Value: receiver.URL}}}}},
	}
	if _, err := clientFor(t, c.urls[0], key).Send(ctx, mess.Message{Items: []mess.Item{&mess.Config{Executor: &robot}}}); err != nil {
		t.Fatal(err)
	}
	var refs []string
	await := func() {
		soon(t, "all notifications", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return !slices.ContainsFunc(refs, func(ref string) bool { return got["thread_created "+ref] == 0 })
		})
	}
	ask := func(node int) {
		refs = append(refs, sendRequest(ctx, t, c.client(node), mess.Request{Intent: fmt.Sprint("water bed ", len(refs)), Requires: []mess.Capability{{ID: "garden.water"}}}))
	}
	soon(t, "node 3 knows the executor", func() bool { list, err := c.client(2).Executors(ctx); return err == nil && len(list) == 1 })
	for node := range 3 {
		ask(node)
	}
	await()
	sender := c.sender()
	// A kill between the answer of the receiver and its note in the store would repeat a notification.
	soon(t, "the store has the deliveries", func() bool {
		list, err := c.client((sender + 1) % 3).Webhooks(ctx)
		return err == nil && len(list) == len(refs) && !slices.ContainsFunc(list, func(d httpclient.Delivery) bool { return d.State != "delivered" })
	})
	all := strings.Join([]string{c.urls[sender], c.urls[(sender+1)%3], c.urls[(sender+2)%3]}, ",")
	offered := c.works(ctx, clientFor(t, all, key), &robot)
	soon(t, "the executor has its offers", func() bool { return offered(refs...) })
	if err := syscall.Kill(c.nodes[sender], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	operator, err := operatorKey(filepath.Join(c.dir, "node1"))
	if err != nil {
		t.Fatal(err)
	}
	requester := clientFor(t, all, httpclient.Secret(operator)) // it begins at the node that is away
	for range 6 {
		refs = append(refs, sendRequest(ctx, t, requester, mess.Request{Intent: fmt.Sprint("water bed ", len(refs)), Requires: []mess.Capability{{ID: "garden.water"}}}))
	}
	soon(t, "the executor has the offers of another node", func() bool { return offered(refs...) })
	await()
	if now := c.sender(); now == sender {
		t.Errorf("node %d sends again, want another one", sender+1)
	}
	ask((sender + 1) % 3)
	await()
	mu.Lock()
	defer mu.Unlock()
	for event, n := range got {
		if n != 1 {
			t.Errorf("the receiver has %s %d times", event, n)
		}
	}
}
