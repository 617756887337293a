package task

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

// GiveBackStrays gives back the threads that two acknowledgments list as begun by this executor,
// and that neither the tasks nor the journal contain. One acknowledgment is not enough, because
// the exchange may have written it before the last report arrived. asked is the time of the
// request for this one.
func (ts *Tasks) GiveBackStrays(ctx context.Context, back *errgroup.Group, asked time.Time, threads []mess.HeldThread) {
	list := ts.twice(asked, threads)
	if len(list) == 0 {
		return
	}
	back.Go(func() error {
		ts.giveBack(ctx, slices.DeleteFunc(list, func(h mess.HeldThread) bool { return !ts.orphan(ctx, h) }))
		return nil
	})
}

// twice lists the strays that an earlier acknowledgment also listed.
func (ts *Tasks) twice(asked time.Time, threads []mess.HeldThread) (list []mess.HeldThread) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	known := ts.astray
	ts.astray = map[string]stray{}
	for _, h := range threads {
		if h.Yours == nil || !*h.Yours || ts.byRef[h.Ref] != nil || ts.offers.refs[h.Ref] != nil || ts.untold[h.Ref] == h.Epoch && h.Epoch != 0 {
			continue
		}
		if _, known := ts.Journal.Task(h.Ref); known {
			continue
		}
		s, listed := known[h.Ref]
		switch {
		case !listed || s.epoch != h.Epoch:
			s = stray{epoch: h.Epoch, since: ts.Now()}
		case !s.told && asked.After(s.since):
			s.told = true
			list = append(list, h)
		}
		ts.astray[h.Ref] = s
	}
	return list
}
