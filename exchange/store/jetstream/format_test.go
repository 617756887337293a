package jetstream_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/test/natsserver"
)

// A store writes in the format of its stream until somebody upgrades it. After that, a release that does
// not know the format opens it no more; one that has it open writes nothing, and its feed ends.
//
// It is not parallel: it changes the formats that the package knows.
func TestFormatOfStream(t *testing.T) {
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	c := config(1, server)
	before := jetstream.SetNewest("1")
	t.Cleanup(func() { jetstream.SetNewest(before) })
	is := func(want int, s *jetstream.Store) {
		t.Helper()
		if got := s.Format(); got != want {
			t.Errorf("format %d, want %d", got, want)
		}
	}
	appendTo := func(s *jetstream.Store, n int) error {
		_, err := s.Append(t.Context(), storetest.Step(ref(n), "agent", "", storetest.Start))
		return err
	}
	old := opened(t, c)
	if err := appendTo(old, 1); err != nil {
		t.Fatal(err)
	}
	ended, level := make(chan error, 1), make(chan bool, 1)
	go func() {
		ended <- old.Feed(t.Context(), "", func(c thread.Change) error {
			if c.Level {
				level <- true
			}
			return nil
		})
	}()
	<-level

	jetstream.SetNewest("2")
	late := opened(t, c)
	is(1, late)
	if _, err := late.Archive(t.Context(), []string{ref(1)}, later); err == nil || late.Archives() || !strings.Contains(err.Error(), "run messkit store upgrade") {
		t.Errorf("an archive in format 1: %v", err)
	}
	if err := appendTo(late, 2); err != nil {
		t.Fatal(err)
	}
	if n, err := late.Upgrade(t.Context()); n != 1 || err != nil {
		t.Errorf("upgrade from format %d: %v", n, err)
	}
	is(2, late)
	if n, err := late.Upgrade(t.Context()); n != 2 || err != nil {
		t.Errorf("a second upgrade from format %d: %v", n, err)
	}
	if err := appendTo(late, 3); err != nil {
		t.Fatal(err)
	}
	again := opened(t, c)
	is(2, again)
	for n := range 3 {
		if _, _, err := again.Read(t.Context(), ref(n+1)); err != nil {
			t.Errorf("%s: %v", ref(n+1), err)
		}
	}

	wants := func(what string, err error) {
		t.Helper()
		if one, ok := errors.AsType[*jetstream.FormatError](err); !ok || one.Is != 2 || one.Knows != 1 {
			t.Errorf("%s: %v", what, err)
		}
	}
	select {
	case err := <-ended:
		wants("the feed of the earlier release", err)
	case <-time.After(time.Minute):
		t.Fatal("the feed of the earlier release does not end")
	}
	wants("Append", appendTo(old, 4))
	_, err := old.Put(t.Context(), "kind", "id", []byte("x"), "")
	wants("Put", err)
	_, _, err = old.Read(t.Context(), ref(3))
	wants("Read", err)
	wants("a new feed", old.Feed(t.Context(), "", func(thread.Change) error { return nil }))
	jetstream.SetNewest("1")
	_, err = jetstream.Open(t.Context(), c)
	wants("Open", err)
	if _, _, err := again.Read(t.Context(), ref(4)); !errors.Is(err, thread.ErrNoThread) {
		t.Errorf("a step that was refused: %v", err)
	}
}
