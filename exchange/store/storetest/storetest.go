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
		{"refs go on within a day", refsGoOn},
		{"a client id makes one thread", clientIDs},
		{"what was created reads the same", readsTheSame},
		{"a thread that has ended reads the same", endedReadsTheSame},
		{"a step is taken on its version only", compareAndSwap},
		{"of many steps at once one is taken", oneOfMany},
		{"many threads at once get refs of their own", manyRefs},
		{"lists show the newest change first", lists},
		{"pages hold all and nothing twice", pages},
		{"a cursor of nobody's is refused", badCursor},
		{"open threads are those without an end", openThreads},
		{"attachments are staged, bound and read", attachments},
		{"an attachment over the limit is refused", tooLarge},
		{"a step that binds what was not staged changes nothing", unstaged},
		{"documents are kept by kind", documents},
		{"what is missing is said to be", missing},
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

// Start is when the first thread of each test is made.
var Start = time.Date(2026, 2, 1, 17, 0, 0, 0, time.FixedZone("", -8*3600))

// make stores a thread by requestor with a client id.
func create(t *testing.T, s thread.Store, requestor, id string, at time.Time) (thread.Thread, error) {
	t.Helper()
	return s.Create(t.Context(), thread.Create{
		Day: at.Format(time.DateOnly), Token: messeaf.Token(id), Requestor: requestor, ClientID: id,
		Build: func(ref string) thread.Thread {
			req := &mess.Request{ID: id, Intent: "look", Requires: []mess.Capability{{ID: "take-photo"}}}
			return thread.Thread{
				Envelope: thread.Envelope{
					Ref: ref, ClientID: id, Requestor: requestor, Status: mess.Pending, Created: at, Updated: at,
					Intent: "look", Priority: mess.Normal, Ver: 1, Needs: thread.NeedsOf(*req),
					History: []thread.HistoryEntry{{Action: "created", At: at, By: requestor}},
				},
				Messages: []mess.Message{{From: requestor, Received: mess.TimeOf(at), Channel: "test", Items: []mess.Item{req}}},
			}
		},
	})
}

func mustCreate(t *testing.T, s thread.Store, requestor, id string, at time.Time) thread.Thread {
	t.Helper()
	th, err := create(t, s, requestor, id, at)
	if err != nil {
		t.Fatalf("Create(%s, %q): %v", requestor, id, err)
	}
	return th
}

// next is the step that gives a thread a new status.
func next(e thread.Envelope, status mess.Code, at time.Time) thread.Step {
	e.Ver++
	e.Serial++
	e.Status, e.Updated, e.Executor = status, at, "phone"
	e.History = append(slices.Clip(e.History), thread.HistoryEntry{
		Action: string(status), At: at, By: "phone", Ref: fmt.Sprintf("%s/status-%03d", e.Ref, e.Serial),
	})
	return thread.Step{Envelope: e, Messages: []mess.Message{{
		From: "phone", Received: mess.TimeOf(at), Re: mess.Refs{e.Ref}, Ref: fmt.Sprintf("%s/status-%03d", e.Ref, e.Serial),
		Items: []mess.Item{&mess.Status{Code: status}},
	}}}
}

func mustAppend(t *testing.T, s thread.Store, step thread.Step) {
	t.Helper()
	if err := s.Append(t.Context(), step); err != nil {
		t.Fatalf("Append(%s, ver %d): %v", step.Envelope.Ref, step.Envelope.Ver, err)
	}
}

func mustRead(t *testing.T, s thread.Store, ref string) thread.Thread {
	t.Helper()
	th, err := s.Thread(t.Context(), ref)
	if err != nil {
		t.Fatalf("Thread(%s): %v", ref, err)
	}
	return th
}

func refsGoOn(t *testing.T, s thread.Store) {
	tomorrow := Start.Add(24 * time.Hour)
	var got []string
	for _, c := range []struct {
		id string
		at time.Time
	}{{"fridge-check", Start}, {"", Start}, {"Fridge Check!", tomorrow}, {"last one", Start}} {
		got = append(got, mustCreate(t, s, "agent", c.id, c.at).Ref)
	}
	want := []string{"2026-02-01-001-fridge-check", "2026-02-01-002", "2026-02-02-001-fridge-check", "2026-02-01-003-last-one"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refs (-want +got):\n%s", diff)
	}
}

func clientIDs(t *testing.T, s thread.Store) {
	first := mustCreate(t, s, "agent", "a", Start)
	_, err := create(t, s, "agent", "a", Start.Add(time.Hour))
	if e, ok := errors.AsType[*thread.ExistsError](err); !ok || e.Ref != first.Ref {
		t.Errorf("the same id again: %v, want an ExistsError for %s", err, first.Ref)
	}
	if other := mustCreate(t, s, "other", "a", Start); other.Ref == first.Ref {
		t.Errorf("another requestor got %s too", other.Ref)
	}
	mustCreate(t, s, "agent", "", Start)
	mustCreate(t, s, "agent", "", Start)
	ref, err := s.Find(t.Context(), "agent", "a")
	if err != nil || ref != first.Ref {
		t.Errorf("Find(agent, a) = %q, %v; want %s", ref, err, first.Ref)
	}
	if _, err := s.Find(t.Context(), "third", "a"); !errors.Is(err, thread.ErrNoThread) {
		t.Errorf("Find(third, a): %v, want ErrNoThread", err)
	}
}

// same compares threads as a store must keep them. Times are equal as points
// in time.
func same(t *testing.T, want, got thread.Thread) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" {
		t.Errorf("thread (-want +got):\n%s", diff)
	}
}

func readsTheSame(t *testing.T, s thread.Store) {
	made := mustCreate(t, s, "agent", "a", Start)
	same(t, made, mustRead(t, s, made.Ref))
	step := next(made.Envelope, mess.Claimed, Start.Add(time.Second))
	mustAppend(t, s, step)
	same(t, thread.Thread{Envelope: step.Envelope, Messages: append(slices.Clip(made.Messages), step.Messages...)}, mustRead(t, s, made.Ref))
}

func compareAndSwap(t *testing.T, s thread.Store) {
	made := mustCreate(t, s, "agent", "a", Start)
	step := next(made.Envelope, mess.Claimed, Start)
	mustAppend(t, s, step)
	if err := s.Append(t.Context(), step); !errors.Is(err, thread.ErrStale) {
		t.Errorf("the same step again: %v, want ErrStale", err)
	}
	skipped := next(step.Envelope, mess.InProgress, Start)
	skipped.Envelope.Ver++
	if err := s.Append(t.Context(), skipped); !errors.Is(err, thread.ErrStale) {
		t.Errorf("a step that skips a version: %v, want ErrStale", err)
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
			errs[i] = s.Append(context.WithoutCancel(t.Context()), next(made.Envelope, mess.Claimed, Start))
		})
	}
	g.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, thread.ErrStale) {
			t.Errorf("Append: %v, want ErrStale", err)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d writers took the same step", won, writers)
	}
}

func manyRefs(t *testing.T, s thread.Store) {
	const n = 64
	refs := make([]string, n)
	var g sync.WaitGroup
	for i := range n {
		g.Go(func() {
			th, err := create(t, s, "agent", fmt.Sprint("x", i), Start)
			if err != nil {
				t.Errorf("Create: %v", err)
			}
			refs[i] = th.Ref
		})
	}
	g.Wait()
	slices.Sort(refs)
	if got := len(slices.Compact(refs)); got != n {
		t.Errorf("%d threads got %d refs", n, got)
	}
}

func refsOf(p thread.Page) []string {
	var refs []string
	for _, e := range p.Threads {
		refs = append(refs, e.Ref[len("2026-02-01-"):])
	}
	return refs
}

func lists(t *testing.T, s thread.Store) {
	var made []thread.Thread
	for i, who := range []string{"agent", "other", "agent"} {
		made = append(made, mustCreate(t, s, who, "", Start.Add(time.Duration(i)*time.Second)))
	}
	mustAppend(t, s, next(made[0].Envelope, mess.Claimed, Start.Add(time.Minute)))
	for _, c := range []struct {
		name string
		f    thread.Filter
		want []string
	}{
		{"all", thread.Filter{}, []string{"001", "003", "002"}},
		{"by status", thread.Filter{Status: []mess.Code{mess.Pending}}, []string{"003", "002"}},
		{"by statuses", thread.Filter{Status: []mess.Code{mess.Pending, mess.Claimed}}, []string{"001", "003", "002"}},
		{"by executor", thread.Filter{Executor: "phone"}, []string{"001"}},
		{"by requestor", thread.Filter{Requestor: "agent"}, []string{"001", "003"}},
		{"since", thread.Filter{Since: Start.Add(2 * time.Second)}, []string{"001", "003"}},
		{"none", thread.Filter{Status: []mess.Code{mess.Failed}}, nil},
	} {
		got, err := s.List(t.Context(), c.f)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, refsOf(got)); diff != "" || got.Cursor != "" {
			t.Errorf("%s (-want +got), cursor %q:\n%s", c.name, got.Cursor, diff)
		}
	}
}

func pages(t *testing.T, s thread.Store) {
	var want, got []string
	for i := range 23 {
		th := mustCreate(t, s, "agent", "", Start.Add(time.Duration(i)*time.Second))
		want = append([]string{th.Ref}, want...)
	}
	f := thread.Filter{Limit: 5}
	for {
		p, err := s.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Threads) > f.Limit {
			t.Errorf("a page of %d, want at most %d", len(p.Threads), f.Limit)
		}
		for _, e := range p.Threads {
			got = append(got, e.Ref)
		}
		if f.Cursor = p.Cursor; f.Cursor == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("all pages (-want +got):\n%s", diff)
	}
}

func badCursor(t *testing.T, s thread.Store) {
	for _, cursor := range []string{"x", "-1", "../..", strings.Repeat("9", 100)} {
		_, err := s.List(t.Context(), thread.Filter{Cursor: cursor})
		if !errors.Is(err, mess.Invalid) {
			t.Errorf("List with cursor %.20q: %v, want a refusal as invalid", cursor, err)
		}
	}
}

// endedReadsTheSame has a thread end with words and blocks of many kinds, and
// something said after the end.
func endedReadsTheSame(t *testing.T, s thread.Store) {
	th := mustCreate(t, s, "agent", "", Start)
	want := slices.Clone(th.Messages)
	for _, code := range []mess.Code{mess.Claimed, mess.Completed, mess.Failed} {
		step := next(th.Envelope, code, Start)
		if code == mess.Failed { // what comes too late is evidence
			step.Envelope.Status = mess.Completed
		}
		step.Messages[0].Items = append(step.Messages[0].Items, &mess.Response{Content: []mess.Entry{
			mess.TextEntry("two\nlines, \"quoted\" \u2028 and <b>\\</b> \u00e9"),
			{Type: "structured", Value: mess.Object{{Key: "celsius", Value: mess.Number("21.50")}, {Key: "of", Value: []any{"a", nil, true}}}},
		}})
		mustAppend(t, s, step)
		th.Envelope, want = step.Envelope, append(want, step.Messages...)
		got := mustRead(t, s, th.Ref)
		if diff := cmp.Diff(want, got.Messages); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", code, diff)
		}
		if got.Ver != th.Ver || got.Status != th.Status {
			t.Errorf("after %s: version %d %s, want %d %s", code, got.Ver, got.Status, th.Ver, th.Status)
		}
	}
}

func openThreads(t *testing.T, s thread.Store) {
	var want, got []string
	for i, end := range []mess.Code{"", mess.Completed, mess.Claimed, mess.Failed, mess.Cancelled, mess.Held} {
		th := mustCreate(t, s, "agent", "", Start.Add(time.Duration(i)*time.Second))
		if end != "" {
			mustAppend(t, s, next(th.Envelope, end, Start))
		}
		if !end.Terminal() {
			want = append(want, th.Ref)
		}
	}
	if err := s.Open(t.Context(), func(e thread.Envelope) error { got = append(got, e.Ref); return nil }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("open threads (-want +got):\n%s", diff)
	}
	stop := errors.New("stop")
	if err := s.Open(t.Context(), func(thread.Envelope) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("Open with a function that fails: %v, want its error", err)
	}
}

func attachments(t *testing.T, s thread.Store) {
	th := mustCreate(t, s, "agent", "", Start)
	picture := bytes.Repeat([]byte("picture "), 40_000)
	staged, err := s.Stage(t.Context(), th.Ref, bytes.NewReader(picture), 1<<20)
	sum := sha256.Sum256(picture)
	if err != nil || staged.SHA256 != hex.EncodeToString(sum[:]) || staged.Size != int64(len(picture)) {
		t.Fatalf("Stage = %+v, %v", staged, err)
	}
	const name = "att-001-image-fridge.jpg"
	if _, err := s.Blob(t.Context(), th.Ref, name); !errors.Is(err, thread.ErrNoBlob) {
		t.Errorf("before it is bound: %v, want ErrNoBlob", err)
	}
	step := next(th.Envelope, mess.Claimed, Start)
	step.Binds = []thread.Bind{{Name: name, SHA256: staged.SHA256}}
	mustAppend(t, s, step)
	r, err := s.Blob(t.Context(), th.Ref, name)
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
	th := mustCreate(t, s, "agent", "", Start)
	if _, err := s.Stage(t.Context(), th.Ref, strings.NewReader("12345"), 5); err != nil {
		t.Errorf("5 bytes of 5: %v", err)
	}
	if _, err := s.Stage(t.Context(), th.Ref, strings.NewReader("123456"), 5); !errors.Is(err, thread.ErrTooLarge) {
		t.Errorf("6 bytes of 5: %v, want ErrTooLarge", err)
	}
}

func unstaged(t *testing.T, s thread.Store) {
	th := mustCreate(t, s, "agent", "", Start)
	step := next(th.Envelope, mess.Claimed, Start)
	step.Binds = []thread.Bind{{Name: "att-001-image-x.jpg", SHA256: strings.Repeat("0", 64)}}
	if err := s.Append(t.Context(), step); !errors.Is(err, thread.ErrNoBlob) {
		t.Errorf("Append: %v, want ErrNoBlob", err)
	}
	same(t, th, mustRead(t, s, th.Ref))
}

func documents(t *testing.T, s thread.Store) {
	put := func(kind, id, doc string) {
		t.Helper()
		var b []byte
		if doc != "" {
			b = []byte(doc)
		}
		if err := s.Put(t.Context(), kind, id, b); err != nil {
			t.Fatalf("Put(%s, %s): %v", kind, id, err)
		}
	}
	put("executor", "a", "1")
	put("executor", "a", "2")
	put("executor", "b", "3")
	put("key", "a", "4")
	put("executor", "b", "")
	put("executor", "gone", "")
	for kind, want := range map[string]map[string]string{"executor": {"a": "2"}, "key": {"a": "4"}, "none": {}} {
		docs, err := s.Docs(t.Context(), kind)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for id, doc := range docs {
			got[id] = string(doc)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("documents of kind %s (-want +got):\n%s", kind, diff)
		}
	}
}

func missing(t *testing.T, s thread.Store) {
	const ref = "2026-02-01-001"
	if _, err := s.Thread(t.Context(), ref); !errors.Is(err, thread.ErrNoThread) {
		t.Errorf("Thread: %v, want ErrNoThread", err)
	}
	if err := s.Append(t.Context(), next(thread.Envelope{Ref: ref}, mess.Claimed, Start)); !errors.Is(err, thread.ErrNoThread) {
		t.Errorf("Append: %v, want ErrNoThread", err)
	}
	if _, err := s.Stage(t.Context(), ref, strings.NewReader("x"), 9); !errors.Is(err, thread.ErrNoThread) {
		t.Errorf("Stage: %v, want ErrNoThread", err)
	}
	if _, err := s.Blob(t.Context(), ref, "att-001-file-x"); !errors.Is(err, thread.ErrNoThread) {
		t.Errorf("Blob: %v, want ErrNoThread", err)
	}
}
