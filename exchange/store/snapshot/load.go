package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
)

// Loaded is a whole snapshot in memory. Everything in it is checked and decoded, or was decoded once.
type Loaded struct {
	Pos     uint64         // it has the changes up to here
	Serials map[string]int // the highest by day, up to there
	Entries int
	Bytes   int

	parts []*loadedPart
}

// loadedPart is a part with the envelopes of its open threads.
type loadedPart struct {
	data string
	open []*thread.Envelope
}

// concurrent is the number of parts that Load reads at a time.
const concurrent = 4

// loads limits how often Load begins anew, because a writer has removed what it reads.
const loads = 3

// Load reads the snapshot of a home; nil for none. It returns an error for one that this messkit cannot use
// or read in full, or that is too old now.
func Load(ctx context.Context, home Home, now time.Time) (*Loaded, error) {
	for n := 1; ; n++ {
		l, err := loadOnce(ctx, home, now)
		if n == loads || !errors.Is(err, thread.ErrNoBlob) {
			return l, err
		}
	}
}

func loadOnce(ctx context.Context, home Home, now time.Time) (*Loaded, error) {
	data, _, err := home.Manifest(ctx)
	if err != nil || data == nil {
		return nil, err
	}
	m, err := parseManifest(data, home.Stream())
	if err != nil || len(m.Segments) == 0 {
		return nil, err
	}
	if err := tooOld(&m, now); err != nil {
		return nil, err
	}
	l := &Loaded{Pos: m.Pos, Serials: m.Serials, Bytes: m.size()}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrent)
	for _, s := range m.Segments {
		l.Entries += s.Entries
		for _, p := range s.Parts {
			one := &loadedPart{}
			l.parts = append(l.parts, one)
			g.Go(func() error { return one.load(ctx, home, p, m.Pos) })
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return l, nil
}

// tooOld returns an error for a snapshot that nobody uses or extends any more.
func tooOld(m *manifest, now time.Time) error {
	if age := now.Sub(m.At); len(m.Segments) > 0 && age > MaxAge {
		return fmt.Errorf("it is %d hours old", age/time.Hour)
	}
	return nil
}

// readPart reads a part, and compares its SHA-256.
func readPart(ctx context.Context, home Home, p part) (string, error) {
	data, err := home.Object(ctx, p.Name)
	if err != nil {
		return "", fmt.Errorf("its part %s: %w", p.Name, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != p.SHA256 {
		return "", fmt.Errorf("%w: %s has other bytes than the manifest says", errPart, p.Name)
	}
	return string(data), nil
}

// load reads a part, and decodes all of it.
func (l *loadedPart) load(ctx context.Context, home Home, p part, last uint64) (err error) {
	if l.data, err = readPart(ctx, home, p); err != nil {
		return err
	}
	return decode(l.data, func(e *Entry) error {
		if e.Seq > last {
			return errPart
		}
		if e.form != openThread {
			return nil
		}
		var env thread.Envelope
		if err := logformat.Parse(e.envelope, &env); err != nil || env.Ref != e.ref {
			return errPart
		}
		l.open = append(l.open, &env)
		return nil
	})
}

// Each calls fn with each change of the snapshot and its position, in their order. It frees what fn has
// had, so it works once. The error is that of fn.
func (l *Loaded) Each(fn func(seq uint64, c thread.Change) error) error {
	for i, p := range l.parts {
		l.parts[i] = nil
		if err := decode(p.data, func(e *Entry) error {
			var env *thread.Envelope
			if e.form == openThread {
				env, p.open[0] = p.open[0], nil
				p.open = p.open[1:]
			}
			return fn(e.Seq, e.change(env))
		}); err != nil {
			return err
		}
	}
	return nil
}
