package metrics_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/metrics"
	"github.com/messkit/messkit/internal/test/promtool"
)

func TestText(t *testing.T) {
	var c metrics.Counter
	c.Inc()
	c.Inc()
	h := metrics.NewHistogram([]time.Duration{time.Millisecond, time.Second})
	for _, d := range []time.Duration{-time.Hour, time.Millisecond, 500 * time.Millisecond, time.Minute} {
		h.Observe(d)
	}
	var out metrics.Text
	out.Counter("a_total", "Acts,\nwith \\.", &c)
	out.Histograms("b_seconds", "Times.")
	out.Histogram(h, "route", "/x")
	out.Gauges("c_threads", "Threads.")
	out.Sample(0.5, "name", "a\"b\\c\nd\xff", "more", "")
	const want = `# HELP a_total Acts,\nwith \\.
# TYPE a_total counter
a_total 2
# HELP b_seconds Times.
# TYPE b_seconds histogram
b_seconds_bucket{route="/x",le="0.001"} 2
b_seconds_bucket{route="/x",le="1"} 3
b_seconds_bucket{route="/x",le="+Inf"} 4
b_seconds_sum{route="/x"} 60.501
b_seconds_count{route="/x"} 4
# HELP c_threads Threads.
# TYPE c_threads gauge
c_threads{name="a\"b\\c\nd` + "\uFFFD" + `",more=""} 0.5
`
	if got := string(out.Bytes()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	promtool.Metrics(t, out.Bytes())
}

// Members of a set count all that goroutines count at the same time.
func TestSetCountsTogether(t *testing.T) {
	set := metrics.NewSet[string](func() *metrics.Counter { return &metrics.Counter{} })
	h := metrics.NewHistogram(metrics.Calls)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				set.Of("b").Inc()
				set.Of("a").Inc()
				h.Observe(3 * time.Millisecond)
			}
		})
	}
	wg.Wait()
	var keys []string
	set.Each(func(key string, c *metrics.Counter) {
		if keys = append(keys, key); c.Value() != 8000 {
			t.Errorf("%s has %d, want 8000", key, c.Value())
		}
	})
	if got := strings.Join(keys, " "); got != "a b" {
		t.Errorf("the keys are %s", got)
	}
	var out metrics.Text
	out.Histograms("x_seconds", "Times.")
	out.Histogram(h)
	if got := string(out.Bytes()); !strings.Contains(got, "x_seconds_sum 24\nx_seconds_count 8000\n") || !strings.Contains(got, "{le=\"0.0025\"} 0\n") {
		t.Errorf("got\n%s", got)
	}
}

// BenchmarkObserve measures what a request pays: the look-up of its histogram, and the measurement.
func BenchmarkObserve(b *testing.B) {
	set := metrics.NewSet[string](func() *metrics.Histogram { return metrics.NewHistogram(metrics.Calls) })
	b.ReportAllocs()
	for b.Loop() {
		set.Of("GET requests/{ref} 2xx").Observe(3 * time.Millisecond)
	}
}

func BenchmarkCounter(b *testing.B) {
	var c metrics.Counter
	b.ReportAllocs()
	for b.Loop() {
		c.Inc()
	}
}
