package retain_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/retain"
)

// day is a day.
const day = 24 * time.Hour

// home is a store with an index, for several exchanges.
type home struct {
	mu       sync.Mutex
	lease    []byte
	ended    map[string]time.Time
	archived map[string]time.Time
	cleaned  []time.Time
	format   bool
	broken   string // ref of a thread that cannot move
	calls    int
}

// node is one exchange.
type node struct{ *home }

func (h *home) ChannelDocument(string, string) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease
}

func (h *home) ChangeChannelState(_ context.Context, _, _ string, change func([]byte) ([]byte, error)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	doc, err := change(h.lease)
	if err == nil {
		h.lease = doc
	}
	return err
}

func (h *home) EndedBefore(t time.Time, most int) (refs []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ref, at := range h.ended {
		if at.Before(t) && len(refs) < most {
			refs = append(refs, ref)
		}
	}
	slices.Sort(refs)
	return refs
}

func (h *home) Archives() bool { return h.format }

func (h *home) Archive(_ context.Context, refs []string, before time.Time) (moved int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls++
	for _, ref := range refs {
		if ref == h.broken {
			err = errors.Join(err, fmt.Errorf("%s stays", ref))
		} else if h.ended[ref].Before(before) {
			delete(h.ended, ref)
			h.archived[ref] = time.Now()
			moved++
		}
	}
	return moved, err
}

func (h *home) Clean(context.Context) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cleaned = append(h.cleaned, time.Now())
	return 1, nil
}

// run runs two exchanges for a time, with threads that have ended at these times.
func run(t *testing.T, h *home, after, length time.Duration, ended map[string]time.Duration) (log string) {
	synctest.Test(t, func(t *testing.T) {
		h.ended, h.archived = map[string]time.Time{}, map[string]time.Time{}
		for ref, at := range ended {
			h.ended[ref] = time.Now().Add(at)
		}
		begin := time.Now()
		var text lockedText
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				if err := retain.Run(ctx, node{h}, h, after, slog.New(slog.NewTextHandler(&text, nil))); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(length)
		stop()
		all.Wait()
		for ref, at := range h.archived {
			h.archived[ref] = time.Time{}.Add(at.Sub(begin))
		}
		log = text.String()
	})
	return log
}

// lockedText is a log.
type lockedText struct {
	mu sync.Mutex
	strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.Write(p)
}

// One of two exchanges archives: what was old at the start at once, and a few later threads once a day.
func TestOneExchangeArchives(t *testing.T) {
	h := &home{format: true}
	log := run(t, h, 90*day, 48*time.Hour, map[string]time.Duration{"old": -100 * day, "due": -90*day + 2*time.Hour, "young": -10 * day})
	after := func(ref string) time.Duration { return h.archived[ref].Sub(time.Time{}) }
	if at := after("old"); h.archived["old"].IsZero() && at != 0 || at > time.Minute {
		t.Errorf("the old thread has left after %v", at)
	}
	if at := after("due"); at < 2*time.Hour || at > 25*time.Hour {
		t.Errorf("the thread that became due after two hours has left after %v", at)
	}
	if _, gone := h.archived["young"]; gone || len(h.ended) != 1 {
		t.Errorf("left: %v", h.ended)
	}
	if n := strings.Count(log, "have moved into the archive"); n != 2 || h.calls != 2 {
		t.Errorf("%d calls, and %d lines of\n%s", h.calls, n, log)
	}
	if n := len(h.cleaned); n != 2 {
		t.Errorf("cleaned %d times in two days", n)
	}
}

// Many threads leave within an hour.
func TestManyThreadsLeaveAtOnce(t *testing.T) {
	h := &home{format: true}
	ended := map[string]time.Duration{"first": -91 * day}
	for n := range 1200 {
		ended[fmt.Sprint(n)] = -90*day + 2*time.Hour
	}
	run(t, h, 90*day, 4*time.Hour, ended)
	if len(h.archived) != len(ended) {
		t.Errorf("%d of %d threads have left", len(h.archived), len(ended))
	}
}

// A thread that cannot move is logged once, and does not keep the others.
func TestThreadThatCannotMove(t *testing.T) {
	h := &home{format: true, broken: "broken"}
	log := run(t, h, 90*day, 26*time.Hour, map[string]time.Duration{"broken": -100 * day, "whole": -100 * day})
	if _, gone := h.archived["whole"]; !gone || strings.Count(log, "broken stays") != 1 {
		t.Errorf("archived %v; the log:\n%s", h.archived, log)
	}
}

// With archive_after 0, or before the upgrade of the format, nothing leaves.
func TestNothingLeaves(t *testing.T) {
	old := map[string]time.Duration{"old": -1000 * day}
	for name, h := range map[string]*home{"never": {format: true}, "format": {}} {
		after := 90 * day
		if name == "never" {
			after = 0
		}
		run(t, h, after, 2*time.Hour, old)
		if len(h.archived) != 0 || h.calls != 0 {
			t.Errorf("%s: archived %v", name, h.archived)
		}
		if want := name == "never"; want != (len(h.cleaned) > 0) {
			t.Errorf("%s: cleaned %d times", name, len(h.cleaned))
		}
	}
}
