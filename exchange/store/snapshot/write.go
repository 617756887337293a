package snapshot

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess/messeaf"
)

// Writer writes snapshots. Several writers may work at the same time: the first one that replaces the
// manifest wins.
type Writer struct {
	Home  Home
	After uint64 // number of messages since the last snapshot from which on it writes
	Tail  int    // most entries of a new segment; 0 for 50,000
	Check bool   // read all parts first, and write the snapshot anew if one is damaged
	Now   func() time.Time
	Log   *slog.Logger
}

const (
	tailEntries    = 50_000
	renewAfter     = 24 * time.Hour   // although little has changed
	keepReplaced   = 10 * time.Minute // for readers of an earlier manifest
	abandonedAfter = time.Hour        // the objects of a writer that has not finished
)

// Write adds the changes since the last snapshot if there are enough of them. It reports whether it has
// written. It writes nothing if a later release or another writer has written meanwhile.
func (w *Writer) Write(ctx context.Context) (wrote bool, err error) {
	data, rev, err := w.Home.Manifest(ctx)
	if err != nil {
		return false, err
	}
	m, err := w.parse(data)
	if err != nil {
		return false, nil // a later release writes
	}
	damaged, err := w.check(ctx, &m)
	if err != nil {
		return false, err
	}
	if err := tooOld(&m, w.Now()); err != nil { // the stream may lack the last message of a thread that has left it
		w.restart(&m, err)
		damaged = true
	}
	waiting, err := w.Home.Count(ctx, m.Pos)
	old := len(m.Segments) > 0 && waiting > 0 && w.Now().Sub(m.At) > renewAfter
	if err != nil || waiting < max(1, w.After) && !damaged && !old {
		return false, err
	}
	if err := w.clean(ctx, &m); err != nil {
		return false, err
	}
	for {
		id := rand.Text()
		m.Begun = append(m.Begun, begun{id, w.Now()})
		if rev, err = w.publish(ctx, &m, rev); err != nil {
			return wrote, stale(err)
		}
		whole, err := w.extend(ctx, &m, id)
		if isDamage(err) && !damaged {
			damaged = true
			w.restart(&m, err)
			continue
		}
		if err != nil {
			return wrote, err
		}
		m.Begun = slices.DeleteFunc(m.Begun, func(b begun) bool { return b.ID == id })
		if whole {
			_, err = w.publish(ctx, &m, rev)
			return wrote || err == nil, stale(err)
		}
		wrote = true // the next publish
	}
}

// stale returns nil for the error that another writer was first.
func stale(err error) error {
	if errors.Is(err, thread.ErrStale) {
		return nil
	}
	return err
}

// parse reads the manifest. It returns an empty one instead of a damaged one and of one of an earlier
// release, and an error for one of a later release.
func (w *Writer) parse(data []byte) (manifest, error) {
	if data == nil {
		return manifest{Version: Version, Stream: w.Home.Stream()}, nil
	}
	m, err := parseManifest(data, w.Home.Stream())
	if err == nil {
		return m, nil
	}
	if v, ok := errors.AsType[errOtherVersion](err); ok && v > Version {
		return m, err
	}
	w.Log.Warn("the exchange writes the snapshot of the store anew", "err", err)
	return manifest{Version: Version, Stream: w.Home.Stream()}, nil
}

func (w *Writer) publish(ctx context.Context, m *manifest, after uint64) (uint64, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return 0, err
	}
	return w.Home.SetManifest(ctx, data, after)
}

// isDamage reports whether an error says that a part of the snapshot cannot be read, now or later.
func isDamage(err error) bool { return errors.Is(err, errPart) || errors.Is(err, thread.ErrNoBlob) }

// check reads all parts if the caller wants it. It reports whether one was damaged.
func (w *Writer) check(ctx context.Context, m *manifest) (damaged bool, err error) {
	if !w.Check {
		return false, nil
	}
	for _, s := range m.Segments {
		err := w.entries(ctx, s, func(*Entry) error { return nil })
		if isDamage(err) {
			w.restart(m, err)
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// restart drops the segments of a snapshot that is damaged or too old.
func (w *Writer) restart(m *manifest, err error) {
	w.Log.Warn("the exchange writes the snapshot of the store anew", "err", err)
	w.replace(m, 0)
	m.Pos, m.At = 0, time.Time{}
}

// replace drops the segments from one on. Their objects are removed later.
func (w *Writer) replace(m *manifest, first int) {
	now := w.Now()
	for _, s := range m.Segments[first:] {
		for _, p := range s.Parts {
			m.Old = append(m.Old, replaced{p.Name, now})
		}
	}
	m.Segments = slices.Clip(m.Segments[:first])
}

// clean removes objects that no reader needs any more.
func (w *Writer) clean(ctx context.Context, m *manifest) error {
	now := w.Now()
	for _, o := range m.Old {
		if now.Sub(o.At) < keepReplaced {
			continue
		}
		if err := w.Home.DeleteObject(ctx, o.Name); err != nil && !errors.Is(err, thread.ErrNoBlob) {
			return err
		}
	}
	m.Old = slices.DeleteFunc(m.Old, func(o replaced) bool { return now.Sub(o.At) >= keepReplaced })
	for _, b := range m.Begun {
		if now.Sub(b.At) < abandonedAfter {
			continue
		}
		for n := 0; ; n++ {
			err := w.Home.DeleteObject(ctx, objectName(b.ID, n))
			if errors.Is(err, thread.ErrNoBlob) {
				break
			}
			if err != nil {
				return err
			}
		}
	}
	m.Begun = slices.DeleteFunc(m.Begun, func(b begun) bool { return now.Sub(b.At) >= abandonedAfter })
	return nil
}

// errFull ends the tail of a segment that has enough entries.
var errFull = errors.New("the segment is full")

// extend adds one segment to the manifest. It reports whether the segment reaches to the present.
func (w *Writer) extend(ctx context.Context, m *manifest, id string) (whole bool, err error) {
	most := w.Tail
	if most == 0 {
		most = tailEntries
	}
	latest, serials, pos, began := map[string]Entry{}, map[string]int{}, m.Pos, w.Now()
	err = w.Home.Tail(ctx, pos, func(e Entry) error {
		if e.Seq <= pos {
			return fmt.Errorf("position %d comes after %d", e.Seq, pos)
		}
		if len(latest) >= most {
			return errFull
		}
		pos = e.Seq
		latest[e.key()] = e
		if day, serial, ok := messeaf.ParseRef(e.threadRef()); ok {
			serials[strings.Clone(day)] = max(serials[day], serial)
		}
		return nil
	})
	if whole = err == nil; err != nil && !errors.Is(err, errFull) {
		return false, err
	}
	news := make([]Entry, 0, len(latest))
	for _, e := range latest {
		news = append(news, e)
	}
	slices.SortFunc(news, func(a, b Entry) int {
		if a.Seq < b.Seq {
			return -1
		}
		return 1
	})
	if len(news) > 0 {
		if err := w.merge(ctx, m, id, news); err != nil {
			return false, err
		}
	}
	if m.Pos = pos; whole || m.At.IsZero() {
		m.At = began
	}
	if m.Serials == nil {
		m.Serials = map[string]int{}
	}
	for day, n := range serials {
		m.Serials[day] = max(m.Serials[day], n)
	}
	return whole, nil
}

// key returns what the entry is about.
func (e *Entry) key() string {
	if e.kind != "" && (e.form == document || e.form == removedDocument) {
		return "d" + e.kind + "\x00" + e.id
	}
	return "t" + e.threadRef()
}

// merge replaces the last segments by one that has the new entries too: those that are not at least twice as
// large as what follows them.
func (w *Writer) merge(ctx context.Context, m *manifest, id string, news []Entry) error {
	first, total := len(m.Segments), len(news)
	for first > 0 && m.Segments[first-1].Entries < 2*total {
		first--
		total += m.Segments[first].Entries
	}
	older := m.Segments[first:]
	f, err := w.newest(ctx, older, news)
	if err != nil {
		return err
	}
	out := output{w: w, id: id, keepRemovals: first > 0}
	for i, s := range older {
		if err := w.entries(ctx, s, func(e *Entry) error {
			if f.isIn(e, i) {
				return out.add(ctx, e)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	for i := range news {
		if err := out.add(ctx, &news[i]); err != nil {
			return err
		}
	}
	if err := out.flush(ctx); err != nil {
		return err
	}
	w.replace(m, first)
	if out.s.Entries > 0 {
		m.Segments = append(m.Segments, out.s)
	}
	return nil
}

// entries calls fn with each entry of a segment.
func (w *Writer) entries(ctx context.Context, s segment, fn func(*Entry) error) error {
	for _, p := range s.Parts {
		data, err := readPart(ctx, w.Home, p)
		if err != nil {
			return err
		}
		if err := decode(data, fn); err != nil {
			return err
		}
	}
	return nil
}

// newest knows the newest segment of each thread and document, of several segments in order. It keeps 128 bits
// of a hash instead of the names.
type newest struct {
	seeds [2]maphash.Seed
	in    map[[2]uint64]int32
}

// newest reads all of the segments but the first one.
func (w *Writer) newest(ctx context.Context, older []segment, news []Entry) (newest, error) {
	f := newest{[2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, map[[2]uint64]int32{}}
	if len(older) == 0 {
		return f, nil
	}
	for i, s := range older[1:] {
		if err := w.entries(ctx, s, func(e *Entry) error {
			f.in[f.hash(e)] = int32(i + 1)
			return nil
		}); err != nil {
			return f, err
		}
	}
	for i := range news {
		f.in[f.hash(&news[i])] = int32(len(older))
	}
	return f, nil
}

func (f *newest) hash(e *Entry) [2]uint64 {
	k := e.key()
	return [2]uint64{maphash.String(f.seeds[0], k), maphash.String(f.seeds[1], k)}
}

// isIn reports whether an entry of a segment is the newest one.
func (f *newest) isIn(e *Entry, segment int) bool { return f.in[f.hash(e)] <= int32(segment) }

// output writes the parts of a segment.
type output struct {
	w            *Writer
	id           string
	keepRemovals bool // earlier segments may have what an entry removes
	s            segment
	part         encoder
}

func (o *output) add(ctx context.Context, e *Entry) error {
	if e.removes() && !o.keepRemovals {
		return nil
	}
	o.part.add(e)
	o.s.Entries++
	if len(o.part.data) < partSize {
		return nil
	}
	return o.flush(ctx)
}

// flush stores the part so far.
func (o *output) flush(ctx context.Context) error {
	data := o.part.data
	if len(data) == 0 {
		return nil
	}
	name, sum := objectName(o.id, len(o.s.Parts)), sha256.Sum256(data)
	if err := o.w.Home.PutObject(ctx, name, data); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	o.s.Parts = append(o.s.Parts, part{name, len(data), hex.EncodeToString(sum[:])})
	o.part = encoder{}
	return nil
}
