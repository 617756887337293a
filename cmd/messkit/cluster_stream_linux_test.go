package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/mess"
)

// errMove ends a stream of events so that its client moves to another node.
var errMove = errors.New("the client moves on")

// follows has a client follow all threads at one node after the other, with a move every few events, while
// requests come to all nodes. It gets each message once, and no reset.
func (c *trialCluster) follows(ctx context.Context) {
	c.t.Helper()
	clients := []*httpclient.Client{c.client(0), c.client(1), c.client(2)}
	last := ""
	begin := func(e httpclient.Event) error {
		if last = e.ID; e.Kind == "message" && last != "" {
			return errMove
		}
		return nil
	}
	begun := make(chan error, 1)
	go func() { begun <- clients[0].Follow(ctx, "", begin) }()
	soon(c.t, "the first event", func() bool { // the stream may begin after one of these requests
		sendRequest(ctx, c.t, clients[0], mess.Request{Intent: "begin"})
		return len(begun) > 0
	})
	if err := <-begun; !errors.Is(err, errMove) {
		c.t.Fatal(err)
	}
	const requests = 60
	want := make(chan []string, 1)
	go func() {
		var refs []string
		for i := range requests {
			refs = append(refs, sendRequest(ctx, c.t, clients[i%3], mess.Request{ID: fmt.Sprint("move-", i), Intent: "look"}))
		}
		want <- refs
	}()
	var got []string
	for node := 1; len(got) < requests; node = (node + 1) % 3 {
		few := 0
		err := clients[node].Follow(ctx, last, func(e httpclient.Event) error {
			if e.Kind != "message" {
				return fmt.Errorf("node %d sends %s after %s", node+1, e.Kind, last)
			}
			if e.Thread.Intent == "look" {
				got = append(got, e.Thread.Ref)
			}
			if few++; e.ID != "" {
				last = e.ID
			}
			if few == 4 || len(got) == requests {
				return errMove
			}
			return nil
		})
		if !errors.Is(err, errMove) {
			c.t.Fatalf("%d of %d messages: %v", len(got), requests, err)
		}
	}
	refs := <-want
	slices.Sort(got)
	slices.Sort(refs)
	if !slices.Equal(got, refs) {
		c.t.Errorf("the client has the messages of %q, want %q", got, refs)
	}
}
