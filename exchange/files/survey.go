package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// survey makes memory and folders agree at the start: it looks at the names in
// the folders, and reads only the threads that the log does not know.
func (s *Store) survey() error {
	if s.log.Err() == nil {
		if err := s.removeTmp(); err != nil {
			return err
		}
		for _, f := range messeaf.Folders {
			if err := s.root.MkdirAll(string(f), 0o700); err != nil {
				return err
			}
		}
	}
	there, complete := map[string]bool{}, true
	var unknown []messeaf.Place
	for _, f := range messeaf.Folders {
		places, err := messeaf.ListFolder(s.tree(), f)
		if err != nil {
			s.cfg.Log.Warn("a folder cannot be read; its threads are missing until it can", "path", filepath.Join(s.dir, string(f)), "err", err)
			complete = false
		}
		for _, p := range places {
			there[p.Ref] = true
			if known, _ := s.index.has(p.Ref); !known {
				unknown = append(unknown, p)
			}
		}
	}
	if complete {
		s.forgetMissing(there)
	}
	s.project.doubt(s.index.inLog())
	_, err := s.adopt(context.Background(), unknown)
	return err
}

// forgetMissing forgets the threads that have ended and that a person has
// removed or archived.
func (s *Store) forgetMissing(there map[string]bool) {
	var gone []string
	s.index.each(func(k *kept) bool {
		if !k.inLog() && !there[k.Ref] {
			gone = append(gone, k.Ref)
		}
		return true
	})
	for _, ref := range gone {
		s.index.forget(ref)
	}
}

// batch is how many threads are taken into the log at once.
const batch = 500

// adopt takes threads in that the log does not know: somebody has put them
// there, or the log was lost. It returns those that are open.
func (s *Store) adopt(ctx context.Context, places []messeaf.Place) ([]exchange.Envelope, error) {
	slices.SortFunc(places, func(a, b messeaf.Place) int {
		return cmp.Or(cmp.Compare(a.Ref, b.Ref), cmp.Compare(flat(a), flat(b)), cmp.Compare(a.Path, b.Path))
	})
	if len(places) > 1000 {
		s.cfg.Log.Info("reading threads that the log does not know", "threads", len(places))
	}
	var open []exchange.Envelope
	for len(places) > 0 {
		some := places[:min(batch, len(places))]
		places = places[len(some):]
		records := s.readAll(some)
		for _, r := range records {
			if r.Thread == nil {
				continue
			}
			var e exchange.Envelope
			if err := json.Unmarshal(r.envelope, &e); err != nil {
				return open, err // it was made by Marshal
			}
			open = append(open, e)
		}
		if err := s.store(ctx, records); err != nil {
			return open, err
		}
	}
	return open, nil
}

func flat(p messeaf.Place) int {
	if p.Flat {
		return 1
	}
	return 0
}

// store writes records, or, where the log can only be read, takes the threads as
// they lie in their folders.
func (s *Store) store(ctx context.Context, records []record) error {
	if s.log.Err() == nil {
		s.step.RLock()
		defer s.step.RUnlock()
		return s.write(ctx, records...)
	}
	for _, r := range records {
		if r.Thread != nil {
			r.Thread, r.Ended = nil, r.Thread
		}
		if err := s.take(r, wal.Place{}); err != nil {
			return err
		}
	}
	return nil
}

// readAll reads threads as records of the log; what cannot be read is told and
// left where it is.
func (s *Store) readAll(places []messeaf.Place) []record {
	all := make([]*record, len(places))
	var g errgroup.Group
	g.SetLimit(8)
	for i, p := range places {
		g.Go(func() error {
			r, err := s.readPlace(p)
			if err != nil {
				s.project.complain(p.Ref, err)
				return nil
			}
			all[i] = &r
			return nil
		})
	}
	_ = g.Wait() // nobody returns an error
	var records []record
	seen := map[string]bool{}
	for i, r := range all {
		switch {
		case r == nil:
		case seen[places[i].Ref]:
			s.project.complain(places[i].Path, errors.New("this thread is in another folder too; keep one of them"))
		default:
			seen[places[i].Ref] = true
			records = append(records, *r)
		}
	}
	return records
}

// readPlace reads one thread as a record of the log.
func (s *Store) readPlace(p messeaf.Place) (record, error) {
	t, err := p.Read(s.tree())
	if err != nil {
		return record{}, err
	}
	if t.Envelope.Ref != p.Ref {
		return record{}, messeaf.Problems{{File: p.Path, Path: "ref", Text: "is " + t.Envelope.Ref + ", and the name says " + p.Ref + "; make them the same"}}
	}
	in := inward(t)
	if in.Status.Terminal() {
		e := summaryOf(in.Envelope)
		return record{Ended: &e}, nil
	}
	if in.Status == mess.Pending {
		// It would be offered to executors, as nothing is that a door refuses.
		if err := (mess.Message{Items: []mess.Item{new(in.Request())}}).Validate(); err != nil {
			return record{}, messeaf.Problems{{File: p.Path, Text: fmt.Sprintf("cannot be offered: %v", err)}}
		}
	}
	return threadRecord(in)
}

// newcomer takes a thread in that another program has put there.
func (s *Store) newcomer(ctx context.Context, ref string) error {
	places := s.places(ref)
	if len(places) == 0 {
		return nil
	}
	p := s.choose(whole{}, places)
	if s.written(p, quiet) {
		return errBusy
	}
	open, err := s.adopt(ctx, []messeaf.Place{p})
	if err != nil || len(open) == 0 {
		return err
	}
	s.cfg.Log.Info("another program has made a thread", "ref", ref, "intent", open[0].Intent)
	s.project.mark(ref)
	s.project.mu.Lock()
	to := s.project.to
	s.project.mu.Unlock()
	if to != nil {
		to.Changed(open[0])
	}
	return nil
}

// missing forgets a thread that has ended and that a person has removed or
// archived.
func (s *Store) missing(ref string) {
	if len(s.places(ref)) == 0 {
		s.index.forget(ref)
	}
}
