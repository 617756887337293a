package fleet

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Report has the results of a run.
type Report struct {
	Executors int     `json:"executors"`
	Rate      float64 `json:"rate"`
	Seconds   float64 `json:"seconds"` // duration of sending
	Protocol  string  `json:"protocol"`
	ReadyIn   float64 `json:"ready_in_s"` // time until all executors had registered

	Created   int `json:"created"`   // requests that the exchange acknowledged
	Claimed   int `json:"claimed"`   // claims that it granted
	Completed int `json:"completed"` // completions that it acknowledged
	Races     int `json:"races"`     // claims that another executor had won
	NotSent   int `json:"not_sent"`  // due requests that no requester sent, because too many had no answer

	Lost       []string `json:"lost"`       // acknowledged, and not in the exchange, or ended there in another way
	Doubled    []string `json:"doubled"`    // granted to two executors, or ended twice
	Unfinished int      `json:"unfinished"` // still open when the run ended
	// Unread is the reason why the exchange did not list its threads at the end. Lost is
	// unknown then.
	Unread string `json:"unread,omitempty"`

	ToClaimed   Quantiles `json:"create_to_claimed"`
	ToCompleted Quantiles `json:"create_to_completed"`

	Errors map[string]int `json:"errors"`

	Nodes      int     `json:"nodes"`                // of the exchange; the next three are their sums
	CPU        float64 `json:"exchange_cpu_percent"` // of one processor, during sending
	Memory     int64   `json:"exchange_rss"`         // highest samples, in bytes
	Goroutines int     `json:"exchange_goroutines"`  // highest samples
	Load       string  `json:"load"`                 // of the machine at the end, as in /proc/loadavg
}

// OK reports whether the exchange ended each request exactly once. It is false if that is
// unknown.
func (r Report) OK() bool {
	return r.Unread == "" && len(r.Lost) == 0 && len(r.Doubled) == 0 && r.Unfinished == 0
}

// mostShown is the largest number of refs in one line of the table.
const mostShown = 3

// Write prints the report as a table.
func (r Report) Write(w io.Writer) error {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-20s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("fleet", "%d executors over %s, ready in %.1f s; %g requests/s for %.0f s", r.Executors, r.Protocol, r.ReadyIn, r.Rate, r.Seconds)
	row("created", "%d%s", r.Created, more(r.NotSent, "not sent, since %d had no answer yet", underWay))
	row("claimed", "%d%s", r.Claimed, more(r.Races, "claims came second"))
	row("completed", "%d%s", r.Completed, more(r.Unfinished, "unfinished at the end"))
	if r.Unread == "" {
		row("lost", "%s", sampleRefs(r.Lost))
	} else {
		row("lost", "not known, since the exchange does not list its threads: %s", r.Unread)
	}
	row("doubled", "%s", sampleRefs(r.Doubled))
	row("create to claimed", "%s", r.ToClaimed)
	row("create to completed", "%s", r.ToCompleted)
	nodes := "exchange"
	if r.Nodes > 1 {
		nodes = fmt.Sprintf("exchange, %d nodes", r.Nodes)
	}
	row(nodes, "%.0f %% of one processor, %d MB in memory, %d goroutines", r.CPU, r.Memory>>20, r.Goroutines)
	if r.Load != "" {
		row("load of the machine", "%s", r.Load)
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Errors)) {
		row("error", "%d  %s", r.Errors[kind], kind)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func more(n int, what string, args ...any) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d %s", n, fmt.Sprintf(what, args...))
}

func sampleRefs(refs []string) string {
	if len(refs) == 0 {
		return "0"
	}
	return fmt.Sprintf("%d: %s", len(refs), strings.Join(refs[:min(len(refs), mostShown)], ", "))
}

// String returns a line of the table.
func (q Quantiles) String() string {
	if q.Count == 0 {
		return "there was no answer"
	}
	return fmt.Sprintf("p50 %.1f ms, p99 %.1f ms, at most %.1f ms", q.P50, q.P99, q.Max)
}
