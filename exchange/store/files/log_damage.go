package files

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/store/files/external"
	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/store/files/tree"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// damage contains the damage that Open has found in the log, and the threads that it affects.
type damage struct {
	found []wal.Damage
	refs  map[string]bool          // threads that have lost records
	lost  map[string]thread.Thread // the same, as the damaged records have them
	any   bool                     // the damaged records do not name their threads
	seq   uint64                   // of the last change before the damage
	at    time.Time                // of that change
	last  time.Time                // of the last change in the log
}

// written is the time after a step by which the disk has its folder: the projector writes the
// folder within seconds, and the kernel syncs it within half a minute.
const written = 2 * time.Minute

// damaged notes a damaged part of the log during the read.
func (s *Store) damaged(found wal.Damage) error {
	s.damage.found = append(s.damage.found, found)
	if found.Repaired {
		s.cfg.Log.Error("one bit of the exchange's log had flipped, and messkit has turned it back", "err", found)
		return nil
	}
	s.cfg.Log.Error("damage in the exchange's log; messkit rebuilds its threads from their folders; check the disk", "copy", found.Copy, "err", found)
	d := &s.damage
	d.seq, d.at = s.index.last(), d.last
	records, readable := found.Records()
	for _, data := range records {
		readable = d.note(data, s.cfg) && readable
	}
	d.any = d.any || !readable
	return nil
}

// note notes the thread of a damaged record. It returns false if it cannot identify the thread.
func (d *damage) note(data []byte, cfg Config) bool {
	r, err := logformat.Decode(data)
	switch ref := r.ThreadRef(); {
	case err != nil:
		return false
	case r.HasEnvelope():
		w := loadedThread{messages: r.Messages}
		if json.Unmarshal(r.Envelope, &w.env) != nil || w.env.Ref != ref || !messeaf.ValidRef(ref) {
			return false
		}
		t, err := w.decode()
		if err != nil {
			t = thread.Thread{Envelope: w.env}
		}
		if was, ok := d.lost[ref]; ok {
			t.Messages = append(was.Messages, t.Messages...)
		}
		d.lost[ref] = t
		d.lack(ref)
	case ref != "":
		d.lack(ref)
	case r.Kind != "":
		cfg.Log.Error("a document of the exchange may be older than it was", "kind", r.Kind, "id", r.ID)
	}
	return true
}

// Damage lists the damage that Open has found in the log.
func (s *Store) Damage() []wal.Damage { return slices.Clone(s.damage.found) }

// gaps reports whether the log has lost records.
func (d *damage) gaps() bool {
	return slices.ContainsFunc(d.found, func(one wal.Damage) bool { return !one.Repaired })
}

func (d *damage) lack(ref string) { d.refs[ref] = true }

// afterDamage adapts a record to the known part of its thread after the log has lost earlier
// records.
func (s *Store) afterDamage(r logformat.Record) logformat.Record {
	d, ref := &s.damage, r.ThreadRef()
	k, known := s.index.thread(ref)
	switch {
	case ref == "" || r.Thread != nil:
	case !known || !k.inLog():
		d.lack(ref)
		r.Thread, r.Step = r.Step, nil // a thread without its first messages
		if r.Thread == nil {
			return logformat.Record{Days: map[string]int{}} // more messages of nothing
		}
	case r.Step != nil && k.Ver+1 != r.Step.Ver:
		d.lack(ref)
	}
	return r
}

// repair rebuilds the threads that have lost records. If the log may have lost the newest change
// of a thread, and its folder cannot show that change either, repair ends the thread with an
// unknown outcome.
func (s *Store) repair(ctx context.Context) error {
	d := &s.damage
	if !d.gaps() || s.log.Err() != nil {
		return nil
	}
	if d.any {
		s.suspectAll()
	}
	// If the program died, the folders may lack the last steps.
	projected := s.log.Orderly() || d.last.Sub(d.at) > written
	for _, ref := range slices.Sorted(maps.Keys(d.refs)) {
		k, known := s.index.thread(ref)
		if known && !k.inLog() {
			continue // it has ended, and its folder has it
		}
		r := damagedThread{k: k, certain: known && k.seq > d.seq, projected: projected, folder: s.inFolder(ref)}
		if lost, ok := d.lost[ref]; ok {
			r.lost = &lost
		}
		if r.folder != nil {
			r.folder.DependsOn = dependsOn(*r.folder, s.index.find)
		}
		if err := s.restore(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// suspectAll treats every open thread without a later change as one that has lost records.
func (s *Store) suspectAll() {
	for _, ref := range s.index.open() {
		if k, _ := s.index.thread(ref); k.seq <= s.damage.seq {
			s.damage.lack(ref)
		}
	}
	for _, f := range messeaf.Folders {
		places, _ := messeaf.ListFolder(s.tree(), f) // scanFolders logs the error
		for _, p := range places {
			if known, _ := s.index.has(p.Ref); !known && !isEndedFolder(f) && !s.archived(p.Ref) {
				s.damage.lack(p.Ref)
			}
		}
	}
	s.cfg.Log.Error("the exchange's log has lost records, and messkit cannot tell whose; documents of the exchange may be older than they were")
}

// inFolder reads a thread from its folder. It returns nil without a readable folder.
func (s *Store) inFolder(ref string) *thread.Thread {
	places := s.places(ref)
	slices.SortFunc(places, external.CompareProgress)
	for _, p := range places {
		if t, err := p.Read(s.tree()); err == nil && t.Envelope.Ref == ref {
			in := external.Thread(t)
			return &in
		}
	}
	return nil
}

// dependsOn returns the refs that a request depends on. find resolves the requester's id of a
// thread to its ref.
func dependsOn(t thread.Thread, find func(thread.Key) (string, bool)) []string {
	c := t.Request().Constraints
	if c == nil {
		return nil
	}
	refs := slices.Clone(c.DependsOn)
	for i, name := range refs {
		if ref, ok := find(thread.Key{Owner: t.Requester, Name: name}); ok {
			refs[i] = ref
		}
	}
	return refs
}

// damagedThread is a thread with unreadable records.
type damagedThread struct {
	k         threadState
	certain   bool // the log still has the thread's newest change
	projected bool // its folder shows every step
	folder    *thread.Thread
	lost      *thread.Thread // from the damaged records
}

// restore stores a thread that has lost records anew, as far as the store knows it.
func (s *Store) restore(ctx context.Context, r damagedThread) error {
	t, how := s.rebuild(r)
	if how == "" {
		if r.k.Ref != "" {
			return nil // its folder shows that it has lost nothing
		}
		s.cfg.Log.Error("the exchange's log has lost a thread that has no folder")
		return nil
	}
	s.cfg.Log.Error("a thread had lost records", "ref", t.Ref, "it", how, "status", t.Status)
	records, err := s.wholeRecords(t, r.k.bound())
	if err != nil {
		return err
	}
	return s.store(ctx, records)
}

// wholeRecords returns a thread as records of the log.
func (s *Store) wholeRecords(t thread.Thread, binds []thread.Bind) ([]logformat.Record, error) {
	one, err := logformat.OfThread(t)
	if err != nil {
		return nil, err
	}
	one.Binds = binds
	var records []logformat.Record
	one.Parts(logformat.PartBytes, func(r logformat.Record) { records = append(records, r) })
	return records, nil
}

// The ways in which the store treats a thread that had lost records.
const (
	rebuilt = "was rebuilt"
	unknown = "ended with an unknown outcome"
)

// rebuild returns a thread as far as the store knows it, and how the store treats it. how is ""
// if the thread has lost nothing, or if the store knows nothing about it.
func (s *Store) rebuild(r damagedThread) (thread.Thread, string) {
	log, all := s.readable(r.k)
	t, how := thread.Thread{}, rebuilt
	switch {
	case r.certain && log.Ref != "":
		t = log
	case r.folder != nil && r.projected:
		if t = *r.folder; all && sameEnvelope(log.MESSEAF(), t.MESSEAF()) {
			t.Envelope, how = log.Envelope, ""
		}
	case r.folder != nil && (log.Ref == "" || log.Updated.Before(r.folder.Updated)):
		t, how = *r.folder, unknown
	case log.Ref != "":
		t, how = log, unknown
	case r.lost != nil:
		t, how = *r.lost, unknown
	default:
		return thread.Thread{}, ""
	}
	if r.folder != nil && len(t.Messages) < len(r.folder.Messages) {
		t.Messages, how = r.folder.Messages, cmp.Or(how, rebuilt)
	}
	switch {
	case how == "":
		return t, ""
	case how == unknown && !t.Status.Terminal():
		t = s.endUnknown(t)
	case how == unknown:
		how = rebuilt
	}
	t.Ver = max(t.Ver, r.k.Ver) + 1
	return t, how
}

// readable returns the readable part of a thread in the log, and whether that part is complete.
// The ref is empty if the envelope is unreadable.
func (s *Store) readable(k threadState) (t thread.Thread, all bool) {
	w := loadedThread{}
	all = true
	for i, p := range k.records {
		r, err := s.readRecord(k.Ref, p)
		if err == nil && i == k.newest {
			err = json.Unmarshal(r.Envelope, &w.env)
		}
		if err != nil {
			s.quarantine(k.Ref, i, p)
			all = false
			continue
		}
		w.messages = append(w.messages, r.Messages...)
	}
	t, err := w.decode()
	if err != nil {
		return thread.Thread{Envelope: w.env}, false
	}
	return t, all
}

// quarantine copies an unreadable record to the folder set-aside.
func (s *Store) quarantine(ref string, n int, p wal.Place) {
	data, err := s.log.Record(p)
	if len(data) == 0 {
		return
	}
	name := path.Join("set-aside", fmt.Sprintf("%s-%s-%d.record", s.cfg.Now().UTC().Format("20060102T150405.000000000"), ref, n))
	if mk := tree.MakeDir(s.root, "set-aside"); mk == nil {
		mk = s.root.WriteFile(name, data, fs.FileMode(0o600))
		s.cfg.Log.Error("cannot read a record of a thread", "ref", ref, "copy", filepath.Join(s.dir, name), "err", cmp.Or(err, mk))
	}
}

// endUnknown ends a thread that has lost its last steps. An executor may have started it, so its
// outcome is unknown.
func (s *Store) endUnknown(t thread.Thread) thread.Thread {
	now := s.cfg.Now()
	t.Serial++
	m := mess.Message{
		From: thread.Self, Received: mess.TimeOf(now), Re: mess.Refs{t.Ref},
		Items: []mess.Item{&mess.Status{
			Code:        mess.Failed,
			Reason:      &mess.Reason{Type: "interrupted", Effect: mess.EffectUnknown, Detail: "the exchange lost the last steps of this thread to a damaged disk"},
			Recoverable: new(false), Suggestion: "look before retrying",
		}},
	}
	m.Ref = messeaf.MessageRef(t.Ref, t.Serial, m)
	t.Status, t.Phase, t.Updated = mess.Failed, thread.Finished, now
	t.Messages = append(slices.Clip(t.Messages), m)
	t.History = append(slices.Clip(t.History), thread.HistoryEntry{Action: string(mess.Failed), At: now, By: thread.Self, Ref: m.Ref})
	return t
}
