package mesh

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/internal/wait"
)

// rejectionLog limits the cost of rejected messages: each line of the audit log waits for the
// disk, and finally displaces an older line.
type rejectionLog struct {
	mu    sync.Mutex
	until time.Time      // end of the current minute
	of    map[string]int // lines of this minute, by address
	all   int
	left  int // rejections without a line since the last summary
}

const (
	maxRefusals    = 60  // lines a minute for one address
	maxRefusalsAll = 300 // lines a minute in all
)

// note counts a rejection and reports whether the audit log gets a line for it.
func (r *rejectionLog) note(from string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.After(r.until) {
		r.until, r.of, r.all = now.Add(time.Minute), map[string]int{}, 0
	}
	if r.of[from] >= maxRefusals || r.all >= maxRefusalsAll {
		r.left++
		return false
	}
	r.of[from]++
	r.all++
	return true
}

// skip counts a rejection that gets no line.
func (r *rejectionLog) skip() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left++
}

// take returns the number of rejections without a line since the last call.
func (r *rejectionLog) take() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.left
	r.left = 0
	return n
}

// summarize writes the number of rejections without a line to the audit log, until ctx ends.
func (b *inbound) summarize(ctx context.Context) {
	for more := true; more; {
		more = wait.For(ctx, summaryEvery)
		if n := b.rejections.take(); n > 0 {
			b.store.Audit(state.Line{To: b.cfg.Agent, Status: "refused_more", Detail: fmt.Sprintf("the log omits %d more refusals", n)})
		}
	}
}
