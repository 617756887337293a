package fleet

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/internal/resources"
	"github.com/messkit/messkit/internal/wait"
)

// stored reads the status of every thread of a requester from the exchange.
func (w *web) stored(ctx context.Context, key, requester string, into map[string]string) error {
	for cursor := ""; ; {
		q := url.Values{"requestor": {requester}, "limit": {"1000"}}
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		var page struct {
			Threads []struct {
				Ref    string `json:"ref"`
				Status string `json:"status"`
			} `json:"threads"`
			Cursor string `json:"cursor"`
		}
		if err := w.do(ctx, http.MethodGet, w.base+"/requests?"+q.Encode(), key, nil, &page); err != nil {
			return err
		}
		for _, t := range page.Threads {
			into[t.Ref] = t.Status
		}
		if cursor = page.Cursor; cursor == "" || len(page.Threads) == 0 {
			return nil
		}
	}
}

// judge compares the ledger with the threads of the exchange. A request is lost if the exchange
// acknowledged it and does not have it, or ended it in another way than it acknowledged. A
// request with a status before the end is unfinished.
func (l *ledger) judge(stored map[string]string, r *Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Created, r.Claimed, r.Completed, r.Races, r.NotSent = l.created, l.claims, l.completed, l.races, l.late
	for ref, j := range l.jobs {
		status, there := stored[ref]
		switch {
		case there && status == "completed":
		case !j.acked && !there && j.done == 0: // the acknowledgement did not arrive
		case !there, j.done > 0, status != "pending" && status != "claimed" && status != "in_progress":
			r.Lost = append(r.Lost, ref)
		default:
			r.Unfinished++
		}
	}
	slices.Sort(r.Lost)
	r.Doubled = append(r.Doubled, l.doubled()...)
	r.ToClaimed = l.times(func(j *job) time.Time { return j.claimed })
	r.ToCompleted = l.times(func(j *job) time.Time { return j.completed })
	r.Errors = l.errors
}

// isAhead reports whether the exchange has acknowledged an end that is not in its list.
func (l *ledger) isAhead(stored map[string]string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ref, j := range l.jobs {
		if j.done > 0 && stored[ref] != "completed" {
			return true
		}
	}
	return false
}

// usage samples the memory and CPU of the exchange: the sum of its nodes.
type usage struct {
	key   string
	nodes []*nodeUsage
}

func newUsage(nodes []*web, key string) *usage {
	u := &usage{key: key}
	for _, n := range nodes {
		u.nodes = append(u.nodes, &nodeUsage{web: n})
	}
	return u
}

type nodeUsage struct {
	web          *web
	began, ended resources.Process
	at, until    time.Time
	memory       int64
	goroutines   int
}

// sample asks a node once.
func (u *nodeUsage) sample(ctx context.Context, key string) {
	var s struct {
		Process resources.Process `json:"process"`
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if u.web.do(ctx, http.MethodGet, u.web.base+"/status", key, nil, &s) != nil {
		return // the next sample counts
	}
	if u.at.IsZero() {
		u.at, u.began = time.Now(), s.Process
	}
	u.until, u.ended = time.Now(), s.Process
	u.memory, u.goroutines = max(u.memory, s.Process.Memory), max(u.goroutines, s.Process.Goroutines)
}

// sampleEvery is the time between two samples.
const sampleEvery = 5 * time.Second

// watch samples until ctx ends.
func (u *usage) watch(ctx context.Context) {
	for u.sample(ctx); wait.For(ctx, sampleEvery); u.sample(ctx) {
	}
	u.sample(context.WithoutCancel(ctx))
}

func (u *usage) sample(ctx context.Context) {
	for _, n := range u.nodes {
		n.sample(ctx, u.key)
	}
}

func (u *usage) report(r *Report) {
	r.Nodes = len(u.nodes)
	for _, n := range u.nodes {
		if d := n.until.Sub(n.at); d > 0 {
			r.CPU += 100 * (n.ended.CPU - n.began.CPU) / d.Seconds()
		}
		r.Memory += n.memory
		r.Goroutines += n.goroutines
	}
}

// load returns the load averages of the machine over 1, 5 and 15 minutes.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg") // without it the report leaves it out
	return strings.Join(strings.Fields(string(text))[:min(3, len(strings.Fields(string(text))))], " ")
}
