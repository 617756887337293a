package jetstream_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/internal/test/natsserver"
	"github.com/messkit/messkit/mess"
)

// BenchmarkJoin measures how long a new exchange takes until it serves, with a snapshot of the store and
// without: on a store with as many pending threads as MESSKIT_BENCH_JOIN says, then also with as many ended
// ones as MESSKIT_BENCH_JOIN_ENDED says, each of four steps.
func BenchmarkJoin(b *testing.B) {
	pending, err := strconv.Atoi(os.Getenv("MESSKIT_BENCH_JOIN"))
	ended, endedErr := strconv.Atoi(os.Getenv("MESSKIT_BENCH_JOIN_ENDED"))
	if err != nil || endedErr != nil {
		b.Skip("it fills a store; make bench-join")
	}
	c := config(1, natsserver.Start(b, natsserver.Options{}))
	c.AcceptLoss = true
	s, err := jetstream.Open(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }() // it has only a connection
	b.Run(fmt.Sprintf("pending=%d", pending), func(b *testing.B) {
		fillOnce(b, s, pending, nil)
		measureJoin(b, s, c, pending)
	})
	b.Run(fmt.Sprintf("pending=%d,ended=%d", pending, ended), func(b *testing.B) {
		fillOnce(b, s, ended, []mess.Code{mess.Claimed, mess.InProgress, mess.Completed})
		measureJoin(b, s, c, pending)
	})
}

// measureJoin measures both starts.
func measureJoin(b *testing.B, s *jetstream.Store, c jetstream.Config, pending int) {
	for _, ignore := range []bool{true, false} {
		c.IgnoreSnapshot = ignore
		name := "snapshot"
		if ignore {
			name = "all-steps"
		}
		b.Run(name, func(b *testing.B) {
			began := time.Now()
			wrote, err := s.Snapshot(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if wrote {
				b.Logf("the snapshot took %v", time.Since(began).Round(time.Millisecond))
			}
			b.ResetTimer()
			var took, worked time.Duration
			for range b.N {
				t, w := joinOnce(b, c, pending)
				took, worked = took+t, worked+w
			}
			b.ReportMetric(float64(took.Milliseconds())/float64(b.N), "ms/join")
			b.ReportMetric(float64(worked.Milliseconds())/float64(b.N), "cpu-ms/join")
		})
	}
}

// joinOnce starts a new exchange, and returns how long it took, and its processor time.
func joinOnce(b *testing.B, c jetstream.Config, pending int) (took, worked time.Duration) {
	began, processor := time.Now(), processorTime(b)
	s, err := jetstream.Open(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	x, err := exchange.Open(b.Context(), exchange.DefaultConfig(), s, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	for x.Unready() != "" {
		time.Sleep(time.Millisecond)
	}
	took, worked = time.Since(began), processorTime(b)-processor
	b.StopTimer()
	defer b.StartTimer()
	if n := x.OpenByStatus()["pending"]; n != pending {
		b.Errorf("it has %d pending threads, want %d", n, pending)
	}
	cancel()
	if err := <-done; err != nil {
		b.Error(err)
	}
	if err := s.Close(); err != nil {
		b.Error(err)
	}
	return took, worked
}

// processorTime returns the processor time of this process, without that of the server.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// filled is the number of threads that fillOnce has made, by the codes of their steps. A benchmark runs
// several times.
var filled = map[int]bool{}

// fillOnce makes threads, each with further steps, unless it has made some with as many steps.
func fillOnce(b testing.TB, s *jetstream.Store, threads int, codes []mess.Code) {
	b.Helper()
	if filled[len(codes)] {
		return
	}
	filled[len(codes)] = true
	if err := storetest.Each(threads, 64, func(i int) error {
		step := storetest.Step(fmt.Sprintf("2026-02-%02d-%03d", 1+len(codes), i+1), fmt.Sprint("agent", i%100), "", storetest.Start)
		rev, err := s.Append(b.Context(), step)
		for _, code := range codes {
			if err != nil {
				return err
			}
			step.Envelope.Rev = rev
			step = storetest.Next(step.Envelope, code, storetest.Start.Add(time.Duration(i)*time.Second))
			rev, err = s.Append(b.Context(), step)
		}
		return err
	}); err != nil {
		b.Fatal(err)
	}
}
