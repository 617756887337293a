package notices

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

const (
	retryAfter = time.Second
	// storeEvery is how often the store gets a new position without a new notice. After a crash the
	// Log reads that part of the feed again, and finds the same notices.
	storeEvery = 5 * time.Minute
	readTries  = 3 // a thread that stays unreadable must not hold up the others
)

// all is the actor with which the Log reads threads.
var all = exchange.Actor{ID: exchange.Self, Roles: exchange.Observer}

// lastSave limits the save at the end: the servers of the store may have ended too.
const lastSave = 5 * time.Second

// Run follows the threads and the executors until ctx ends. Of several exchanges with the same store one
// does so, and the others read its notices in the store.
func (l *Log) Run(ctx context.Context) error {
	if l.lease == nil {
		return l.run(ctx)
	}
	return l.lease.Run(ctx, l.lead)
}

func (l *Log) run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { l.followThreads(gctx); return nil })
	g.Go(func() error { l.followExecutors(gctx); return nil })
	err := g.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSave)
	defer cancel()
	l.save(last, true)
	return err
}

// followThreads takes the changes in the feed. A Log without a position begins with the threads that
// wait now.
func (l *Log) followThreads(ctx context.Context) {
	if l.fresh {
		l.takeWaiting(ctx)
	}
	for ctx.Err() == nil {
		l.mu.Lock()
		from := l.state.Pos
		l.mu.Unlock()
		err := l.x.Changes(ctx, from, func(c thread.Change) error {
			if c.Envelope.Ref != "" && !c.Removed {
				l.takeChange(ctx, c)
			}
			if ctx.Err() != nil { // it may have been taken in part
				return ctx.Err()
			}
			l.advance(ctx, c.Pos)
			return nil
		})
		if err != nil && ctx.Err() == nil {
			l.log.Warn("notices: the store has interrupted its feed", "err", err)
			wait.For(ctx, retryAfter)
		}
	}
}

// takeWaiting takes the threads that wait for an answer now.
func (l *Log) takeWaiting(ctx context.Context) {
	page, err := l.x.List(ctx, all, exchange.Filter{Status: []mess.Code{mess.NeedsInput, mess.NeedsConfirmation}, Limit: maxNotices})
	if err != nil {
		l.log.Warn("notices: the exchange cannot list the tasks that wait; their notices are missing", "err", err)
	}
	for _, e := range page.Threads {
		l.takeThread(ctx, e.Ref)
	}
	l.mu.Lock()
	l.moved = true
	l.mu.Unlock()
	l.save(ctx, true)
}

func (l *Log) takeChange(ctx context.Context, c thread.Change) {
	l.mu.Lock()
	hasOpen := slices.ContainsFunc(l.list, func(n Notice) bool { return n.Ref == c.Envelope.Ref && n.IsOpen() })
	l.mu.Unlock()
	if concerns(c, hasOpen) {
		l.takeThread(ctx, c.Envelope.Ref)
	}
}

// takeThread takes the notices of a thread.
func (l *Log) takeThread(ctx context.Context, ref string) {
	defer mistake.Caught(l.log, "channel", channel, "ref", ref)
	for n := range readTries {
		if n > 0 && !wait.For(ctx, retryAfter) {
			return
		}
		t, err := l.x.Thread(ctx, all, ref)
		if err == nil {
			l.put(ctx, ofThread(t))
			return
		}
		if errors.Is(err, mess.NotFound) {
			return // another program has removed it meanwhile
		}
	}
	l.log.Warn("notices: the exchange cannot read a thread; its notices are missing", "ref", ref)
}

// put adds new notices and changes known ones, stores them, and tells the followers about the new
// ones.
func (l *Log) put(ctx context.Context, list []Notice) {
	var added []Notice
	l.mu.Lock()
	for _, n := range list {
		if i := l.index(n.ID); i >= 0 {
			l.change(i, n)
			continue
		}
		l.state.Last++
		n.Number = l.state.Last
		l.list = append(l.list, n)
		l.unsaved[n.ID] = true
		if added = append(added, n); l.lease != nil {
			l.waiting[n.ID] = true
		}
	}
	l.dropOldest()
	changed := len(l.unsaved) > 0
	if changed {
		l.changed()
	}
	l.mu.Unlock()
	if changed {
		l.save(ctx, true)
	}
	l.deliver(ctx, added)
}

// change takes what may change in a notice. The caller holds l.mu.
func (l *Log) change(i int, n Notice) {
	was := &l.list[i]
	sameOver := (was.Over == nil) == (n.Over == nil) // its time depends on later messages
	if sameOver && was.Text == n.Text && slices.Equal(was.Devices, n.Devices) && slices.Equal(was.Parties, n.Parties) {
		return
	}
	if !sameOver {
		was.Over = n.Over
	}
	was.Text, was.Phrases, was.Devices, was.Parties = n.Text, n.Phrases, n.Devices, n.Parties
	l.unsaved[n.ID] = true
}

// dropOldest removes the oldest notices beyond the limit, those that need somebody last. The caller
// holds l.mu.
func (l *Log) dropOldest() {
	for len(l.list) > maxNotices {
		i := max(0, slices.IndexFunc(l.list, func(n Notice) bool { return !n.IsOpen() }))
		l.unsaved[l.list[i].ID] = true // the store removes it
		l.list = slices.Delete(l.list, i, i+1)
	}
}

// advance records that the Log has taken the feed up to a position.
func (l *Log) advance(ctx context.Context, pos thread.Pos) {
	l.mu.Lock()
	l.state.Pos, l.moved = pos, true
	l.mu.Unlock()
	l.save(ctx, false)
}

// save writes changed notices and the position. It writes the position alone only if that is due or
// now is true. If the store fails, a later call writes the same.
func (l *Log) save(ctx context.Context, now bool) {
	l.saving.Lock()
	defer l.saving.Unlock()
	if l.lease != nil && !l.lease.IsHeld() {
		return // the next holder finds the same
	}
	l.mu.Lock()
	if len(l.unsaved) == 0 && (!l.moved || !now && time.Since(l.stored) < storeEvery) {
		l.mu.Unlock()
		return
	}
	docs, ids := map[string][]byte{}, l.unsaved
	for id := range ids {
		var doc []byte // nil removes it
		if i := l.index(id); i >= 0 {
			doc = l.render(l.list[i])
		}
		docs[documentName(noticePrefix, id)] = doc
	}
	state, _ := json.Marshal(l.state)
	l.unsaved, l.moved, l.stored = map[string]bool{}, false, time.Now()
	l.mu.Unlock()
	err := l.x.SaveChannelStates(ctx, channel, docs)
	if err == nil { // the position never passes a notice that the store does not have
		err = l.x.SaveChannelState(ctx, channel, stateName, state)
	}
	if err == nil {
		return
	}
	l.log.Debug("notices: the exchange could not store the notices; it tries again later", "err", err)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moved = true
	for id := range ids {
		l.unsaved[id] = true
	}
}
