package transfer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wait"
)

const (
	// exportOf begins the source in the mark of an export.
	exportOf = "an export of "
	// gather is the time in which Follow collects changes before it copies them.
	gather = 250 * time.Millisecond
	// exportAgain is the time after which Follow tries again after an error.
	exportAgain = 5 * time.Second
)

// IsExport reports whether a mark is that of an export, and names its source. No exchange may use the
// target of an export: it has no keys, no executors and no stops.
func IsExport(doc []byte) (source string, is bool) {
	text, _ := Incomplete(doc)
	return strings.CutPrefix(text, exportOf)
}

// Exported is the result of an export.
type Exported struct {
	Threads int `json:"threads"` // in the target
	Copied  int `json:"copied"`  // that this run has written
}

// Export copies the threads and attachments that the target lacks, and no documents. A source in use may
// have newer steps at the end. A target must be empty, or an export of the same source. An export that was
// killed goes on in the next run.
func Export(ctx context.Context, from, to thread.Store, o Options) (Exported, error) {
	c, err := startExport(ctx, from, to, o)
	if err != nil {
		return Exported{}, err
	}
	return c.exported(), nil
}

// Follow works like Export, and then copies each change of the source until ctx ends. It calls done when
// the target is level for the first time, and failed after an error, before it tries again.
func Follow(ctx context.Context, from, to thread.Store, o Options, done func(Exported), failed func(error)) error {
	c, err := startExport(ctx, from, to, o)
	if err != nil {
		return err
	}
	done(c.exported())
	changed := make(chan struct{}, 1)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return from.Feed(ctx, c.from.pos, func(thread.Change) error {
			select {
			case changed <- struct{}{}:
			default: // it has a signal
			}
			return nil
		})
	})
	g.Go(func() error { return c.copyChanges(ctx, changed, failed) })
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func startExport(ctx context.Context, from, to thread.Store, o Options) (*copying, error) {
	o.Source = exportOf + o.Source
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	c := &copying{from: newSide(from), to: newSide(to), o: o}
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	if err := c.setMark(ctx, mark{Source: o.Source}); err != nil {
		return nil, err
	}
	return c, c.follow(ctx)
}

func (c *copying) exported() Exported { return Exported{len(c.to.threads), int(c.copied.Load())} }

// copyChanges copies the threads that have changed, after each signal.
func (c *copying) copyChanges(ctx context.Context, changed <-chan struct{}, failed func(error)) error {
	waiting := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		if !wait.For(ctx, gather) {
			return nil
		}
		for err := c.copyWaiting(ctx, waiting); err != nil; err = c.copyWaiting(ctx, waiting) {
			if _, refused := errors.AsType[*RefusedError](err); refused || ctx.Err() != nil {
				return err
			}
			if failed(err); !wait.For(ctx, exportAgain) {
				return nil
			}
		}
	}
}

// copyWaiting reads the changes, and copies their threads. After an error they wait.
func (c *copying) copyWaiting(ctx context.Context, waiting map[string]bool) error {
	refs, err := c.from.read(ctx)
	for _, ref := range refs {
		waiting[ref] = true
	}
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	if len(waiting) == 0 {
		return nil
	}
	if err := c.threads(ctx, slices.Sorted(maps.Keys(waiting))); err != nil {
		return err
	}
	clear(waiting)
	return nil
}
