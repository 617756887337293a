package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// progress carries a driver's progress to whoever tells it. A driver is never
// kept waiting: what was not told yet gives way to what is newer.
type progress struct {
	mu     sync.Mutex
	latest drivers.Progress
	news   chan struct{}
}

func newProgress() *progress { return &progress{news: make(chan struct{}, 1)} }

func (p *progress) set(now drivers.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest = now
	ring(p.news)
}

func (p *progress) get() drivers.Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.latest
}

// progressEvery is the shortest time between two reports of progress. In a long
// task they come with a thirtieth of the time that it has run: an hour of
// cleaning is then some 170 messages in the thread, and not 3600.
const (
	progressEvery = time.Second
	progressPart  = 30
)

// tellProgress reports progress until ctx ends. A report that does not get
// through is not sent again; the next one says more.
func (t *task) tellProgress(ctx context.Context, p *progress) {
	began := t.a.now()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		select {
		case <-ctx.Done():
			return
		case <-p.news:
		}
		pause.Reset(max(progressEvery, t.a.now().Sub(began)/progressPart))
		now := p.get()
		s := &mess.Status{Code: mess.InProgress, Message: now.Doing, ProgressPct: new(min(100, max(0, now.Percent)))}
		if now.Left > 0 {
			s.ETA = mess.When(mess.DurationOf(now.Left))
		}
		if _, err := t.a.send(ctx, t.message(s)); errors.Is(err, mess.Stale) {
			t.a.mu.Lock()
			t.end(errLost)
			t.a.mu.Unlock()
		}
	}
}
