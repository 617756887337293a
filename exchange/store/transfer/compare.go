package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/messkit/messkit/exchange/store/files/external"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess/messeaf"
)

// sum is the digest of a thread or document.
type sum [sha256.Size]byte

// counts of a side.
type counts struct{ messages, attachments, missing atomic.Int64 }

// sums has the digests of a side.
type sums struct {
	counts  counts
	threads map[string]sum
	docs    map[name]sum
}

// form is what the digest of a thread covers. It does not depend on the store.
//
// An archive does not have the version and the key of a thread that has ended. The comparison looks at
// the key by itself.
type form struct {
	Open        *thread.Envelope  `json:",omitempty"`
	Ended       *messeaf.Envelope `json:",omitempty"`
	Messages    []json.RawMessage
	Attachments map[string]string // SHA-256 by name, of those that the store has
}

// compare compares source and target, and returns the digests.
func (c *copying) compare(ctx context.Context) (Report, error) {
	total := len(c.from.threads) + len(c.to.threads)
	var done atomic.Int64
	count := func(int) { c.o.Progress(Progress{Comparing, int(done.Add(1)), total}) }
	a, from, err := c.from.digest(ctx, count)
	if err != nil {
		return Report{}, fmt.Errorf("source: %w", err)
	}
	b, to, err := c.to.digest(ctx, count)
	if err != nil {
		return Report{}, fmt.Errorf("target: %w", err)
	}
	was := c.from.pos
	if _, err := c.from.read(ctx); err != nil {
		return Report{}, fmt.Errorf("source: %w", err)
	}
	if c.from.pos != was {
		return Report{}, ErrChanging
	}
	if from != to {
		return Report{}, different(a, b)
	}
	if err := c.compareKeys(ctx, slices.Sorted(maps.Keys(a.threads))); err != nil {
		return Report{}, err
	}
	return Report{
		Threads: len(a.threads), Documents: len(a.docs), Copied: int(c.copied.Load()), Source: from, Target: to,
		Messages: int(a.counts.messages.Load()), Attachments: int(a.counts.attachments.Load()), Missing: int(a.counts.missing.Load()),
	}, nil
}

// compareKeys returns an error if a thread has a key in the source, and not in the target.
func (c *copying) compareKeys(ctx context.Context, refs []string) error {
	return each(ctx, refs, func(ctx context.Context, _ int, ref string) error {
		e, err := c.from.envelope(ctx, ref)
		if err != nil {
			return fmt.Errorf("source: %s: %w", ref, err)
		}
		keys, err := c.from.keys(ctx, e)
		if err != nil {
			return fmt.Errorf("source: %s: %w", ref, err)
		}
		for _, k := range keys {
			if got, err := c.to.store.Lookup(ctx, k); errors.Is(err, thread.ErrNoThread) || err == nil && got != ref {
				return &DifferentError{1, "the client id of " + ref}
			} else if err != nil {
				return fmt.Errorf("target: %s: %w", ref, err)
			}
		}
		return nil
	})
}

// envelope reads an envelope.
func (s *side) envelope(ctx context.Context, ref string) (thread.Envelope, error) {
	if r, ok := s.store.(thread.EnvelopeReader); ok {
		if e, err := r.Envelope(ctx, ref); !errors.Is(err, thread.ErrNoThread) {
			return e, err
		}
	}
	t, _, err := s.store.Read(ctx, ref)
	return t.Envelope, err
}

// different returns the error for sides that are not equal.
func different(a, b *sums) error {
	var list []string
	for _, ref := range slices.Sorted(maps.Keys(union(a.threads, b.threads))) {
		if x, y := a.threads[ref], b.threads[ref]; x != y {
			list = append(list, "the thread "+ref)
		}
	}
	for n := range union(a.docs, b.docs) {
		if a.docs[n] != b.docs[n] {
			list = append(list, "the document "+n.kind+"/"+n.id)
		}
	}
	return &DifferentError{len(list), list[0]}
}

func union[K comparable](a, b map[K]sum) map[K]sum {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// digest returns the digests of all threads and documents, and one of the whole side. It calls done
// after each thread.
func (s *side) digest(ctx context.Context, done func(int)) (*sums, string, error) {
	all := &sums{threads: map[string]sum{}, docs: map[name]sum{}}
	refs := slices.Sorted(maps.Keys(s.threads))
	of := make([]sum, len(refs))
	err := each(ctx, refs, func(ctx context.Context, i int, ref string) (err error) {
		of[i], err = s.sumOf(ctx, ref, &all.counts)
		if err != nil {
			return fmt.Errorf("%s: %w", ref, err)
		}
		done(i)
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	whole := sha256.New()
	for i, ref := range refs {
		all.threads[ref] = of[i]
		fmt.Fprintf(whole, "thread %q %x\n", ref, of[i])
	}
	for _, n := range s.names() {
		one := sha256.Sum256(withPosition(n, s.docs[n].doc, func(thread.Pos) thread.Pos { return "" }))
		all.docs[n] = one
		fmt.Fprintf(whole, "document %q %q %x\n", n.kind, n.id, one)
	}
	return all, hex.EncodeToString(whole.Sum(nil)), nil
}

// sumOf returns the digest of a thread.
func (s *side) sumOf(ctx context.Context, ref string, n *counts) (sum, error) {
	t, _, err := s.store.Read(ctx, ref)
	if err != nil {
		return sum{}, err
	}
	f := form{Attachments: map[string]string{}}
	for _, m := range t.Messages {
		line, _ := m.JSON() // never fails
		f.Messages = append(f.Messages, bytes.Clone(line))
	}
	for _, a := range attachments(t) {
		has, err := s.has(ctx, ref, a)
		if err != nil {
			return sum{}, fmt.Errorf("%s: %w", a.Name, err)
		}
		if has {
			f.Attachments[a.Name] = a.SHA256
			n.attachments.Add(1)
		} else {
			n.missing.Add(1)
		}
	}
	n.messages.Add(int64(len(t.Messages)))
	if t.Status.Terminal() {
		e := external.Thread(messeaf.Thread{Envelope: t.MESSEAF(), Messages: t.Messages}).MESSEAF()
		f.Ended = &e
	} else {
		f.Open = &t.Envelope
	}
	data, err := json.Marshal(f)
	return sha256.Sum256(data), err
}
