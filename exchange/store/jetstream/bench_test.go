package jetstream_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	upstream "github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/test/natsserver"
)

// BenchmarkClaims measures claims of this store beside the same messages sent by the client library
// alone, and beside the store in files, from 16 and 64 writers. Each writer claims a thread of its
// own, again and again. MESSKIT_BENCH_CLUSTER turns it on: it starts up to three servers for each row.
func BenchmarkClaims(b *testing.B) {
	if os.Getenv("MESSKIT_BENCH_CLUSTER") == "" {
		b.Skip("it starts clusters; make bench-cluster")
	}
	for _, writers := range []int{16, 64} {
		b.Run(fmt.Sprintf("files/writers=%d", writers), func(b *testing.B) {
			s, err := files.Open(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }() // the folder goes as well
			measure(b, writers, func(w int) func() error { return claimer(b, s, w) })
		})
		for _, replicas := range []int{1, 3} {
			for _, sync := range []string{"always", "default"} {
				row := fmt.Sprintf("R%d/sync=%s/writers=%d", replicas, sync, writers)
				b.Run("store/"+row, func(b *testing.B) {
					s, err := jetstream.Open(b.Context(), benchConfig(b, replicas, sync))
					if err != nil {
						b.Fatal(err)
					}
					defer func() { _ = s.Close() }() // it has only a connection
					measure(b, writers, func(w int) func() error { return claimer(b, s, w) })
				})
				b.Run("bare/"+row, func(b *testing.B) {
					js := bareStream(b, benchConfig(b, replicas, sync))
					measure(b, writers, func(w int) func() error { return publisher(b, js, w) })
				})
			}
		}
	}
}

func benchConfig(b *testing.B, replicas int, sync string) jetstream.Config {
	o := natsserver.Options{Sync: sync}
	if sync == "default" {
		o.Sync = ""
	}
	c := config(replicas, natsserver.StartCluster(b, replicas, o)...)
	c.SyncAlways, c.AcceptLoss = sync == "always", sync != "always"
	return c
}

// measure runs b.N claims in writers, and reports their rate and the percentiles of their time.
func measure(b *testing.B, writers int, start func(writer int) func() error) {
	b.Helper()
	var fns []func() error
	for w := range writers {
		fns = append(fns, start(w))
	}
	times := make([]time.Duration, b.N)
	next := make(chan int, b.N)
	for i := range b.N {
		next <- i
	}
	close(next)
	b.ResetTimer()
	var g sync.WaitGroup
	for _, fn := range fns {
		g.Go(func() {
			for i := range next {
				begin := time.Now()
				if err := fn(); err != nil {
					b.Error(err)
					return
				}
				times[i] = time.Since(begin)
			}
		})
	}
	g.Wait()
	b.StopTimer()
	slices.Sort(times)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
	b.ReportMetric(times[len(times)/2].Seconds()*1000, "p50-ms")
	b.ReportMetric(times[len(times)*99/100].Seconds()*1000, "p99-ms")
}

// claimer returns a function that claims a thread of its own once more.
func claimer(b *testing.B, s thread.Store, writer int) func() error {
	b.Helper()
	step := storetest.Step(ref(writer+1), "agent", "", storetest.Start)
	rev, err := s.Append(b.Context(), step)
	if err != nil {
		b.Fatal(err)
	}
	e := step.Envelope
	return func() error {
		e.Rev = rev
		next := claim(e, "executor")
		e = next.Envelope
		rev, err = s.Append(b.Context(), next)
		return err
	}
}

// bareStream makes a stream with the settings of the store. It opens a store first, which waits until the
// servers have a leader.
func bareStream(b *testing.B, c jetstream.Config) upstream.JetStream {
	b.Helper()
	s, err := jetstream.Open(b.Context(), c)
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	nc, err := nats.Connect(c.URLs[0])
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	js, err := upstream.New(nc)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := js.CreateStream(b.Context(), upstream.StreamConfig{
		Name: "bare", Subjects: []string{"bare.>"}, Replicas: c.Replicas, Discard: upstream.DiscardNew, DenyDelete: true, AllowRollup: true, AllowAtomicPublish: true,
	}); err != nil {
		b.Fatal(err)
	}
	return js
}

// publisher returns a function that publishes the message of a claim, after the last message
// of its subject.
func publisher(b *testing.B, js upstream.JetStream, writer int) func() error {
	b.Helper()
	claimed, err := logformat.OfStep(claim(storetest.Step(ref(writer+1), "agent", "", storetest.Start).Envelope, "executor"))
	if err != nil {
		b.Fatal(err)
	}
	body, err := claimed.Encode()
	if err != nil {
		b.Fatal(err)
	}
	last := uint64(0)
	n := 0
	return func() error {
		n++
		m := nats.NewMsg("bare." + strconv.Itoa(writer))
		m.Data = body
		m.Header.Set("Mess-Op", fmt.Sprint(writer, "-", n))
		ack, err := js.PublishMsg(b.Context(), m, upstream.WithExpectLastSequencePerSubject(last))
		if err != nil { // the client has repeated it, or the cluster has just changed
			return look(b, js, m.Subject, &last)
		}
		last = ack.Sequence
		return nil
	}
}

// look reads the last sequence of a subject, as a client has to after an error.
func look(b *testing.B, js upstream.JetStream, subject string, last *uint64) error {
	b.Helper()
	stream, err := js.Stream(b.Context(), "bare")
	if err != nil {
		return err
	}
	m, err := stream.GetLastMsgForSubject(b.Context(), subject)
	if errors.Is(err, upstream.ErrMsgNotFound) {
		*last = 0
		return nil
	}
	if err != nil {
		return err
	}
	*last = m.Sequence
	return nil
}
