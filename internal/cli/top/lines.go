package top

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/internal/cli/output"
)

// Lines returns the page: the load of all nodes together, and a line for each if there are several.
func Lines(nodes []Node, now time.Time) []string {
	all, first := total(nodes)
	head := fmt.Sprintf("%s  %s", now.Local().Format(time.TimeOnly), output.Count(len(nodes), "exchange"))
	if len(nodes) == 1 {
		head = now.Local().Format(time.TimeOnly) + "  " + nodes[0].Address
	}
	if first == nil {
		list := []string{head, ""}
		for _, n := range nodes {
			list = append(list, "NOT REACHED  "+n.Address+"  "+n.Error)
		}
		return list
	}
	threads, open := []string{}, 0
	for _, status := range slices.Sorted(maps.Keys(all.Threads)) {
		threads, open = append(threads, fmt.Sprintf("%d %s", all.Threads[status], strings.ReplaceAll(status, "_", " "))), open+all.Threads[status]
	}
	list := []string{
		fmt.Sprintf("%s  version %s, up %s", head, first.Version, output.UpTime(first.UptimeS)), "",
		fmt.Sprintf("requests   %8.1f /s  claims %.1f /s, ends %.1f /s, refused %.1f /s", all.Requests, all.Claims, all.Ends, all.Refused),
		fmt.Sprintf("HTTP       %8.1f /s  %s", all.HTTP, output.Count(all.Streams, "event stream")),
		strings.TrimRight(fmt.Sprintf("threads    %8d open  %s", open, strings.Join(threads, ", ")), " "),
		fmt.Sprintf("executors  %8d here  %d away", all.Present, all.Absent), "",
	}
	for _, n := range nodes {
		if len(nodes) > 1 {
			list = append(list, n.Address)
		}
		list = append(list, n.lines()...)
	}
	return list
}

// lines returns what is of one node alone.
func (n Node) lines() []string {
	if n.Error != "" {
		return []string{"NOT REACHED  " + n.Error}
	}
	store := "writes"
	if !n.Writable {
		store = "CANNOT WRITE; messkit status has the reason"
	}
	if n.LogBytes > 0 {
		store += ", log " + output.Bytes(n.LogBytes)
	}
	return []string{
		"claimed after   " + n.ClaimWait.String(),
		"HTTP answer     " + n.Answer.String(),
		"store append    " + n.Append.String(),
		fmt.Sprintf("store           %s; feed lag %s", store, span(n.FeedLagS)),
		fmt.Sprintf("process         CPU %.0f %%, memory %s, %s", n.CPU*100, output.Bytes(n.Memory), output.Count(n.Goroutines, "goroutine")),
	}
}

// total adds the nodes that have answered, and returns the first of them. Threads and executors are
// those of their common store, so the node that knows of most counts.
func total(nodes []Node) (all Node, first *Node) {
	for i, n := range nodes {
		if n.Error != "" {
			continue
		}
		if first == nil {
			first = &nodes[i]
		}
		all.Requests, all.Claims, all.Ends, all.Refused = all.Requests+n.Requests, all.Claims+n.Claims, all.Ends+n.Ends, all.Refused+n.Refused
		all.HTTP, all.Streams = all.HTTP+n.HTTP, all.Streams+n.Streams
		if n.Present+n.Absent > all.Present+all.Absent || all.Threads == nil {
			all.Present, all.Absent = n.Present, n.Absent
		}
		if all.Threads == nil || sum(n.Threads) > sum(all.Threads) {
			all.Threads = n.Threads
		}
	}
	return all, first
}

func sum(count map[string]int) (n int) {
	for _, one := range count {
		n += one
	}
	return n
}

func (q Quantiles) String() string {
	if q.P50 == nil {
		return "nothing measured"
	}
	return fmt.Sprintf("p50 %s, p99 %s", span(*q.P50), span(*q.P99))
}

// span writes a time in seconds.
func span(s float64) string {
	switch {
	case s < 1:
		return fmt.Sprintf("%.1f ms", s*1000)
	case s < 60:
		return fmt.Sprintf("%.1f s", s)
	}
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}
