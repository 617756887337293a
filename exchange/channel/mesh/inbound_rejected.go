package mesh

import (
	"fmt"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/state"
)

// refusals bounds what refusals cost: each line of the audit log waits for the
// disk, and pushes out an older one in the end.
type refusals struct {
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
func (r *refusals) note(from string, now time.Time) bool {
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
func (r *refusals) skip() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left++
}

// tellRest tells the audit log how many refusals are not in it.
func (d *Adapter) tellRest() {
	r := &d.refusals
	r.mu.Lock()
	n := r.left
	r.left = 0
	r.mu.Unlock()
	if n > 0 {
		d.store.Audit(state.Line{To: d.cfg.Agent, Status: "refused_more", Detail: fmt.Sprintf("%d more refusals are not listed", n)})
	}
}
