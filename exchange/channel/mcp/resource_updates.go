package mcp

import (
	"context"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/messkit/messkit/internal/wait"
)

// maxListed is how many threads are in the list of resources: those that are
// new, or changed last. All others can be read by their ref.
const maxListed = 50

// threadUpdates passes on what changes.
type threadUpdates struct {
	mu      sync.Mutex
	waiting map[chan struct{}]string // to the ref of a thread
	listed  []string                 // refs, the newest last
}

// subscribe wakes whoever waits for news of a thread.
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

// notify wakes those who wait for a thread, with "" all.
func (n *threadUpdates) notify(ref string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c, one := range n.waiting {
		if ref == "" || one == ref {
			wait.Notify(c)
		}
	}
}

// add adds a thread to those that are listed. fresh is false if it was there;
// gone is the ref that had to make room.
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

// follow passes on what changes until ctx ends. An exchange that is not there is
// waited for.
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

// applyEvent passes on one change.
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
			s.log.Debug("a client was not told", "ref", e.Thread.Ref, "err", err)
		}
	}
}

// listRecent reads which threads there are.
func (s *Server) listRecent(ctx context.Context) {
	threads, err := s.x.List(ctx, maxListed)
	if err != nil {
		s.log.Debug("threads cannot be listed", "err", err)
		return
	}
	for _, t := range slices.Backward(threads) {
		s.listThread(t)
	}
}

// listThread puts a thread into the list of resources.
func (s *Server) listThread(t Thread) {
	fresh, gone := s.updates.add(t.Ref)
	if gone != "" {
		s.mcp.RemoveResources(threadURI(gone))
	}
	if fresh {
		s.mcp.AddResource(&sdk.Resource{
			URI: threadURI(t.Ref), Name: t.Ref, Title: title(t.Intent), MIMEType: yamlType,
			Description: "The title is the request, " + originOf(t.Requestor, ""),
		}, s.readThread)
	}
}

// maxTitle is as much of a request as fits into a list, in characters.
const maxTitle = 80

func title(intent string) string {
	intent = cleanLine(intent)
	if r := []rune(intent); len(r) > maxTitle {
		return string(r[:maxTitle-1]) + "…"
	}
	return intent
}
