package fleet

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// job is one request, as the fleet has seen it.
type job struct {
	due       time.Time // when its requester had to send it; zero: unknown
	acked     bool      // the exchange has acknowledged it
	claims    []string  // executors whose claim the exchange has granted
	starts    []string  // ... whose start
	done      int       // how often the exchange has acknowledged its completion
	claimed   time.Time // when its requester received the status, as is
	completed time.Time
}

// ledger records the messages that executors and requesters receive. It is safe for concurrent
// use.
type ledger struct {
	mu     sync.Mutex
	jobs   map[string]*job // by ref
	errors map[string]int  // by step and kind
	late   int             // due requests that no requester sent, because too many had no answer
	moved  time.Time       // time of the last acknowledgement
	races  int             // claims that another executor had won

	created, claims, completed int
}

func newLedger() *ledger {
	return &ledger{jobs: map[string]*job{}, errors: map[string]int{}, moved: time.Now()}
}

// job returns the job of a ref, a new one if needed. The caller holds l.mu.
func (l *ledger) job(ref string) *job {
	j := l.jobs[ref]
	if j == nil {
		j = &job{}
		l.jobs[ref] = j
	}
	return j
}

func (l *ledger) failed(step string) func(kind string) {
	return func(kind string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.errors[step+": "+kind]++
	}
}

// dropped counts a request that no requester sent.
func (l *ledger) dropped() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late++
}

// asked records a request that the exchange has acknowledged.
func (l *ledger) asked(ref string, due time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.job(ref)
	j.due, j.acked = due, true
	l.created++
	l.moved = time.Now()
}

// granted records that the exchange has acknowledged a step of an executor.
func (l *ledger) granted(ref, executor, step string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.job(ref)
	switch step {
	case "claimed":
		j.claims = append(j.claims, executor)
		l.claims++
	case "in_progress":
		j.starts = append(j.starts, executor)
	case "completed":
		j.done++
		l.completed++
	}
	l.moved = time.Now()
}

// lostRace counts a claim that came too late.
func (l *ledger) lostRace() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.races++
}

// recordStatus records a status that reached a requester.
func (l *ledger) recordStatus(ref, status string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.job(ref)
	switch {
	case status == "claimed" && j.claimed.IsZero():
		j.claimed = at
	case status == "completed" && j.completed.IsZero():
		j.completed = at
	}
}

// open returns the number of acknowledged requests that no executor has completed, and the
// time since the last event.
func (l *ledger) open() (n int, idle time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.created - l.completed, time.Since(l.moved)
}

// doubled returns the requests that the exchange granted to more than one executor, or
// ended more than once.
func (l *ledger) doubled() (refs []string) {
	for ref, j := range l.jobs {
		if len(j.claims) > 1 || len(j.starts) > 1 || j.done > 1 {
			refs = append(refs, ref)
		}
	}
	slices.Sort(refs)
	return refs
}

// Quantiles of a time, in milliseconds.
type Quantiles struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
}

// times returns the quantiles of the time from the due moment of a request to the moment that
// to returns.
func (l *ledger) times(to func(*job) time.Time) Quantiles {
	var all []time.Duration
	for _, j := range l.jobs {
		if end := to(j); !end.IsZero() && !j.due.IsZero() {
			all = append(all, end.Sub(j.due))
		}
	}
	if len(all) == 0 {
		return Quantiles{}
	}
	slices.Sort(all)
	at := func(part int) float64 { return ms(all[(len(all)-1)*part/100]) }
	return Quantiles{Count: len(all), P50: at(50), P99: at(99), Max: at(100)}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// kinds returns the errors so far.
func (l *ledger) kinds() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.errors)
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
