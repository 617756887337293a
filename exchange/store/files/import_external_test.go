package files_test

import (
	"archive/zip"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/store/files/external"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// dropped returns a thread in the form of another program, with one part replaced and more text
// after it.
func dropped(ref, was, is, more string) string {
	return strings.ReplaceAll(strings.Replace(foreignThread, was, is, 1), "2026-02-01-NX8J", ref) + more
}

const named = `
      context:
        - image: {file: att-001-image-a.jpg, mime: image/jpeg, size: 10}
`

// incomplete lists threads that may be incomplete, or that another program must not make. want
// is the logged text after the thread's path.
var incomplete = []struct{ ref, was, is, more, want string }{
	{"half-request", "  - request:\n      id: plants\n      intent: water the plants\n", "  - request:\n      int", "", ": has no readable request; the thread may not be whole yet"},
	{"no-request", "  - request:\n      id: plants\n      intent: water the plants\n", "  - status: {code: claimed}\n", "", ": has no readable request; the thread may not be whole yet"},
	{"half-status", foreignThread, "ref: 2026-02-01-NX8J\nrequestor: someone\nstatus: re", "", `: status: "re" is not in the specification, and the thread names no executor`},
	{"half-envelope", foreignThread, "ref: 2026-02-01-NX8J\nrequestor: someone\nstatus: in_progress\nexecutor: pi\n", "", ": has no readable request; the thread may not be whole yet"},
	{"no-requestor", "requestor: someone\n", "", "", ": requestor: is missing; the thread may not be whole yet"},
	{"by-exchange", "requestor: someone", "requestor: exchange", "", `: requestor: only the exchange itself has the id "exchange"`},
	{"from-exchange", "from: someone", "from: exchange", "", `: requestor: only the exchange itself has the id "exchange"`},
	{"picture-missing", "", "", named, "/att-001-image-a.jpg: is not there, and the request names it"},
	{"many-documents", "", "", strings.Repeat("---\nfrom: someone\nMESS:\n- v: 1\n", 20_000), ": has 20002 documents; the limit of an exchange is 20000"},
}

// longMessage exceeds a record of the log: each \e takes six bytes there. It is short in the
// file, because a read is slow with the race detector.
var longMessage = `"` + strings.Repeat(`\e`, 17<<20/6) + `"`

// The store logs an incomplete or forbidden thread with its file and does not import it, both
// while it runs and at its start. Such a thread blocks no other.
func TestIncompleteThreads(t *testing.T) {
	s, incomplete := newSharedFolder(t, t.TempDir()), incomplete
	if !testing.Short() {
		one := incomplete[0]
		one.ref, one.was, one.is, one.want = "long-message", "", "", ": a message has 178"
		one.more = "      context:\n        - text: " + longMessage + "\n"
		incomplete = append(slices.Clone(incomplete), one)
	}
	for _, one := range incomplete {
		s.write(dropped(one.ref, one.was, one.is, one.more), "state=received", one.ref, "000-"+one.ref+".messe-af.yaml")
	}
	for range 2 {
		s.until("all are logged", func() bool { return strings.Count(s.log.String(), "WARN") == len(incomplete) })
		s.settle()
		logged := s.log.String()
		for _, one := range incomplete {
			if n := strings.Count(logged, strings.ReplaceAll("state=received/"+one.ref+one.want, `"`, `\"`)); n != 1 {
				t.Errorf("%s is in the log %d times, want once; %q:\n%.3000s", one.ref, n, one.want, logged)
			}
			if th, _, err := s.store.Read(t.Context(), one.ref); !errors.Is(err, thread.ErrNoThread) {
				t.Errorf("%s: %v, %v", one.ref, th.Envelope, err)
			}
		}
		if all := list(t, s.store); len(all) > 0 {
			t.Errorf("%v", all)
		}
		if len(s.changed) > 0 {
			t.Errorf("offered: %+v", <-s.changed)
		}
		s.close()
		s.log = &lines{}
		s.open()
	}
}

// The store imports an incomplete thread after it becomes complete.
func TestCompletedThreadIsImported(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	for _, one := range incomplete[:4] {
		s.write(dropped(one.ref, one.was, one.is, one.more), "state=received", one.ref, "000-"+one.ref+".messe-af.yaml")
	}
	s.write(dropped("picture", "", "", named), "state=received", "picture", "000-picture.messe-af.yaml")
	s.write("123", "state=received", "picture", "att-001-image-a.jpg")
	s.until("the size is logged", func() bool {
		return strings.Contains(s.log.String(), "state=received/picture/att-001-image-a.jpg: has 3 bytes, and the request says 10")
	})
	s.append("4567890", "state=received", "picture", "att-001-image-a.jpg")
	for _, one := range incomplete[:4] {
		s.write(dropped(one.ref, "", "", ""), "state=received", one.ref, "000-"+one.ref+".messe-af.yaml")
	}
	offered := map[string]bool{}
	for range 5 {
		offered[(<-s.changed).Ref] = true
	}
	if len(offered) != 5 {
		t.Errorf("offered: %v", offered)
	}
}

// The store does not offer a request that its requester has cancelled in the file. It passes
// other messages in the file to the Listener in order.
func TestImportedThreadKeepsMessages(t *testing.T) {
	const cancel = "---\nfrom: someone\nMESS:\n  - cancel: {re: last, reason: no}\n"
	for _, running := range []bool{true, false} {
		s := newSharedFolder(t, t.TempDir())
		if !running {
			s.close()
		}
		s.write(dropped("cancelled", "", "", "---\nfrom: someone\nMESS:\n  - answer: {value: hm}\n"+cancel), "state=received", "cancelled", "000-cancelled.messe-af.yaml")
		s.write(dropped("at-once", "  - v: 1.0.0\n", "  - cancel: {reason: no}\n", ""), "state=received", "at-once.messe-af.yaml")
		s.write(dropped("others", "", "", "---\nfrom: exchange\nMESS:\n  - ack: {re: last, ref: others}\n---\nfrom: somebody-else\nMESS:\n  - cancel: {re: last}\n---\nfrom: someone\nMESS:\n  - answer: {value: soon}\n"),
			"state=received", "others", "000-others.messe-af.yaml")
		if !running {
			s.open()
		}
		first, second := <-s.reports, <-s.reports
		if first.From != "somebody-else" || second.From != "someone" {
			t.Errorf("reports are %+v, then %+v", first, second)
		}
		s.settle()
		for _, ref := range []string{"cancelled", "at-once"} {
			th, _, err := s.store.Read(t.Context(), ref)
			if err != nil || th.Status != mess.Cancelled || th.Phase != thread.Finished {
				t.Errorf("%s: %+v, %v", ref, th.Envelope, err)
			}
		}
		if len(s.reports) > 0 {
			t.Errorf("unexpected report: %+v", <-s.reports)
		}
		s.wantThreads("state=received/others", "state=canceled/at-once", "state=canceled/cancelled")
		for _, e := range list(t, s.store) {
			if e.Ref != "others" && !e.Status.Terminal() {
				t.Errorf("%s is open", e.Ref)
			}
		}
		for running && len(s.changed) > 0 {
			if e := <-s.changed; e.Ref != "others" && !e.Status.Terminal() {
				t.Errorf("offered: %+v", e)
			}
		}
	}
}

// Without its log, the store recognizes judged messages by the acks of the exchange. It imports
// a thread as a whole that exceeds one record of the log.
func TestJudgedMessagesSurviveLossOfLog(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	pending := fill(t, s.store, "a", 0, 0)
	for range 2 {
		if err := s.PostExternal(t.Context(), pending, mess.Message{From: "agent", Items: []mess.Item{&mess.Answer{Value: "soon"}}}); err != nil {
			t.Fatal(err)
		}
		<-s.reports
	}
	size := 1 << 10
	if !testing.Short() {
		size = 560 << 10
	}
	large := fill(t, s.store, "b", 30, size)
	s.settle()
	s.close()
	s.loseLog()
	s.open()
	s.settle()
	for ref, want := range map[string]int{pending: 5, large: 31} {
		if th, _, err := s.store.Read(t.Context(), ref); err != nil || len(th.Messages) != want {
			t.Errorf("%s: %d messages, %v", ref, len(th.Messages), err)
		}
	}
	if len(s.reports) > 0 {
		t.Errorf("repeated report: %+v", <-s.reports)
	}
	s.wantThreads("state=received/"+pending, "state=executing/"+large)
}

func (s *sharedFolder) copy(from, to, ref string) {
	s.Helper()
	if err := os.CopyFS(s.path(to, ref), os.DirFS(s.path(from, ref))); err != nil {
		s.Fatal(err)
	}
}

func (s *sharedFolder) until(what string, done func() bool) {
	s.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(3 * time.Minute); !done(); <-tick.C { // a long message is 178 MB
		if time.Now().After(end) {
			s.Fatalf("%s: not yet\n%s", what, s.log)
		}
	}
}

// A document that is not a message of the specification does not make the thread unreadable.
func TestUnknownDocumentIsTolerated(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	ref := fill(t, s.store, "a", 1, 10)
	s.settle()
	s.append("---\nfrom: agent\nMESS:\n  - status: [1]\n  - request:\n", "state=executing", ref, "000-"+ref+".messe-af.yaml")
	<-s.reports
	s.settle()
	for range 2 {
		if th, _, err := s.store.Read(t.Context(), ref); err != nil || len(th.Messages) != 4 {
			t.Errorf("%d messages, %v", len(th.Messages), err)
		}
		s.close()
		s.open()
	}
	s.end(ref)
	s.settle()
	if _, err := os.Stat(s.path("state=finished", ref)); err != nil {
		t.Error(err)
	}
}

// A store that closes logs no error about folders that it can no longer watch.
func TestCloseLogsNoErrors(t *testing.T) {
	s := &sharedFolder{T: t, dir: t.TempDir(), log: &lines{}, changed: make(chan thread.Envelope, 9)}
	cfg := files.DefaultConfig()
	cfg.Log = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	store, err := cfg.Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- store.Run(ctx, s) }()
	unfollow := s.follow(store)
	s.write(foreignThread, "state=received", "2026-02-01-NX8J.messe-af.yaml")
	<-s.changed // it is watched
	stop()
	if err := unfollow(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	ref := fill(t, store, "a", 1, 10)
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.path("state=executing", ref)); err != nil || s.log.String() != "" {
		t.Errorf("%v; log is %s, want it empty", err, s.log)
	}
}

// A killed import leaves no file that the store takes for a thread. A second import succeeds.
func TestKilledImportLeavesNoThread(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	s.write("half of it", "tmp", "import-2026-02-01-NX8J", "000-2026-02-01-NX8J.messe-af.yaml")
	archive := filepath.Join(t.TempDir(), "a.zip")
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.Create("2026-02-01-NX8J/000-2026-02-01-NX8J.messe-af.yaml")
	if err == nil {
		_, err = w.Write([]byte(foreignThread))
	}
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	fsys, err := messeaf.OpenArchive(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	p := messeaf.Place{Ref: "2026-02-01-NX8J", Path: "2026-02-01-NX8J"}
	if at, err := external.Import(root, fsys, p); err != nil || at != messeaf.Received {
		t.Fatal(at, err)
	}
	if e := <-s.changed; e.Intent != "water the plants" {
		t.Errorf("%+v", e)
	}
	if left, err := filepath.Glob(s.path("tmp", "*")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
