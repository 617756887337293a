package httpapi_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// BenchmarkClaims sends claims at a fixed rate over 16 connections, whether the server has
// answered the earlier ones or not. The time of each begins when it is due. So a claim that
// waits for a connection of a slow server counts as slow.
func BenchmarkClaims(b *testing.B) {
	for _, store := range []string{"memory", "disk"} {
		for _, rate := range []int{2000, 5000} {
			b.Run(fmt.Sprintf("store=%s/rate=%d", store, rate), func(b *testing.B) {
				startServerProcess(b, store).claimAt(b, rate, 16)
			})
		}
	}
}

func (s *serverProcess) claimAt(b *testing.B, rate, connections int) {
	lines, refs := make([]*rawConn, connections), make([]string, b.N)
	var ready errgroup.Group
	for c := range lines {
		l, err := dial(s.Addr, anAnswer)
		if err != nil {
			b.Fatal(err)
		}
		defer l.conn.Close()
		lines[c] = l
		ready.Go(func() error {
			for i := c; i < len(refs); i += connections {
				if err := s.create(l, &refs[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := ready.Wait(); err != nil {
		b.Fatal(err)
	}
	took, due := make([]time.Duration, b.N), make(chan int, b.N)
	at := func(i int) time.Duration { return time.Duration(i) * time.Second / time.Duration(rate) }
	before := s.cpu(b)
	b.ResetTimer()
	begun := time.Now()
	var claims errgroup.Group
	for _, l := range lines {
		claims.Go(func() error {
			for i := range due {
				if err := s.claim(l, &refs[i]); err != nil {
					return err
				}
				took[i] = time.Since(begun) - at(i)
			}
			return nil
		})
	}
	for i := range b.N {
		sleepUntil(begun.Add(at(i)))
		due <- i
	}
	close(due)
	if err := claims.Wait(); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	b.ReportMetric(took[(len(took)-1)/2].Seconds()*1000, "p50-ms")
	b.ReportMetric(took[(len(took)-1)*99/100].Seconds()*1000, "p99-ms")
	b.ReportMetric(float64((s.cpu(b)-before).Microseconds())/float64(b.N), "server-us/op")
	b.ReportMetric(float64(s.rss(b))/1024, "rss-MB")
}

// sleepUntil waits for a time. On an idle machine, Go's timers are a millisecond late, and that would
// falsify the measurement.
func sleepUntil(t time.Time) {
	for d := time.Until(t); d > 0; d = time.Until(t) {
		ts := syscall.NsecToTimespec(int64(d))
		_ = syscall.Nanosleep(&ts, nil) // a signal may end it early
	}
}
