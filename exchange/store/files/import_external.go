package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess/messeaf"
)

const (
	// importBatch is the maximum number of threads that one batch adds to the log. importBytes
	// is the maximum total size of a batch, unless a single thread is larger.
	importBatch = 500
	importBytes = 16 << 20
	// maxExternal is the maximum size of one imported thread, in bytes.
	maxExternal = 64 << 20
)

// externalThread is a thread of another program that the store imports.
type externalThread struct {
	place    messeaf.Place
	contents []signature // before the read
	records  []logformat.Record
	err      error
}

// importAll imports threads that the log does not have: another program has made them, or the
// log was lost. It logs the threads that it cannot import.
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
		var records []logformat.Record
		for _, a := range all {
			switch {
			case a.place.Ref == ref: // the place with the most progress came first
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

// compareProgress orders the places of one thread: the place with the most progress comes first.
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

// nextBatch returns the places of the next batch.
func (s *Store) nextBatch(places []messeaf.Place) []messeaf.Place {
	var bytes int64
	for i, p := range places[:min(importBatch, len(places))] {
		size, _ := s.size(p) // the read reports the error
		if bytes += size; bytes > importBytes && i > 0 {
			return places[:i]
		}
	}
	return places[:min(importBatch, len(places))]
}

// size returns the total size of a thread's own files, in bytes.
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
	_ = g.Wait() // the functions return no error
	return all
}

// store writes records. If the log is read-only, it adds the threads to the index as they are in
// their folders.
func (s *Store) store(ctx context.Context, records []logformat.Record) error {
	for len(records) > 0 && s.log.Err() == nil {
		n, err := s.storeSome(ctx, records)
		if err != nil && s.log.Err() == nil {
			return err
		}
		records = records[n:]
	}
	for _, r := range records {
		if r.Ref != "" {
			continue // readers take its messages from its folder
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

// storeSome writes as many records as the log takes at once, and returns their number.
func (s *Store) storeSome(ctx context.Context, records []logformat.Record) (int, error) {
	var data [][]byte
	bytes := 0
	for _, r := range records {
		one, err := r.Encode()
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

// importExternal imports a thread that another program has made.
func (s *Store) importExternal(ctx context.Context, ref string) error {
	places := s.places(ref)
	if len(places) == 0 {
		s.project.noteIgnored(messeaf.Place{Ref: ref}, nil, nil)
		return nil
	}
	p := slices.MinFunc(places, compareProgress)
	if !isEndedFolder(p.Folder) && s.archived(ref) {
		return s.setAsideStale(p, errors.New("the thread has ended, and is in the archive; to repeat it, use a new ref"))
	}
	if s.changedWithin(p, quiet) {
		return errBusy
	}
	contents := s.contents(p)
	records, err := []logformat.Record(nil), s.project.ignoredReason(p, contents)
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
	if err := json.Unmarshal(records[0].Envelope, &e); err != nil {
		return err // Marshal has made it
	}
	s.cfg.Log.Info("another program has made a thread", "ref", ref, "intent", e.Intent)
	s.project.mark(ref, e.Status.Terminal())
	return nil
}
