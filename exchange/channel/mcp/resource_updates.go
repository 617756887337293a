package mcp

import (
	"context"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/messkit/messkit/internal/wait"
)

// maxListed is the number of threads in the list of resources: those that have changed last.
// Clients can read all others by their ref.
const maxListed = 50

// threadUpdates distributes changes of threads. It is safe for concurrent use.
type threadUpdates struct {
	mu      sync.Mutex
	waiting map[chan struct{}]string // value: ref of a thread
	listed  []string                 // refs, newest last
}

// subscribe returns a channel for the changes of a thread. The caller calls leave at the end.
func (n *threadUpdates) subscribe(ref string) (woken <-chan struct{}, leave func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := make(chan struct{}, 1)
	if n.waiting == nil {
		n.waiting = map[chan struct{}]string{}
	}
	n.waiting[c] = ref
	return c, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.waiting, c)
	}
}

// notify notifies the subscribers of a thread, and with "" all subscribers.
func (n *threadUpdates) notify(ref string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c, one := range n.waiting {
		if ref == "" || one == ref {
			wait.Notify(c)
		}
	}
}

// add adds a thread to the list. fresh is false if the list has it. gone is the ref that has
// left the list for it, or "".
func (n *threadUpdates) add(ref string) (fresh bool, gone string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if slices.Contains(n.listed, ref) {
		return false, ""
	}
	n.listed = append(n.listed, ref)
	if len(n.listed) > maxListed {
		gone, n.listed = n.listed[0], slices.Clone(n.listed[1:])
	}
	return true, gone
}

// follow distributes changes until ctx ends. It waits for an unreachable exchange.
func (s *Server) follow(ctx context.Context) {
	pause := wait.Backoff{First: time.Second, Last: 30 * time.Second}
	for ctx.Err() == nil {
		err := s.x.Follow(ctx, func(e Event) {
			pause.Reset(0)
			s.applyEvent(ctx, e)
		})
		s.log.Debug("events interrupted", "err", err)
		wait.For(ctx, pause.Next())
	}
}

// applyEvent distributes one change.
func (s *Server) applyEvent(ctx context.Context, e Event) {
	if e.Reset {
		s.listRecent(ctx)
		s.updates.notify("")
		return
	}
	s.listThread(e.Thread)
	s.updates.notify(e.Thread.Ref)
	for _, part := range []string{"", "/" + envelopePart, "/" + latestPart} {
		uri := threadURI(e.Thread.Ref) + part
		if err := s.mcp.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
			s.log.Debug("notifying a client failed", "ref", e.Thread.Ref, "err", err)
		}
	}
}

// listRecent reads the list of threads.
func (s *Server) listRecent(ctx context.Context) {
	threads, err := s.x.List(ctx, maxListed)
	if err != nil {
		s.log.Debug("listing threads failed", "err", err)
		return
	}
	for _, t := range slices.Backward(threads) {
		s.listThread(t)
	}
}

// listThread adds a thread to the list of resources.
func (s *Server) listThread(t Thread) {
	fresh, gone := s.updates.add(t.Ref)
	if gone != "" {
		s.mcp.RemoveResources(threadURI(gone))
	}
	if fresh {
		s.mcp.AddResource(&sdk.Resource{
			URI: threadURI(t.Ref), Name: t.Ref, Title: title(t.Intent), MIMEType: yamlType,
			Description: "The title is the request, " + originOf(t.Requester, ""),
		}, s.readThread)
	}
}

// maxTitle is the limit of a title, in characters.
const maxTitle = 80

func title(intent string) string {
	intent = cleanLine(intent)
	if r := []rune(intent); len(r) > maxTitle {
		return string(r[:maxTitle-1]) + "…"
	}
	return intent
}
