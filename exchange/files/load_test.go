package files_test

import (
	"context"
	"os"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// keepsOn has one thread take step after step, without a pause, until the test
// ends.
func (s *shared) keepsOn(ref string) {
	s.Helper()
	th, err := s.store.Thread(s.Context(), ref)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	done := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			th.Ver++
			th.Serial++
			m := mess.Message{From: "pi", Re: mess.Refs{ref}, Items: []mess.Item{&mess.Status{Code: mess.InProgress}}}
			m.Ref = messeaf.MessageRef(ref, th.Serial, m)
			if err := s.store.Append(context.WithoutCancel(ctx), exchange.Step{Envelope: th.Envelope, Messages: []mess.Message{m}}); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	s.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.Error(err)
		}
	})
}

// Folders wait for a lull, and come where there is none. What others put there
// does not wait.
func TestWithoutALull(t *testing.T) {
	s := share(t, t.TempDir())
	s.keepsOn(fill(t, s.store, "busy", 0, 0))
	ref := fill(t, s.store, "a", 1, 10)
	s.write(theirs, "state=received", "2026-02-01-NX8J", "000-2026-02-01-NX8J.messe-af.yaml")
	if e := <-s.changed; e.Ref != "2026-02-01-NX8J" {
		t.Errorf("taken in: %+v", e)
	}
	s.until("the folder is there", func() bool {
		_, err := os.Stat(s.path("state=executing", ref))
		return err == nil
	})
}
