package mesh

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/internal/wait"
)

// rejectionLog bounds what refusals cost: each line of the audit log waits for the
// disk, and pushes out an older one in the end.
type rejectionLog struct {
	mu    sync.Mutex
	until time.Time      // of this minute
	of    map[string]int // written in it, by address
	all   int
	left  int // not written since the log was told
}

const (
	maxRefusals    = 60  // written a minute, from one address
	maxRefusalsAll = 300 // and from all
)

// note reports whether a refusal is to be written.
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

// skip counts a refusal that is not written.
func (r *rejectionLog) skip() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left++
}

// take returns how many refusals were not written since the last call.
func (r *rejectionLog) take() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.left
	r.left = 0
	return n
}

// summarize writes into the audit log how many refusals it does not list, until ctx ends.
func (b *inbound) summarize(ctx context.Context) {
	for more := true; more; {
		more = wait.For(ctx, summaryEvery)
		if n := b.rejections.take(); n > 0 {
			b.store.Audit(state.Line{To: b.cfg.Agent, Status: "refused_more", Detail: fmt.Sprintf("%d more refusals are not listed", n)})
		}
	}
}
