// Package transfer copies the threads and documents of a store into another one, and compares the
// two by digest.
//
// A copy can end at any moment, also by a kill. Run it again with the same source, and it copies only
// what the target lacks. A document in the target, the mark, says from which source it is and whether
// it is complete. No exchange may use a target with an incomplete copy (see Incomplete).
//
// A target must be empty, or have the mark of the same source. Then each of its threads must be an
// earlier state of the same thread in the source. Copy refuses every other target before it writes.
//
// An open thread has the same envelope and messages afterwards. A thread that has ended has what
// MESSE-AF records, because a data folder keeps no more of it. Revisions and positions of the feed are
// numbers of one store, so documents with a position get the corresponding one of the target.
package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/thread"
)

// together is the number of threads that are copied or compared concurrently. They share syncs of the
// disk and round trips.
const together = 32

// maxRounds limits how often Copy follows a source that changes.
const maxRounds = 8

// Options of a copy.
type Options struct {
	// Source names the source in the mark of the target: the same for each run.
	Source string
	// Progress is called after each thread, from several goroutines; nil for none.
	Progress func(Progress)
}

// Progress says how far a copy is.
type Progress struct {
	Step  Step
	Done  int // threads of this step
	Total int
}

// Step is a part of a copy.
type Step string

// The steps of a copy.
const (
	Copying   Step = "copying"
	Comparing Step = "comparing"
)

// Report is the result of a complete copy.
type Report struct {
	Threads     int    `json:"threads"`
	Messages    int    `json:"messages"`
	Attachments int    `json:"attachments"`
	Missing     int    `json:"missing"` // attachments that the source does not have, or with other bytes than their digest says
	Documents   int    `json:"documents"`
	Copied      int    `json:"copied"` // threads that this run has written
	Source      string `json:"source"` // digest of the source, in hex
	Target      string `json:"target"` // digest of the target, the same
}

// ErrChanging means that the source changed while Copy compared it with the target. The target lacks
// the last changes, and the next run copies them.
var ErrChanging = errors.New("the source has changed during the comparison")

// RefusedError means that the target has something that is not from the source. Copy has not changed
// it.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "the target is refused: " + e.Reason }

func refused(format string, args ...any) error {
	return &RefusedError{fmt.Sprintf(format, args...)}
}

// DifferentError means that source and target are not equal after a copy.
type DifferentError struct {
	Count int    // threads and documents
	First string // one of them
}

func (e *DifferentError) Error() string {
	return fmt.Sprintf("source and target differ in %d threads or documents, for example in %s", e.Count, e.First)
}

// The mark is a document of the target.
const (
	// MarkKind and MarkID name the mark.
	MarkKind = "store-copy"
	MarkID   = "source"
)

// mark says from which source a store has been copied.
type mark struct {
	Source   string `json:"source"`
	Complete bool   `json:"complete"`
	Digest   string `json:"digest,omitempty"` // of the complete copy
}

// Incomplete reports whether a mark is that of an incomplete copy, and names its source. doc is nil for
// a store without a mark. An unreadable mark is incomplete.
func Incomplete(doc []byte) (source string, incomplete bool) {
	if doc == nil {
		return "", false
	}
	var m mark
	if err := json.Unmarshal(doc, &m); err != nil {
		return "an unknown source", true
	}
	return m.Source, !m.Complete
}

// copying is one run of Copy.
type copying struct {
	from, to *side
	o        Options
	mark     thread.Rev // revision of the mark in the target
	copied   atomic.Int64
}

// Copy copies what the target lacks, and compares the two. Its error is ErrChanging, a *RefusedError, a
// *DifferentError, or that of a store or of ctx. After each of them the source is unchanged, and a later
// run goes on.
func Copy(ctx context.Context, from, to thread.Store, o Options) (Report, error) {
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	c := &copying{from: newSide(from), to: newSide(to), o: o}
	if err := c.check(ctx); err != nil {
		return Report{}, err
	}
	if err := c.setMark(ctx, mark{Source: o.Source}); err != nil {
		return Report{}, err
	}
	if err := c.follow(ctx); err != nil {
		return Report{}, err
	}
	if _, err := c.to.read(ctx); err != nil {
		return Report{}, err
	}
	if err := c.documents(ctx); err != nil {
		return Report{}, err
	}
	r, err := c.compare(ctx)
	if err != nil {
		return Report{}, err
	}
	return r, c.setMark(ctx, mark{Source: o.Source, Complete: true, Digest: r.Target})
}

// check reads both sides, and refuses a target that has something else.
func (c *copying) check(ctx context.Context) error {
	if _, err := c.from.read(ctx); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	if source, incomplete := Incomplete(c.from.mark.doc); incomplete {
		return fmt.Errorf("source: it is an incomplete copy of %s; complete that copy first", source)
	}
	if _, err := c.to.read(ctx); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	c.mark = c.to.mark.rev
	if c.to.mark.doc == nil {
		if n, docs := len(c.to.threads), len(c.to.docs); n > 0 || docs > 0 {
			return refused("it has %d threads and %d documents, and no copy has begun there; name an empty one", n, docs)
		}
		return nil
	}
	var m mark
	if err := json.Unmarshal(c.to.mark.doc, &m); err != nil || m.Source != c.o.Source {
		return refused("it is a copy of %s, and not of %s; name an empty one", m.Source, c.o.Source)
	}
	if m.Complete {
		if _, digest, err := c.to.digest(ctx, func(int) {}); err != nil {
			return fmt.Errorf("target: %w", err)
		} else if digest != m.Digest {
			return refused("it has changed since its copy was complete: an exchange has used it; name an empty one")
		}
	}
	return c.checkThreads(ctx)
}

// checkThreads refuses a target with a thread that is not an earlier state of the source's.
func (c *copying) checkThreads(ctx context.Context) error {
	for ref, is := range c.to.threads {
		was, known := c.from.threads[ref]
		if !known {
			return refused("it has the thread %s, and the source has not; name an empty one", ref)
		}
		if is.ver > 0 && is.ver <= was.ver {
			continue // the steps are compared before the next one is written
		}
		if _, _, err := c.missing(ctx, ref); err != nil {
			return err
		}
	}
	return nil
}

// setMark stores the mark, unless the target has it.
func (c *copying) setMark(ctx context.Context, m mark) error {
	doc, err := json.Marshal(m)
	if err != nil || string(doc) == string(c.to.mark.doc) {
		return err
	}
	if c.mark, err = c.to.store.Put(ctx, MarkKind, MarkID, doc, c.mark); err != nil {
		return fmt.Errorf("target: the mark of the copy: %w", err)
	}
	c.to.mark.doc = doc
	return nil
}

// follow copies the threads of the source until it is level with its feed. It leaves the last changes
// of a source that changes all the time to the next run.
func (c *copying) follow(ctx context.Context) error {
	refs := c.from.order()
	for range maxRounds {
		if err := c.threads(ctx, refs); err != nil {
			return err
		}
		var err error
		if refs, err = c.from.read(ctx); err != nil {
			return fmt.Errorf("source: %w", err)
		}
		if len(refs) == 0 {
			break
		}
	}
	return nil
}

// threads copies threads.
func (c *copying) threads(ctx context.Context, refs []string) error {
	refs = slices.DeleteFunc(slices.Clone(refs), func(ref string) bool {
		ver := c.from.threads[ref].ver
		return ver > 0 && ver == c.to.threads[ref].ver
	})
	var done atomic.Int64
	err := each(ctx, refs, func(ctx context.Context, _ int, ref string) error {
		if err := checkRef(ref); err != nil {
			return err
		}
		if err := c.thread(ctx, ref); err != nil {
			return fmt.Errorf("%s: %w", ref, err)
		}
		c.o.Progress(Progress{Copying, int(done.Add(1)), len(refs)})
		return nil
	})
	// After an error the target has some of the threads, and the next run must know them.
	if _, failed := c.to.read(context.WithoutCancel(ctx)); failed != nil && err == nil {
		return fmt.Errorf("target: %w", failed)
	}
	return err
}

// each calls fn with each ref and its index, several at a time, until the first error.
func each(ctx context.Context, refs []string, fn func(ctx context.Context, i int, ref string) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(together)
	for i, ref := range refs {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return fn(ctx, i, ref)
		})
	}
	return g.Wait()
}
