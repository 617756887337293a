package jetstream_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	upstream "github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/store/files/archive"
	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/test/natsserver"
	"github.com/messkit/messkit/mess"
)

// intruder is another program with the user of the account.
type intruder struct {
	*testing.T
	js upstream.JetStream
}

func newIntruder(t *testing.T, server *natsserver.Server) intruder {
	t.Helper()
	nc, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := upstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return intruder{t, js}
}

// publish publishes a message, and returns its sequence. headers are names and values.
func (p intruder) publish(subject, body string, headers ...string) uint64 {
	p.Helper()
	m := nats.NewMsg(subject)
	m.Data = []byte(body)
	for i := 0; i < len(headers); i += 2 {
		m.Header.Set(headers[i], headers[i+1])
	}
	ack, err := p.js.PublishMsg(p.Context(), m)
	if err != nil {
		p.Fatal(err)
	}
	return ack.Sequence
}

// follower collects the changes of a feed.
type follower struct {
	changes chan thread.Change
	ended   chan error
}

func follow(t *testing.T, s *jetstream.Store) follower {
	t.Helper()
	f := follower{make(chan thread.Change, 100), make(chan error, 1)}
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	go func() {
		f.ended <- s.Feed(ctx, "", func(c thread.Change) error {
			f.changes <- c
			return nil
		})
	}()
	return f
}

// until returns the changes up to one that is wanted.
func (f follower) until(t *testing.T, wanted func(thread.Change) bool) (all []thread.Change) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case c := <-f.changes:
			if all = append(all, c); wanted(c) {
				return all
			}
		case err := <-f.ended:
			t.Fatalf("the feed has ended: %v", err)
		case <-limit:
			t.Fatalf("the feed has stopped after %d changes", len(all))
		}
	}
}

// Records that nobody can read do not stop a feed, live or from the beginning. The store names them.
func TestUnreadableRecords(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	c := config(1, server)
	s, p := opened(t, c), newIntruder(t, server)
	prefix := "mess." + c.Site + "."
	done := ended(t, s, 1, "")
	live := follow(t, s)
	live.until(t, func(c thread.Change) bool { return c.Level })
	bad := []uint64{
		p.publish(prefix+"t.nobody", "{"),
		p.publish(prefix+"t.nobody", ""),
		p.publish(prefix+"d.nobody", "\x00\xff"),
		p.publish(prefix+"d.nobody", `{"kind":"stop","id":"all","doc":"e30="}`), // it belongs to another subject
		p.publish(prefix+"f", "later"),
		p.publish(prefix+"t.other", `{"thread":{}}`+"\n{}"),
		p.publish(prefix+"t.other", "[]", "Mess-Format", "99"),
		p.publish(prefix+"t.other", "", "Mess-Format", "one"),
		p.publish(prefix+"t.missing", "", "Mess-Body", strings.Repeat("0", 64)),
		p.publish(s.ThreadSubject(done), `{"step":{}}`+"\n{\"ref\":1}\n"),
	}
	p.publish(prefix+"k.nobody", "\x00")
	p.publish(prefix+"x.unknown", "\x00")
	if _, err := s.Append(t.Context(), storetest.Step(ref(2), "agent", "", storetest.Start)); err != nil {
		t.Fatal(err)
	}
	isLast := func(c thread.Change) bool { return c.Envelope.Ref == ref(2) }
	if all := live.until(t, isLast); len(all) != 1 {
		t.Errorf("the feed has %d changes, want one", len(all))
	}
	check := func(s *jetstream.Store) {
		t.Helper()
		list, count := s.Unreadable()
		var got []uint64
		for _, u := range list {
			got = append(got, u.Sequence)
			if u.Reason == "" || !strings.HasPrefix(u.Subject, prefix) || (u.Ref == done) != (u.Sequence == bad[len(bad)-1]) {
				t.Errorf("%+v", u)
			}
		}
		if !slices.Equal(got, bad) || count != len(bad) {
			t.Errorf("the unreadable records are %v, %d of them; want %v", got, count, bad)
		}
	}
	check(s)
	again := opened(t, c)
	if got, want := again.Format(), s.Format(); got != want {
		t.Errorf("format %d, want %d", got, want)
	}
	late := follow(t, again)
	late.until(t, isLast)
	late.until(t, func(c thread.Change) bool { return c.Level })
	check(again)
	if th, _, err := again.Read(t.Context(), done); err != nil || th.Status != mess.Completed || len(th.Messages) != 2 || !strings.Contains(th.History[len(th.History)-1].Note, "unreadable") {
		t.Errorf("the thread that had ended: %+v, %v", th.Envelope, err)
	}
	if n, err := s.Archive(t.Context(), []string{done}, later); n != 0 || err == nil || !strings.Contains(err.Error(), done) {
		t.Errorf("archived %d threads, %v", n, err)
	}
	again.SetAges(time.Hour, 0, 0)
	if n, err := again.Clean(t.Context()); n != 0 || err != nil && !strings.Contains(err.Error(), "t.nobody") {
		t.Errorf("removed %d objects, %v", n, err)
	}
}

// An open thread with an unreadable record has failed with an unknown effect, and takes no step, also of an
// exchange that has not heard of it. A later record of the thread changes nothing.
func TestDamagedThread(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	c := config(1, server)
	s, p := opened(t, c), newIntruder(t, server)
	step := storetest.Step(ref(1), "agent", "id", storetest.Start)
	rev, err := s.Append(t.Context(), step)
	if err != nil {
		t.Fatal(err)
	}
	step.Envelope.Rev = rev
	if _, _, err := s.Read(t.Context(), ref(1)); err != nil {
		t.Fatal(err)
	}
	live := follow(t, s)
	live.until(t, func(c thread.Change) bool { return c.Level })
	at := p.publish(s.ThreadSubject(ref(1)), "garbage")
	all := live.until(t, func(c thread.Change) bool { return c.Envelope.Ref == ref(1) })
	failed := all[len(all)-1]
	if e := failed.Envelope; e.Status != mess.Failed || e.Ver != 2 || e.Phase != thread.Finished || len(failed.Messages) != 1 {
		t.Errorf("the feed has %+v, with %d messages", e, len(failed.Messages))
	}
	wants := func(what string, err error) {
		t.Helper()
		if d, ok := errors.AsType[*thread.DamagedError](err); !ok || d.Ref != ref(1) {
			t.Errorf("%s: %v, want a DamagedError", what, err)
		}
	}
	_, err = s.Append(t.Context(), claim(step.Envelope, "phone"))
	wants("a claim", err)
	if u, _ := s.Unreadable(); len(u) != 1 || u[0].Sequence != at || u[0].Ref != ref(1) {
		t.Errorf("the unreadable records are %+v", u)
	}
	p.publish(s.ThreadSubject(ref(1)), "more garbage")
	other := opened(t, c)
	for _, one := range []*jetstream.Store{s, other} {
		th, rev, err := one.Read(t.Context(), ref(1))
		if err != nil || th.Status != mess.Failed || len(th.Messages) != 2 {
			t.Fatalf("%+v, %d messages, %v", th.Envelope, len(th.Messages), err)
		}
		if is, ok := th.Messages[1].Items[0].(*mess.Status); !ok || !is.HasUnknownEffect() {
			t.Errorf("the last message is %+v, want an unknown effect", th.Messages[1])
		}
		e := th.Envelope
		e.Rev = rev
		_, err = one.Append(t.Context(), claim(e, "phone"))
		wants("a step after the damage", err)
		if e, err := one.Envelope(t.Context(), ref(1)); err != nil || e.Status != mess.Failed {
			t.Errorf("the envelope: %+v, %v", e, err)
		}
		_, err = one.Append(t.Context(), storetest.Step(ref(1), "agent", "", storetest.Start))
		if !errors.Is(err, thread.ErrStale) {
			t.Errorf("a new thread with the ref: %v", err)
		}
	}
	replay := follow(t, other)
	for _, c := range replay.until(t, func(c thread.Change) bool { return c.Level }) {
		if c.Envelope.Ref != "" && c.Envelope.Status != mess.Pending && c.Envelope.Status != mess.Failed {
			t.Errorf("the replay has %+v", c.Envelope)
		}
	}
}

// A document keeps its last readable content, and the next write replaces what nobody can read. So does the
// index of an archive.
func TestUnreadableDocument(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	c := config(1, server)
	s, p := opened(t, c), newIntruder(t, server)
	rev, err := s.Put(t.Context(), "stop", "all", []byte("one"), "")
	if err != nil {
		t.Fatal(err)
	}
	p.publish(s.DocumentSubject("stop", "all"), "garbage")
	p.publish(s.DocumentSubject("stop", "new"), "garbage")
	p.publish(s.DocumentSubject("stop", "hidden"), "garbage", "Nats-Rollup", "sub")
	p.publish(s.DocumentSubject("stop", "hidden"), "garbage")
	is := func(id, want string) {
		t.Helper()
		if doc, err := s.Document(t.Context(), "stop", id); err != nil || string(doc) != want {
			t.Errorf("the document %s is %q, %v; want %q", id, doc, err, want)
		}
	}
	is("all", "one")
	is("new", "")
	if doc, err := s.Document(t.Context(), "stop", "hidden"); err == nil {
		t.Errorf("garbage that has replaced all before it gives the document %q", doc)
	}
	if _, err := s.Put(t.Context(), "stop", "all", []byte("lost"), "1"); !errors.Is(err, thread.ErrStale) {
		t.Errorf("a write with an unknown revision: %v", err)
	}
	after, err := s.Put(t.Context(), "stop", "all", []byte("two"), rev)
	if err != nil || after == rev {
		t.Fatalf("a write after garbage: %q, %v", after, err)
	}
	is("all", "two")
	if _, err := s.Put(t.Context(), "stop", "new", []byte("three"), ""); err != nil {
		t.Fatal(err)
	}
	is("new", "three")
	if _, err := s.Put(t.Context(), "stop", "hidden", []byte("four"), ""); err != nil {
		t.Fatal(err)
	}
	is("hidden", "four")

	first, second := ended(t, s, 1, ""), ended(t, s, 2, "")
	archiveAll(t, s, []string{first}, 1)
	p.publish(s.ArchiveSubject(archive.Of(first)), "garbage")
	whole(t, s, first)
	if all, err := s.Archived(t.Context()); err != nil || !slices.Equal(all, []string{first}) {
		t.Errorf("the archive has %v, %v", all, err)
	}
	archiveAll(t, s, []string{second}, 1)
	whole(t, s, first)
	whole(t, s, second)
}

// A record that a later message has replaced is forgotten, at the exchange that wrote and at another one, and
// the snapshot goes on.
func TestReplacedUnreadableDocument(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	c := jetstream.WithSnapshotAfter(config(1, server), 2)
	s, other, p := opened(t, c), opened(t, c), newIntruder(t, server)
	live := follow(t, other)
	rev, err := s.Put(t.Context(), "stop", "all", []byte("one"), "")
	if err != nil {
		t.Fatal(err)
	}
	p.publish(s.DocumentSubject("stop", "all"), "garbage")
	if _, err := s.Document(t.Context(), "stop", "all"); err != nil {
		t.Fatal(err)
	}
	next := ended(t, s, 1, "")
	live.until(t, func(c thread.Change) bool { return c.Envelope.Ref == next })
	for _, one := range []*jetstream.Store{s, other} {
		if u, n := one.Unreadable(); n != 1 || len(u) != 1 {
			t.Errorf("%d unreadable records, %v; want one", n, u)
		}
		if wrote, err := one.Snapshot(t.Context()); wrote || err != nil {
			t.Errorf("a snapshot hides the record: %v, %v", wrote, err)
		}
	}
	if _, err := s.Put(t.Context(), "stop", "all", []byte("two"), rev); err != nil {
		t.Fatal(err)
	}
	live.until(t, func(c thread.Change) bool { return string(c.Doc) == "two" })
	for _, one := range []*jetstream.Store{s, other} {
		if u, n := one.Unreadable(); n != 0 || len(u) != 0 {
			t.Errorf("%d unreadable records, %v; want none", n, u)
		}
	}
	if wrote, err := other.Snapshot(t.Context()); !wrote || err != nil {
		t.Errorf("no snapshot: %v, %v", wrote, err)
	}
}

// A record that nobody can read, after the last message of an archived thread, hides no archive. Nor does it
// when the last message has gone.
func TestUnreadableAfterArchivedThread(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	c := config(1, server)
	s, p := opened(t, c), newIntruder(t, server)
	one := ended(t, s, 1, "")
	archiveAll(t, s, []string{one}, 1)
	gone := p.publish(s.ThreadSubject(one), "garbage")
	check := func() {
		t.Helper()
		fresh := opened(t, c)
		late := follow(t, fresh)
		late.until(t, func(c thread.Change) bool { return c.Level })
		for _, of := range []*jetstream.Store{s, fresh} {
			whole(t, of, one)
			th, rev, err := of.Read(t.Context(), one)
			if err != nil {
				t.Fatal(err)
			}
			th.Rev = rev
			if _, err := of.Append(t.Context(), claim(th.Envelope, "phone")); !errors.Is(err, thread.ErrNoThread) {
				t.Errorf("a step after the archive: %v", err)
			}
			if rev, err := of.Append(t.Context(), storetest.Step(one, "agent", "", storetest.Start)); !errors.Is(err, thread.ErrStale) {
				t.Errorf("a new thread with the ref: %q, %v", rev, err)
			}
		}
	}
	check()
	if err := streamOf(t, server, "mess_"+c.Site).Purge(t.Context(), upstream.WithPurgeSubject(s.ThreadSubject(one)), upstream.WithPurgeSequence(gone)); err != nil {
		t.Fatal(err)
	}
	check()
	p.publish(s.ThreadSubject(ref(9)), "garbage")
	if _, _, err := s.Read(t.Context(), ref(9)); err == nil || errors.Is(err, thread.ErrNoThread) {
		t.Errorf("a thread that nobody can read: %v", err)
	}
}

// The unreadable index of one archive, and its lost part, do not keep the threads of other archives.
func TestOneArchiveIsUnusable(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	c := config(1, server)
	s, p := opened(t, c), newIntruder(t, server)
	first, second := ended(t, s, 1, ""), ended(t, s, 2, "")
	other := storetest.Step("2026-04-01-001", "agent", "", storetest.Start)
	rev, err := s.Append(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	other.Envelope.Rev = rev
	end := claim(other.Envelope, "phone")
	end.Envelope.Status, end.Envelope.Phase = mess.Completed, thread.Finished
	if _, err := s.Append(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	name := archive.Of(first)
	if name == archive.Of(other.Envelope.Ref) {
		t.Fatalf("both threads belong to %s", name)
	}
	p.publish(s.ArchiveSubject(name), "garbage") // it is the first message, and hides nothing
	archiveAll(t, s, []string{first}, 1)
	objects := streamOf(t, server, "OBJ_mess_"+c.Site+"_blobs")
	if err := objects.Purge(t.Context()); err != nil { // all parts are lost
		t.Fatal(err)
	}
	if n, err := s.Archive(t.Context(), []string{second}, later); n != 1 || err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("with a lost part, %d threads have moved, %v", n, err)
	}
	whole(t, s, second)
	third := ended(t, s, 3, "")
	p.publish(s.ArchiveSubject(name), "garbage", "Nats-Rollup", "sub") // it hides the index
	if n, err := s.Archive(t.Context(), []string{third, other.Envelope.Ref}, later); n != 1 || err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("with a hidden index, %d threads have moved, %v", n, err)
	}
	whole(t, s, other.Envelope.Ref)
	whole(t, s, third)
	if all, err := s.Archived(t.Context()); err == nil {
		t.Errorf("with a hidden index the archive has %v", all)
	}
}

// Any bytes are a step, or give an error. They never make the program crash.
func FuzzStep(f *testing.F) {
	f.Add([]byte(`{"thread":{"ref":"2026-02-01-001"}}` + "\n" + `{"ref":"2026-02-01-001","status":"pending","ver":1}` + "\n" + `{"from":"a","MESS":[{"status":{"code":"claimed"}}]}`))
	f.Add([]byte(`{"gone":"x","ended":{"ref":"x","status":"completed"}}`))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if ended, err := jetstream.DecodeStep(data); err == nil && !ended {
			t.Error("a damaged thread has not ended")
		}
	})
}
