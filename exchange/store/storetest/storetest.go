// Package storetest is the conformance suite that every thread.Store passes.
package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Run runs the suite. open makes an empty store; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) thread.Store) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, thread.Store)
	}{
		{"a key has one thread", keys},
		{"one of many claims of a key succeeds", oneKeyOfMany},
		{"the store gives a ref once", refOnce},
		{"a new thread reads the same", readsTheSame},
		{"a thread that has ended reads the same", endedReadsTheSame},
		{"a step needs the current revision", compareAndSwap},
		{"one of many concurrent steps succeeds", oneOfMany},
		{"the feed gives all steps in order", feedInOrder},
		{"the feed resumes at any position", feedFromAnyPosition},
		{"the feed has the same without messages", feedWithoutMessages},
		{"two followers get the same", twoFollowers},
		{"the feed is whole while others write", feedWhileWriting},
		{"an unknown position gets an error", badPosition},
		{"attachments: stage, bind and read", attachments},
		{"an attachment over the limit gets an error", tooLarge},
		{"a step that binds an unstaged attachment changes nothing", unstaged},
		{"a document needs its current revision", documents},
		{"one of many concurrent documents succeeds", oneDocumentOfMany},
		{"a document is read by its name", oneDocument},
		{"missing items get an error", missing},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			test.run(t, s)
		})
	}
}

// Start is the creation time of the first thread of each test.
var Start = time.Date(2026, 2, 1, 17, 0, 0, 0, time.FixedZone("", -8*3600))

// Step is the first step of a thread that a requester makes with a client id.
func Step(ref, requester, id string, at time.Time) thread.Step {
	req := &mess.Request{ID: id, Intent: "look", Requires: []mess.Capability{{ID: "take-photo"}}}
	s := thread.Step{
		Envelope: thread.Envelope{
			Ref: ref, ClientID: id, Requester: requester, Status: mess.Pending, Created: at, Updated: at,
			Intent: "look", Priority: mess.Normal, Ver: 1, Needs: thread.NeedsOf(*req),
			History: []thread.HistoryEntry{{Action: "created", At: at, By: requester}},
		},
		Messages: []mess.Message{{From: requester, Received: mess.TimeOf(at), Channel: "test", Items: []mess.Item{req}}},
	}
	if id != "" {
		s.Keys = []thread.Key{{Owner: requester, Name: id}}
	}
	return s
}

var serial atomic.Int64

// newRef returns a ref that no other test of this process uses.
func newRef() string { return messeaf.Ref("2026-02-01", int(serial.Add(1)), "") }

// mustCreate stores a new thread, and returns it with its revision.
func mustCreate(t *testing.T, s thread.Store, requester, id string, at time.Time) thread.Thread {
	t.Helper()
	step := Step(newRef(), requester, id, at)
	return thread.Thread{Envelope: mustAppend(t, s, step), Messages: step.Messages}
}

// Next returns the step that gives a thread a new status.
func Next(e thread.Envelope, status mess.Code, at time.Time) thread.Step {
	e.Ver++
	e.Serial++
	e.Status, e.Updated, e.Executor = status, at, "phone"
	e.History = append(slices.Clip(e.History), thread.HistoryEntry{
		Action: string(status), At: at, By: "phone", Ref: fmt.Sprintf("%s/status-%03d", e.Ref, e.Serial),
	})
	return thread.Step{After: e.Rev, Envelope: e, Messages: []mess.Message{{
		From: "phone", Received: mess.TimeOf(at), Re: mess.Refs{e.Ref}, Ref: fmt.Sprintf("%s/status-%03d", e.Ref, e.Serial),
		Items: []mess.Item{&mess.Status{Code: status}},
	}}}
}

// mustAppend stores a step, and returns its envelope with its revision.
func mustAppend(t *testing.T, s thread.Store, step thread.Step) thread.Envelope {
	t.Helper()
	rev, err := s.Append(t.Context(), step)
	if err != nil || rev == "" || rev == step.After {
		t.Fatalf("Append(%s, after %q): revision %q, %v", step.Envelope.Ref, step.After, rev, err)
	}
	step.Envelope.Rev = rev
	return step.Envelope
}

func mustRead(t *testing.T, s thread.Store, ref string) thread.Thread {
	t.Helper()
	th, rev, err := s.Read(t.Context(), ref)
	if err != nil {
		t.Fatalf("Read(%s): %v", ref, err)
	}
	th.Rev = rev
	return th
}

func keys(t *testing.T, s thread.Store) {
	first := mustCreate(t, s, "agent", "a", Start)
	_, err := s.Append(t.Context(), Step(newRef(), "agent", "a", Start.Add(time.Hour)))
	if e, ok := errors.AsType[*thread.TakenError](err); !ok || e.Ref != first.Ref {
		t.Errorf("the same key again: %v, want a TakenError for %s", err, first.Ref)
	}
	mustCreate(t, s, "other", "a", Start)
	mustCreate(t, s, "agent", "", Start)
	mustCreate(t, s, "agent", "", Start)
	look := func(k thread.Key, want string) {
		t.Helper()
		ref, err := s.Lookup(t.Context(), k)
		if ref != want || (want == "") != errors.Is(err, thread.ErrNoThread) {
			t.Errorf("Lookup(%v) = %q, %v; want %q", k, ref, err, want)
		}
	}
	look(thread.Key{Owner: "agent", Name: "a"}, first.Ref)
	look(thread.Key{Owner: "third", Name: "a"}, "")
	more := thread.Key{Owner: "phone", Name: "mine"}
	step := Next(first.Envelope, mess.Claimed, Start)
	step.Keys = []thread.Key{more, {Owner: "other", Name: "a"}}
	if _, err := s.Append(t.Context(), step); err == nil {
		t.Error("a step has taken another thread's key")
	}
	look(more, "") // a step applies as a whole or not at all
	step.Keys = []thread.Key{more}
	mustAppend(t, s, step)
	look(more, first.Ref)
	look(thread.Key{Owner: "agent", Name: "a"}, first.Ref)
}

func oneKeyOfMany(t *testing.T, s thread.Store) {
	var won, lost atomic.Int32
	var g sync.WaitGroup
	for range 32 {
		g.Go(func() {
			_, err := s.Append(t.Context(), Step(newRef(), "agent", "a", Start))
			_, taken := errors.AsType[*thread.TakenError](err)
			switch {
			case err == nil:
				won.Add(1)
			case taken:
				lost.Add(1)
			default:
				t.Errorf("Append: %v", err)
			}
		})
	}
	g.Wait()
	if won.Load() != 1 || lost.Load() != 31 {
		t.Errorf("%d threads have taken one key, and %d have not", won.Load(), lost.Load())
	}
}

func refOnce(t *testing.T, s thread.Store) {
	made := mustCreate(t, s, "agent", "a", Start)
	again := Step(made.Ref, "agent", "b", Start)
	if _, err := s.Append(t.Context(), again); !errors.Is(err, thread.ErrStale) {
		t.Errorf("a new thread with a ref that is in use: %v, want ErrStale", err)
	}
	if _, err := s.Lookup(t.Context(), again.Keys[0]); !errors.Is(err, thread.ErrNoThread) {
		t.Errorf("its key: %v, want ErrNoThread", err)
	}
	same(t, made, mustRead(t, s, made.Ref))
}

// same compares threads. A store may change the location of a time, but not its instant.
func same(t *testing.T, want, got thread.Thread) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" {
		t.Errorf("thread (-want +got):\n%s", diff)
	}
}

func readsTheSame(t *testing.T, s thread.Store) {
	made := mustCreate(t, s, "agent", "a", Start)
	same(t, made, mustRead(t, s, made.Ref))
	step := Next(made.Envelope, mess.Claimed, Start.Add(time.Second))
	step.Envelope.Op = "op"
	e := mustAppend(t, s, step)
	same(t, thread.Thread{Envelope: e, Messages: append(slices.Clip(made.Messages), step.Messages...)}, mustRead(t, s, made.Ref))
}

func compareAndSwap(t *testing.T, s thread.Store) {
	made := mustCreate(t, s, "agent", "a", Start)
	step := Next(made.Envelope, mess.Claimed, Start)
	mustAppend(t, s, step)
	if _, err := s.Append(t.Context(), step); !errors.Is(err, thread.ErrStale) {
		t.Errorf("the same step again: %v, want ErrStale", err)
	}
	unknown := Next(made.Envelope, mess.InProgress, Start)
	unknown.After = "999999999"
	if _, err := s.Append(t.Context(), unknown); !errors.Is(err, thread.ErrStale) {
		t.Errorf("a step after a revision that never was: %v, want ErrStale", err)
	}
	if got := mustRead(t, s, made.Ref); got.Status != mess.Claimed || len(got.Messages) != 2 {
		t.Errorf("after refused steps: status %s with %d messages, want claimed with 2", got.Status, len(got.Messages))
	}
}

func oneOfMany(t *testing.T, s thread.Store) {
	made := mustCreate(t, s, "agent", "a", Start)
	const writers = 16
	errs := make([]error, writers)
	var g sync.WaitGroup
	for i := range writers {
		g.Go(func() {
			_, errs[i] = s.Append(context.WithoutCancel(t.Context()), Next(made.Envelope, mess.Claimed, Start))
		})
	}
	g.Wait()
	oneWins(t, errs)
}

func oneWins(t *testing.T, errs []error) {
	t.Helper()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, thread.ErrStale) {
			t.Errorf("%v, want ErrStale", err)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d writers have won", won, len(errs))
	}
}

// endedReadsTheSame ends a thread with messages and blocks of many kinds, and adds a message
// after the end.
func endedReadsTheSame(t *testing.T, s thread.Store) {
	th := mustCreate(t, s, "agent", "", Start)
	want := slices.Clone(th.Messages)
	for _, code := range []mess.Code{mess.Claimed, mess.Completed, mess.Failed} {
		step := Next(th.Envelope, code, Start)
		if code == mess.Failed { // a late result is evidence only
			step.Envelope.Status = mess.Completed
		}
		step.Messages[0].Items = append(step.Messages[0].Items, &mess.Response{Content: []mess.Entry{
			mess.TextEntry("two\nlines, \"quoted\" \u2028 and <b>\\</b> \u00e9"),
			{Type: "structured", Value: mess.Object{{Key: "celsius", Value: mess.Number("21.50")}, {Key: "of", Value: []any{"a", nil, true}}}},
		}})
		th.Envelope, want = mustAppend(t, s, step), append(want, step.Messages...)
		got := mustRead(t, s, th.Ref)
		if diff := cmp.Diff(want, got.Messages); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", code, diff)
		}
		if got.Ver != th.Ver || got.Status != th.Status {
			t.Errorf("after %s: version %d %s, want %d %s", code, got.Ver, got.Status, th.Ver, th.Status)
		}
	}
}

func attachments(t *testing.T, s thread.Store) {
	th := mustCreate(t, s, "agent", "", Start)
	picture := bytes.Repeat([]byte("picture "), 40_000)
	staged, err := s.Stage(t.Context(), bytes.NewReader(picture), 1<<20)
	sum := sha256.Sum256(picture)
	if err != nil || staged.SHA256 != hex.EncodeToString(sum[:]) || staged.Size != int64(len(picture)) {
		t.Fatalf("Stage = %+v, %v", staged, err)
	}
	step := Next(th.Envelope, mess.Claimed, Start)
	step.Binds = []thread.Bind{{Name: "att-001-image-fridge.jpg", SHA256: staged.SHA256}}
	mustAppend(t, s, step)
	if _, err := s.Blob(t.Context(), strings.Repeat("0", 64)); !errors.Is(err, thread.ErrNoBlob) {
		t.Errorf("Blob of an unstaged attachment: %v, want ErrNoBlob", err)
	}
	if _, err := s.Blob(t.Context(), "../"+staged.SHA256); !errors.Is(err, thread.ErrNoBlob) {
		t.Errorf("Blob of a name that is no sum: %v, want ErrNoBlob", err)
	}
	r, err := s.Blob(t.Context(), staged.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Seek(8, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, picture[8:]) {
		t.Errorf("read %d bytes, %v; want %d", len(got), err, len(picture)-8)
	}
}

func tooLarge(t *testing.T, s thread.Store) {
	if _, err := s.Stage(t.Context(), strings.NewReader("12345"), 5); err != nil {
		t.Errorf("5 bytes of 5: %v", err)
	}
	if _, err := s.Stage(t.Context(), strings.NewReader("123456"), 5); !errors.Is(err, thread.ErrTooLarge) {
		t.Errorf("6 bytes of 5: %v, want ErrTooLarge", err)
	}
}

func unstaged(t *testing.T, s thread.Store) {
	th := mustCreate(t, s, "agent", "", Start)
	step := Next(th.Envelope, mess.Claimed, Start)
	step.Binds = []thread.Bind{{Name: "att-001-image-x.jpg", SHA256: strings.Repeat("0", 64)}}
	if _, err := s.Append(t.Context(), step); !errors.Is(err, thread.ErrNoBlob) {
		t.Errorf("Append: %v, want ErrNoBlob", err)
	}
	same(t, th, mustRead(t, s, th.Ref))
}

func documents(t *testing.T, s thread.Store) {
	revs := map[string]thread.Rev{}
	put := func(kind, id, doc string, after thread.Rev, want error) {
		t.Helper()
		var b []byte
		if doc != "" {
			b = []byte(doc)
		}
		rev, err := s.Put(t.Context(), kind, id, b, after)
		if !errors.Is(err, want) || err == nil && (rev == "") != (doc == "") {
			t.Fatalf("Put(%s, %s) after %q = %q, %v; want %v", kind, id, after, rev, err, want)
		}
		if err == nil {
			revs[kind+id] = rev
		}
	}
	put("executor", "a", "1", "", nil)
	put("executor", "a", "2", "", thread.ErrStale)
	put("executor", "a", "2", revs["executora"]+"0", thread.ErrStale)
	put("executor", "a", "2", revs["executora"], nil)
	put("executor", "b", "3", "", nil)
	put("key", "a", "4", "", nil)
	first := revs["executorb"]
	put("executor", "b", "", first, nil)
	put("executor", "b", "5", first, thread.ErrStale)
	put("executor", "b", "5", "", nil)
	put("executor", "b", "", revs["executorb"], nil)
	put("executor", "gone", "", "", nil)
	got := map[string]string{}
	for _, c := range feed(t, s, "", 0) {
		switch name := c.Kind + c.ID; {
		case c.Doc == nil:
			delete(got, name)
		case c.Rev != revs[name]:
			t.Logf("%s had revision %q", name, c.Rev) // an intermediate step
			fallthrough
		default:
			got[name] = string(c.Doc)
		}
	}
	if diff := cmp.Diff(map[string]string{"executora": "2", "keya": "4"}, got); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

func oneDocumentOfMany(t *testing.T, s thread.Store) {
	errs := make([]error, 16)
	var g sync.WaitGroup
	for i := range errs {
		g.Go(func() { _, errs[i] = s.Put(t.Context(), "routing", "rules", []byte("{}"), "") })
	}
	g.Wait()
	oneWins(t, errs)
}

func missing(t *testing.T, s thread.Store) {
	ref := newRef()
	if _, _, err := s.Read(t.Context(), ref); !errors.Is(err, thread.ErrNoThread) {
		t.Errorf("Read: %v, want ErrNoThread", err)
	}
	step := Next(thread.Envelope{Ref: ref, Rev: "1", Ver: 1}, mess.Claimed, Start)
	if _, err := s.Append(t.Context(), step); !errors.Is(err, thread.ErrNoThread) {
		t.Errorf("Append: %v, want ErrNoThread", err)
	}
}
