package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess/messeaf"
)

const (
	// batch is how many threads are taken into the log at once, at most, and
	// batchBytes how large they are together, unless one alone is larger.
	importBatch = 500
	importBytes = 16 << 20
	// maxAdopted bounds what is read of one thread, in bytes.
	maxExternal = 64 << 20
)

// externalThread is a thread that is taken in.
type externalThread struct {
	place    messeaf.Place
	contents []signature // before it was read
	records  []record
	err      error
}

// importAll takes threads in that the log does not know: somebody has put them
// there, or the log was lost. What cannot be taken in is told.
func (s *Store) importAll(ctx context.Context, places []messeaf.Place) error {
	order.By(places, func(a, b messeaf.Place) int { return cmp.Or(cmp.Compare(a.Ref, b.Ref), compareProgress(a, b)) })
	if len(places) > 1000 {
		s.cfg.Log.Info("reading threads that the log does not know", "threads", len(places))
	}
	var ref string
	for len(places) > 0 {
		some := s.nextBatch(places)
		places = places[len(some):]
		all := s.readPlaces(some)
		var records []record
		for _, a := range all {
			switch {
			case a.place.Ref == ref: // where it has come furthest it was taken in
				s.project.checkLater([]string{ref})
			case a.err != nil:
				s.project.noteIgnored(a.place, a.contents, a.err)
				s.project.logOnce(a.place.Ref, a.err)
			default:
				records = append(records, a.records...)
			}
			ref = a.place.Ref
		}
		if err := s.store(ctx, records); err != nil {
			return err
		}
	}
	return nil
}

// compareProgress orders the places of one thread: first where it has come furthest.
func compareProgress(a, b messeaf.Place) int {
	return cmp.Or(
		-cmp.Compare(slices.Index(messeaf.Folders, a.Folder), slices.Index(messeaf.Folders, b.Folder)),
		cmp.Compare(isFlat(a), isFlat(b)), cmp.Compare(a.Path, b.Path))
}

func isFlat(p messeaf.Place) int {
	if p.Flat {
		return 1
	}
	return 0
}

// nextBatch is so much of places as is read at once.
func (s *Store) nextBatch(places []messeaf.Place) []messeaf.Place {
	var bytes int64
	for i, p := range places[:min(importBatch, len(places))] {
		size, _ := s.size(p) // what cannot be read is told when it is
		if bytes += size; bytes > importBytes && i > 0 {
			return places[:i]
		}
	}
	return places[:min(importBatch, len(places))]
}

// size is how large a thread's own files are together.
func (s *Store) size(p messeaf.Place) (int64, error) {
	files, err := s.signatures(p.Path)
	var bytes int64
	for _, f := range files {
		bytes += f.size
	}
	return bytes, err
}

// readPlaces reads threads as records of the log.
func (s *Store) readPlaces(places []messeaf.Place) []externalThread {
	all := make([]externalThread, len(places))
	var g errgroup.Group
	g.SetLimit(8)
	for i, p := range places {
		g.Go(func() error {
			all[i].place, all[i].contents = p, s.contents(p)
			all[i].records, all[i].err = s.readPlace(p)
			return nil
		})
	}
	_ = g.Wait() // nobody returns an error
	return all
}

// store writes records, or, where the log can only be read, takes the threads as
// they lie in their folders.
func (s *Store) store(ctx context.Context, records []record) error {
	for len(records) > 0 && s.log.Err() == nil {
		n, err := s.storeSome(ctx, records)
		if err != nil && s.log.Err() == nil {
			return err
		}
		records = records[n:]
	}
	for _, r := range records {
		if r.Ref != "" {
			continue // its messages are read from its folder
		}
		if r.Thread != nil {
			r.Thread, r.Ended = nil, r.Thread
		}
		if err := s.take(r, wal.Place{}); err != nil {
			return err
		}
	}
	return nil
}

// storeSome writes as many records as the log takes at once, and says how many.
func (s *Store) storeSome(ctx context.Context, records []record) (int, error) {
	var data [][]byte
	bytes := 0
	for _, r := range records {
		one, err := r.encode()
		if err != nil {
			return 0, err
		}
		if bytes += len(one); bytes > wal.MaxRecord/2 && len(data) > 0 {
			break
		}
		data = append(data, one)
	}
	if err := s.put(ctx, records[:len(data)], data); err != nil {
		return 0, err
	}
	return len(data), nil
}

// importExternal takes a thread in that another program has put there.
func (s *Store) importExternal(ctx context.Context, ref string) error {
	places := s.places(ref)
	if len(places) == 0 {
		s.project.noteIgnored(messeaf.Place{Ref: ref}, nil, nil)
		return nil
	}
	p := slices.MinFunc(places, compareProgress)
	if !isEndedFolder(p.Folder) && s.archived(ref) {
		return s.setAsideStale(p, errors.New("the thread has ended, and is in the archive; what is to be done again needs a ref of its own"))
	}
	if s.changedWithin(p, quiet) {
		return errBusy
	}
	contents := s.contents(p)
	records, err := []record(nil), s.project.ignoredReason(p, contents)
	if err == nil {
		records, err = s.readPlace(p)
		s.project.noteIgnored(p, contents, err)
	}
	if err != nil {
		s.watcher.watchIgnored(s, p)
		return ignoredError{err}
	}
	if err := s.store(ctx, records); err != nil {
		return err
	}
	if len(places) > 1 {
		s.project.checkAfter(ref, retrySoon)
	}
	if records[0].Thread == nil {
		return nil
	}
	var e thread.Envelope
	if err := json.Unmarshal(records[0].envelope, &e); err != nil {
		return err // it was made by Marshal
	}
	s.cfg.Log.Info("another program has made a thread", "ref", ref, "intent", e.Intent)
	s.project.mark(ref)
	return nil
}
