package httpapi_test

import (
	"errors"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/store/storetest"
)

// BenchmarkIdleReaders has 10,000 streams without events, and then an event for all of them.
func BenchmarkIdleReaders(b *testing.B) {
	const readers = 10_000
	s := startServerProcess(b, "memory")
	empty := s.rss(b)
	for b.Loop() {
		wires := make([]*rawConn, readers)
		err := storetest.Each(readers, 16, func(i int) (err error) {
			if wires[i], err = dial(s.Addr, fewLines); err != nil {
				return err
			}
			return errors.Join(wires[i].begin("GET", root+"/events", s.Operator, "", nil), wires[i].readUntil(": hello\n"))
		})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(empty)/1024, "empty-MB")
		b.ReportMetric(float64(s.rss(b))/1024, "rss-MB")
		b.ReportMetric(float64(s.settledRSS(b))/1024, "settled-MB")
		told := time.Now()
		if err := s.sendEvents(wires); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(told).Seconds()*1000, "told-ms")
		b.ReportMetric(float64(s.rss(b))/1024, "then-MB")
		for _, w := range wires {
			_ = w.conn.Close()
		}
	}
}

// BenchmarkIdlePolls has 10,000 polls without events. Then an event answers all of them, and their
// clients poll again.
func BenchmarkIdlePolls(b *testing.B) {
	const readers = 10_000
	s := startServerProcess(b, "memory")
	empty := s.rss(b)
	begin := func(w *rawConn) error { return w.begin("GET", root+"/events?wait=60s", s.Operator, "", nil) }
	for b.Loop() {
		wires := make([]*rawConn, readers)
		err := storetest.Each(readers, 16, func(i int) (err error) {
			if wires[i], err = dial(s.Addr, fewLines); err != nil {
				return err
			}
			return begin(wires[i])
		})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(empty)/1024, "empty-MB")
		b.ReportMetric(float64(s.settledRSS(b))/1024, "settled-MB")
		if err := s.create(s.writer(b), new(string)); err != nil {
			b.Fatal(err)
		}
		if err := storetest.Each(readers, 16, func(i int) error {
			_, _, err := wires[i].answer()
			return errors.Join(err, begin(wires[i]))
		}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(s.settledRSS(b))/1024, "again-MB")
		for _, w := range wires {
			_ = w.conn.Close()
		}
	}
}
