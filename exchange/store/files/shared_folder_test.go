package files_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// sharedFolder is a store with folders that other programs write to.
type sharedFolder struct {
	*testing.T
	dir     string
	store   *files.Store
	log     *lines
	changed chan thread.Envelope
	reports chan mess.Message
	stop    func()
}

// lines collects log output for the test.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newSharedFolder(t *testing.T, dir string) *sharedFolder {
	s := &sharedFolder{T: t, dir: dir, log: &lines{}, changed: make(chan thread.Envelope, 99), reports: make(chan mess.Message, 99)}
	s.open()
	t.Cleanup(func() { s.close() })
	return s
}

func (s *sharedFolder) open() {
	s.Helper()
	cfg := files.DefaultConfig()
	cfg.ArchiveAfter = 0
	cfg.Log = slog.New(slog.NewTextHandler(s.log, nil))
	var err error
	if s.store, err = cfg.Open(s.dir); err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan error, 1)
	go func() { done <- s.store.Run(ctx, s) }()
	stop := s.follow(s.store)
	s.stop = func() {
		cancel()
		if err := errors.Join(<-done, stop(), s.store.Close()); err != nil {
			s.Error(err)
		}
	}
}

func (s *sharedFolder) loseLog() {
	s.Helper()
	if err := os.RemoveAll(s.path("log")); err != nil {
		s.Fatal(err)
	}
}

func (s *sharedFolder) close() {
	if s.stop != nil {
		s.stop()
	}
	s.stop = nil
}

// follow sends the threads that other programs have made or changed to s.changed.
func (s *sharedFolder) follow(store *files.Store) (stop func() error) {
	ctx, cancel := context.WithCancel(s.Context())
	begun, done := make(chan bool), make(chan error, 1)
	go func() {
		level := false
		done <- store.Feed(ctx, "", func(c thread.Change) error {
			if c.Level {
				level = true
				close(begun)
			}
			if level && c.Envelope.Ref != "" && c.Messages == nil && !c.Outline && !c.Removed {
				s.changed <- c.Envelope
			}
			return nil
		})
	}()
	<-begun
	return func() error { cancel(); return <-done }
}

// PostExternal stores the message as a step, like an exchange does.
func (s *sharedFolder) PostExternal(ctx context.Context, ref string, m mess.Message) error {
	th, _, err := s.store.Read(ctx, ref)
	if err != nil {
		return err
	}
	th.Ver++
	th.Serial++
	th.Updated = time.Now()
	m.Re, m.Received, m.Channel = mess.Refs{ref}, mess.TimeOf(th.Updated), "file"
	m.Ref = messeaf.MessageRef(ref, th.Serial, m)
	ack := mess.Message{From: "exchange", Received: m.Received, Items: []mess.Item{&mess.Ack{Ref: m.Ref}}}
	if _, err := s.store.Append(ctx, thread.Step{After: revOf(th.Ver - 1), Envelope: th.Envelope, Messages: []mess.Message{m, ack}}); err != nil {
		return err
	}
	s.reports <- m
	return nil
}

func (s *sharedFolder) settle() {
	s.Helper()
	if err := s.store.Settle(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// end stores the step that ends a thread.
func (s *sharedFolder) end(ref string, content ...mess.Entry) {
	s.Helper()
	th, _, err := s.store.Read(s.Context(), ref)
	if err != nil {
		s.Fatal(err)
	}
	th.Ver++
	th.Serial++
	th.Status, th.Executor, th.Phase = mess.Completed, "pi", thread.Finished
	m := mess.Message{From: "pi", Re: mess.Refs{ref}, Items: []mess.Item{&mess.Status{Code: mess.Completed}, &mess.Response{Content: content}}}
	m.Ref = messeaf.MessageRef(ref, th.Serial, m)
	th.History = append(th.History, thread.HistoryEntry{Action: "completed", At: th.Updated, By: "pi", Ref: m.Ref})
	if _, err := s.store.Append(s.Context(), thread.Step{After: revOf(th.Ver - 1), Envelope: th.Envelope, Messages: []mess.Message{m}}); err != nil {
		s.Fatal(err)
	}
}

// threads lists the places of threads, and validates every thread against MESSE-AF 2.1.
func (s *sharedFolder) threads() []string {
	s.Helper()
	fsys := os.DirFS(s.dir)
	places, err := messeaf.List(fsys)
	if err != nil {
		s.Fatal(err)
	}
	var list []string
	for _, p := range places {
		list = append(list, p.Path)
		if wrong, _ := p.Check(fsys); len(wrong) > 0 {
			s.Errorf("%s: %v", p.Path, wrong)
		}
	}
	return list
}

func (s *sharedFolder) wantThreads(want ...string) {
	s.Helper()
	if diff := cmp.Diff(want, s.threads()); diff != "" {
		s.Errorf("threads (-want +got):\n%s", diff)
	}
}

func (s *sharedFolder) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

func (s *sharedFolder) write(text string, parts ...string) {
	s.Helper()
	name := s.path(parts...)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		s.Fatal(err)
	}
}

func (s *sharedFolder) append(text string, parts ...string) {
	s.Helper()
	f, err := os.OpenFile(s.path(parts...), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		s.Fatal(err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		s.Fatal(err)
	}
}
