package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/test/link"
	"github.com/messkit/messkit/internal/test/natsserver"
)

// While most writes are slow, some new threads are refused, and no step of a thread that exists.
func TestSlowServersTakeFewerThreads(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	way := link.New(t, server.Address())
	c := config(1, server)
	c.URLs = []string{"nats://" + way.Address()}
	s := opened(t, c)
	write := func(round int) {
		if err := storetest.Each(64, 64, func(i int) error {
			step := storetest.Step(fmt.Sprintf("2026-02-01-%03d", 64*round+i+1), "agent", "", storetest.Start)
			_, err := s.Append(t.Context(), step)
			return err
		}); err != nil {
			t.Error(err)
		}
	}
	admit := func() int {
		var busy atomic.Int64
		if err := storetest.Each(100, 100, func(int) error {
			err := s.Admit(t.Context())
			if errors.Is(err, thread.ErrBusy) {
				busy.Add(1)
				return nil
			}
			return err
		}); err != nil {
			t.Error(err)
		}
		return int(busy.Load())
	}
	write(0)
	if n := admit(); n > 0 {
		t.Errorf("fast servers refuse %d of 100 threads", n)
	}
	round, busy := 1, 0
	for deadline := time.Now().Add(time.Minute); busy == 0 && time.Now().Before(deadline); round++ {
		way.Hold(link.Back)
		time.AfterFunc(time.Second, way.Heal)
		write(round)
		busy = admit()
	}
	if busy == 0 {
		t.Error("slow servers refuse no thread")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Admit(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
}

// Writes that servers do not answer in time count as slow too.
func TestUnansweredWritesAreSlow(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	way := link.New(t, server.Address())
	c := config(1, server)
	c.URLs = []string{"nats://" + way.Address()}
	s := opened(t, c)
	way.Hold(link.Back)
	today := time.Now().Format(time.DateOnly) // the store looks for older refs in archives first
	var refused, answered atomic.Int64
	for n, deadline := 0, time.Now().Add(time.Minute); refused.Load() == 0 && time.Now().Before(deadline); n++ {
		if err := storetest.Each(64, 64, func(i int) error {
			ctx, cancel := context.WithTimeout(t.Context(), 600*time.Millisecond)
			defer cancel()
			if err := s.Admit(ctx); errors.Is(err, thread.ErrBusy) {
				refused.Add(1)
				return nil
			}
			_, err := s.Append(ctx, storetest.Step(fmt.Sprintf("%s-%03d", today, 64*n+i+1), "agent", "", time.Now()))
			if err == nil {
				answered.Add(1)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	if refused.Load() == 0 || answered.Load() > 0 {
		t.Errorf("%d threads were refused, and %d were answered", refused.Load(), answered.Load())
	}
}
