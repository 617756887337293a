// Package retain has threads that ended long ago leave a store that several exchanges share. One of the
// exchanges does that for all.
package retain

import (
	"context"
	"log/slog"
	"time"

	"github.com/messkit/messkit/exchange/lease"
	"github.com/messkit/messkit/internal/wait"
)

// Store moves threads into archives.
type Store interface {
	// Archives reports whether the format of the store allows archives.
	Archives() bool
	// Archive moves threads that have ended and did not change after a time. It leaves out all others, and
	// returns the number of threads that it has moved. The error can be about some of them.
	Archive(ctx context.Context, refs []string, before time.Time) (moved int, err error)
	// Clean removes old bytes that no thread needs, and returns the number of objects.
	Clean(ctx context.Context) (removed int, err error)
}

// Exchange has the index of the threads, and documents for a lease. *exchange.Exchange implements it.
type Exchange interface {
	lease.Documents

	// EndedBefore returns threads that have ended and did not change after a time, the earliest change
	// first; at most most.
	EndedBefore(t time.Time, most int) []string
}

const (
	// lookEvery is the longest time between two searches for old threads.
	lookEvery = time.Hour
	// restEvery is the longest time until a few old threads leave, and cleanEvery that between two searches
	// for unused bytes. The store writes a part of an archive anew for each few threads.
	restEvery  = 24 * time.Hour
	cleanEvery = 24 * time.Hour
	// firstClean is the time until the first search: it reads the whole store.
	firstClean = time.Hour
	// enough is the number of old threads that leave at once, and atOnce the most that one search returns.
	enough = 1000
	atOnce = 100_000
)

// Run archives the threads that ended more than after ago, until ctx ends; 0: none. It also removes unused
// bytes. Other exchanges on the store wait meanwhile, and one of them goes on if this one fails.
func Run(ctx context.Context, x Exchange, s Store, after time.Duration, log *slog.Logger) error {
	w := &worker{x: x, store: s, after: after, log: log, logged: map[string]bool{}}
	return lease.New(x, "archive", log).Run(ctx, func(ctx context.Context, _ uint64) error {
		w.work(ctx)
		return nil
	})
}

// worker is one call of Run.
type worker struct {
	x      Exchange
	store  Store
	after  time.Duration
	log    *slog.Logger
	logged map[string]bool // problems
}

// work archives and cleans until ctx ends.
func (w *worker) work(ctx context.Context) {
	every, restWait := lookEvery, restEvery
	if w.after > 0 {
		every, restWait = min(every, max(time.Second, w.after/24)), min(restWait, w.after)
	}
	var rest time.Time
	cleaned := time.Now().Add(firstClean - cleanEvery)
	for ctx.Err() == nil {
		if now := time.Now(); w.store.Archives() {
			all := now.Sub(rest) >= restWait
			if w.after > 0 {
				w.archive(ctx, now.Add(-w.after), all)
			}
			if all {
				rest = now
			}
			if now.Sub(cleaned) >= cleanEvery {
				cleaned = now
				w.clean(ctx)
			}
		}
		wait.For(ctx, every)
	}
}

// archive archives the threads that ended before a time if there are enough of them, or with all.
func (w *worker) archive(ctx context.Context, before time.Time, all bool) {
	for ctx.Err() == nil {
		refs := w.x.EndedBefore(before, atOnce)
		if len(refs) == 0 || len(refs) < enough && !all {
			return
		}
		moved, err := w.store.Archive(ctx, refs, before)
		if moved > 0 {
			w.log.Info("threads that ended long ago have moved into the archive", "threads", moved)
		}
		if err != nil && ctx.Err() == nil && !w.logged[err.Error()] {
			w.logged[err.Error()] = true
			w.log.Warn("some threads that ended long ago stay where they are", "err", err)
		}
		if err != nil || len(refs) < atOnce {
			return
		}
	}
}

// clean removes unused bytes.
func (w *worker) clean(ctx context.Context) {
	n, err := w.store.Clean(ctx)
	if n > 0 {
		w.log.Info("removed bytes that no thread needs", "objects", n)
	}
	if err != nil && ctx.Err() == nil {
		w.log.Warn("bytes that no thread needs stay in the store", "err", err)
	}
}
