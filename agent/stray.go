package agent

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/mess"
)

// stray is a thread that the exchange lists as begun by this executor and that the agent does
// not know: the program died between start permission and intent, or the permission did not
// arrive.
type stray struct {
	epoch uint64
	since time.Time // time of the first acknowledgment that listed it
	told  bool      // the agent has given it back, or leaves it alone
}

// findStrays gives back the threads that two acknowledgments list as begun by this executor,
// and that neither the tasks nor the journal contain. One acknowledgment is not enough, because
// the exchange may have written it before the last report arrived. asked is the time of the
// request for this one.
func (a *table) findStrays(ctx context.Context, back *errgroup.Group, asked time.Time, threads []mess.HeldThread) {
	list := a.twice(asked, threads)
	if len(list) == 0 {
		return
	}
	back.Go(func() error {
		a.giveBack(ctx, slices.DeleteFunc(list, func(h mess.HeldThread) bool { return !a.orphan(ctx, h) }))
		return nil
	})
}

// twice lists the strays that an earlier acknowledgment also listed.
func (a *table) twice(asked time.Time, threads []mess.HeldThread) (list []mess.HeldThread) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.astray
	a.astray = map[string]stray{}
	for _, h := range threads {
		if h.Yours == nil || !*h.Yours || a.tasks[h.Ref] != nil || a.offers.refs[h.Ref] != nil || a.untold[h.Ref] == h.Epoch && h.Epoch != 0 {
			continue
		}
		if _, known := a.journal.Task(h.Ref); known {
			continue
		}
		s, listed := known[h.Ref]
		switch {
		case !listed || s.epoch != h.Epoch:
			s = stray{epoch: h.Epoch, since: a.now()}
		case !s.told && asked.After(s.since):
			s.told = true
			list = append(list, h)
		}
		a.astray[h.Ref] = s
	}
	return list
}
