package top

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"
)

// Quantiles has the times that half, and 99 of 100, of the measured acts took at most, in seconds. They
// are nil without an act.
type Quantiles struct {
	P50 *float64 `json:"p50_s"`
	P99 *float64 `json:"p99_s"`
}

// Node is the load of one exchange. Rates are per second of the last seconds.
type Node struct {
	Address  string  `json:"address"`
	Error    string  `json:"error,omitempty"` // why it has not answered; then the other fields are empty
	Version  string  `json:"version,omitempty"`
	UptimeS  float64 `json:"uptime_s"`
	Requests float64 `json:"requests_per_s"`
	Claims   float64 `json:"claims_per_s"`
	Ends     float64 `json:"ends_per_s"`
	Refused  float64 `json:"refused_per_s"`
	HTTP     float64 `json:"http_per_s"`

	ClaimWait Quantiles `json:"claim_wait"`
	Answer    Quantiles `json:"http_answer"`
	Append    Quantiles `json:"store_append"`

	Threads  map[string]int `json:"threads"` // open ones of the whole store, by status
	Present  int            `json:"executors_present"`
	Absent   int            `json:"executors_absent"`
	Streams  int            `json:"event_streams"`
	Writable bool           `json:"store_writable"`
	FeedLagS float64        `json:"feed_lag_s"`
	LogBytes int64          `json:"log_bytes"`

	CPU        float64 `json:"cpu"` // processors in use
	Memory     int64   `json:"memory_bytes"`
	Goroutines int     `json:"goroutines"`
}

// scraped is a scrape with its time.
type scraped struct {
	at     time.Time
	values scrape
}

// load compares two scrapes of a node.
func load(address string, before, now scraped) Node {
	v, seconds := now.values, now.at.Sub(before.at).Seconds()
	// A counter that has fallen is that of a new process.
	rise := func(name string) float64 {
		is, was := v.sum(name), before.values.sum(name)
		if is < was {
			was = 0
		}
		if seconds <= 0 {
			return 0
		}
		return (is - was) / seconds
	}
	const http, appends, claims = "messkit_http_request_duration_seconds", "messkit_store_append_duration_seconds", "messkit_claim_wait_seconds"
	n := Node{
		Address: address, Version: v.label("messkit_build_info", "version"), UptimeS: max(0, float64(now.at.UnixMilli())/1000-v.sum("process_start_time_seconds")),
		Requests: rise("messkit_requests_created_total"), Claims: rise("messkit_claims_total"), Ends: rise("messkit_threads_ended_total"),
		Refused: rise("messkit_messages_refused_total"), HTTP: rise(http + "_count"),
		ClaimWait: quantiles(claims, before, now), Answer: quantiles(http, before, now), Append: quantiles(appends, before, now),
		Threads: map[string]int{}, Present: int(v.sum("messkit_executors", "presence", "present")), Absent: int(v.sum("messkit_executors", "presence", "absent")),
		Streams: int(v.sum("messkit_http_event_streams")), Writable: v.sum("messkit_store_writable") == 1, FeedLagS: v.sum("messkit_feed_lag_seconds"),
		LogBytes: int64(v.sum("messkit_store_log_bytes")), CPU: rise("process_cpu_seconds_total"), Memory: int64(v.sum("process_resident_memory_bytes")),
		Goroutines: int(v.sum("go_goroutines")),
	}
	for _, one := range v["messkit_threads_open"] {
		if one.value > 0 {
			n.Threads[one.labels["status"]] = int(one.value)
		}
	}
	return n
}

func quantiles(name string, before, now scraped) Quantiles {
	b := bucketsOf(name, before, now)
	return Quantiles{b.quantile(0.5), b.quantile(0.99)}
}

// bucket is a part of a histogram: how many values were at most le.
type bucket struct{ le, n float64 }

type buckets []bucket

// bucketsOf returns what a histogram has counted between two scrapes, over all of its labels.
func bucketsOf(name string, before, now scraped) (b buckets) {
	n := map[float64]float64{}
	fell := false
	for _, part := range []struct {
		s    scraped
		sign float64
	}{{now, 1}, {before, -1}} {
		for _, one := range part.s.values[name+"_bucket"] {
			if le, err := strconv.ParseFloat(one.labels["le"], 64); err == nil {
				n[le] += part.sign * one.value
			}
		}
	}
	for le, count := range n {
		fell = fell || count < 0
		b = append(b, bucket{le, count})
	}
	if fell { // a new process
		return bucketsOf(name, scraped{}, now)
	}
	slices.SortFunc(b, func(x, y bucket) int { return cmp.Compare(x.le, y.le) })
	return b
}

// quantile estimates a quantile as Prometheus's histogram_quantile does: values spread evenly in a
// bucket, and those of the last one are its lower bound. It returns nil without a value.
func (b buckets) quantile(q float64) *float64 {
	if len(b) < 2 || b[len(b)-1].n == 0 {
		return nil
	}
	rank := q * b[len(b)-1].n
	i := slices.IndexFunc(b, func(one bucket) bool { return one.n >= rank })
	if math.IsInf(b[i].le, 1) {
		return &b[i-1].le
	}
	low, under := 0.0, 0.0
	if i > 0 {
		low, under = b[i-1].le, b[i-1].n
	}
	at := low + (b[i].le-low)*(rank-under)/max(b[i].n-under, math.SmallestNonzeroFloat64)
	return &at
}
