package meter

import (
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/exchange/thread"
)

// feed measures how long the feed of the store takes to deliver a step of this process. It watches one
// step at a time, so that a step costs nothing while another one is watched.
type feed struct {
	follows atomic.Bool // the feed has reached the present, and has not ended
	watched atomic.Pointer[watched]
	lag     atomic.Int64 // of the last watched step, in ns
}

// watched is a step that the feed has to deliver.
type watched struct {
	ref string
	ver uint64
	at  atomic.Int64 // when the store had it, in ns since 1970; 0 before
}

// begin watches a step from before its append on, because the feed may deliver it before the append
// returns. It returns nil while it watches another step.
func (f *feed) begin(e *thread.Envelope) *watched {
	if f.watched.Load() != nil || !f.follows.Load() {
		return nil
	}
	p := &watched{ref: e.Ref, ver: e.Ver}
	if !f.watched.CompareAndSwap(nil, p) {
		return nil
	}
	return p
}

// stored ends the append of a watched step.
func (f *feed) stored(p *watched, err error) {
	if p == nil {
		return
	}
	if p.at.Store(time.Now().UnixNano()); err != nil {
		f.watched.CompareAndSwap(p, nil)
	}
}

// Following records whether the feed runs and has reached the present. A new feed may begin after the
// watched step.
func (m *Meter) Following(is bool) {
	m.feed.follows.Store(is)
	m.feed.watched.Store(nil)
}

// Follows reports whether the feed runs and has reached the present.
func (m *Meter) Follows() bool { return m.feed.follows.Load() }

// Delivered records a change that the feed has delivered.
func (m *Meter) Delivered(c *thread.Change) {
	f := &m.feed
	p := f.watched.Load()
	if p == nil || c.Envelope.Ref != p.ref || c.Envelope.Ver < p.ver && !c.Removed {
		return
	}
	if f.watched.CompareAndSwap(p, nil) {
		f.lag.Store(p.since())
	}
}

// since returns the time since the store had the step, in ns; 0 before.
func (p *watched) since() int64 {
	at := p.at.Load()
	if at == 0 {
		return 0
	}
	return max(0, time.Now().UnixNano()-at)
}

// FeedLag returns the time that the feed took to deliver the last watched step, or the time for which
// the present one waits if that is longer.
func (m *Meter) FeedLag() time.Duration {
	lag := m.feed.lag.Load()
	if p := m.feed.watched.Load(); p != nil {
		lag = max(lag, p.since())
	}
	return time.Duration(lag)
}
