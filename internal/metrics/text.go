package metrics

import (
	"strconv"
	"strings"
	"time"
)

// ContentType is the media type of the text.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Text is a text of metrics in the making. Its zero value is ready. A caller begins a family and
// writes all of its samples before the next one.
type Text struct {
	out  []byte
	name string // of the family
}

// Bytes returns the text.
func (t *Text) Bytes() []byte { return t.out }

// Counters begins a family of counters. Its name ends with _total.
func (t *Text) Counters(name, help string) { t.family(name, help, "counter") }

// Gauges begins a family of gauges.
func (t *Text) Gauges(name, help string) { t.family(name, help, "gauge") }

// Histograms begins a family of histograms. Its name ends with _seconds.
func (t *Text) Histograms(name, help string) { t.family(name, help, "histogram") }

// Counter writes a counter without labels.
func (t *Text) Counter(name, help string, c *Counter) {
	t.Counters(name, help)
	t.Sample(float64(c.Value()))
}

// Gauge writes a gauge without labels.
func (t *Text) Gauge(name, help string, value float64) {
	t.Gauges(name, help)
	t.Sample(value)
}

var helpEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`)

func (t *Text) family(name, help, kind string) {
	t.name = name
	t.add("# HELP ", name, " ", helpEscapes.Replace(help), "\n# TYPE ", name, " ", kind, "\n")
}

// Sample writes a value of the family. labels are names and values in turn.
func (t *Text) Sample(value float64, labels ...string) { t.sample("", value, labels) }

// Histogram writes a histogram of the family. labels are names and values in turn. A count during
// the call may be in the sum and not in the buckets.
func (t *Text) Histogram(h *Histogram, labels ...string) {
	sum, n := h.sum.Load(), int64(0)
	labels = append(labels[:len(labels):len(labels)], "le", "")
	for i := range h.counts {
		n += h.counts[i].Load()
		labels[len(labels)-1] = "+Inf"
		if i < len(h.bounds) {
			labels[len(labels)-1] = number(h.bounds[i].Seconds())
		}
		t.sample("_bucket", float64(n), labels)
	}
	labels = labels[:len(labels)-2]
	t.sample("_sum", time.Duration(sum).Seconds(), labels)
	t.sample("_count", float64(n), labels)
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func (t *Text) sample(suffix string, value float64, labels []string) {
	t.add(t.name, suffix)
	for i := 0; i < len(labels); i += 2 {
		sign := ","
		if i == 0 {
			sign = "{"
		}
		t.add(sign, labels[i], `="`, labelEscapes.Replace(strings.ToValidUTF8(labels[i+1], "\uFFFD")), `"`)
	}
	if len(labels) > 0 {
		t.add("}")
	}
	t.add(" ", number(value), "\n")
}

func (t *Text) add(parts ...string) {
	for _, p := range parts {
		t.out = append(t.out, p...)
	}
}

// number writes a number as Prometheus reads it.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
