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
)

// BenchmarkJoin measures how long a new exchange takes until it serves, on a store with as many pending
// threads as MESSKIT_BENCH_JOIN says.
func BenchmarkJoin(b *testing.B) {
	threads, err := strconv.Atoi(os.Getenv("MESSKIT_BENCH_JOIN"))
	if err != nil {
		b.Skip("it fills a store; make bench-join")
	}
	c := config(1, natsserver.Start(b, natsserver.Options{}))
	c.AcceptLoss = true
	fillPending(b, c, threads)
	b.ResetTimer()
	var took, worked time.Duration
	for range b.N {
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
		took, worked = took+time.Since(began), worked+processorTime(b)-processor
		b.StopTimer()
		if n := x.OpenByStatus()["pending"]; n != threads {
			b.Errorf("it has %d pending threads, want %d", n, threads)
		}
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
		if err := s.Close(); err != nil {
			b.Error(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(took.Milliseconds())/float64(b.N), "ms/join")
	b.ReportMetric(float64(worked.Milliseconds())/float64(b.N), "cpu-ms/join")
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

// fillPending makes pending threads.
func fillPending(b testing.TB, c jetstream.Config, threads int) {
	b.Helper()
	s, err := jetstream.Open(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }() // it has only a connection
	if err := storetest.Each(threads, 64, func(i int) error {
		step := storetest.Step(fmt.Sprintf("2026-02-01-%03d", i+1), fmt.Sprint("agent", i%100), "", storetest.Start)
		_, err := s.Append(b.Context(), step)
		return err
	}); err != nil {
		b.Fatal(err)
	}
}
