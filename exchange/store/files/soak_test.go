package files_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

const (
	// soakFirst is the number of threads after which the soak takes its reference measurement of
	// memory. shortFirst is that number in a short soak of shortAll threads.
	soakFirst  = 10_000
	shortFirst = 7_500
	shortAll   = 20_000
	// soakWriters is the number of concurrent requesters.
	soakWriters = 64
	// soakGrowth is the permitted growth of memory in percent. soakSlack is the additional
	// memory that the Go runtime may use, in bytes, for any number of threads. In a short soak
	// up to 2,000 threads wait for their archive at one measurement and none at the other, so
	// it has shortSlack: it finds a leak of some kilobyte for each thread.
	soakGrowth = 20
	soakSlack  = 2 << 20
	shortSlack = 12 << 20
)

// raced reports whether the race detector runs, which needs memory too.
var raced bool

// soak is an exchange that creates, ends and archives threads at full speed.
type soak struct {
	*testing.T
	dir   string
	store *files.Store
	x     *exchange.Exchange
	made  atomic.Int64
}

// memory is the memory use of a soak at one moment.
type memory struct {
	live int64 // bytes of the heap in use
	rss  int64 // bytes that the kernel counts
}

// TestSoak creates, ends and archives threads at full speed, and checks that the memory of an
// exchange does not grow with them. make soak has a million of them.
func TestSoak(t *testing.T) {
	n, firstN, slack := shortAll, shortFirst, int64(shortSlack)
	if text := os.Getenv("MESSKIT_SOAK"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 2*soakFirst {
			t.Fatalf("MESSKIT_SOAK=%q: not a number of %d or more", text, 2*soakFirst)
		}
		firstN, slack = soakFirst, soakSlack
	} else if testing.Short() || raced {
		t.Skip("the race detector uses memory of its own; go test without -race and -short, or make soak, measures it")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(50)) // as messkit run does
	s := newSoak(t)
	began := time.Now()
	s.run(firstN)
	first := s.rest(firstN, "first", began)
	for done := firstN; done < n; {
		some := min(n-done, soakFirst)
		s.run(some)
		done += some
		s.progress(done, began)
	}
	last := s.rest(n, "last", began)
	for _, m := range []struct {
		name    string
		was, is int64
	}{{"heap in use", first.live, last.live}, {"resident memory", first.rss, last.rss}} {
		limit := m.was + m.was*soakGrowth/100 + slack
		t.Logf("%s: %.1f MB after %d threads, %.1f MB after %d, limit %.1f MB", m.name, mb(m.was), firstN, mb(m.is), n, mb(limit))
		if m.is > limit {
			t.Errorf("%s grew from %.1f MB to %.1f MB; the limit is %.1f MB", m.name, mb(m.was), mb(m.is), mb(limit))
		}
	}
}

func mb(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func newSoak(t *testing.T) *soak {
	s := &soak{T: t, dir: t.TempDir()}
	cfg := files.DefaultConfig()
	cfg.ArchiveAfter = time.Second
	var err error
	if s.store, err = cfg.Open(s.dir); err != nil {
		t.Fatal(err)
	}
	if s.x, err = exchange.Open(t.Context(), exchange.DefaultConfig(), s.store, time.Now, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var g sync.WaitGroup
	for _, run := range []func(context.Context) error{s.x.Run, func(ctx context.Context) error { return s.store.Run(ctx, noListener{}) }} {
		g.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		g.Wait()
		if err := s.store.Close(); err != nil {
			t.Error(err)
		}
	})
	s.post(soakExecutor, `{"MESS":[{"config":{"executor":{"id":"pi","versions":["1.1.0"],"capabilities":["bench"]}}}]}`)
	return s
}

var (
	soakExecutor  = exchange.Actor{ID: "pi", Roles: exchange.ExecutorRole}
	soakRequester = exchange.Actor{ID: "asker", Roles: exchange.Requester}
)

// soakPause is the time after which a writer tries again what the exchange has refused for now.
const soakPause = 100 * time.Millisecond

// post posts a message and returns the ref of its ack.
func (s *soak) post(who exchange.Actor, text string) (ref string) {
	m, err := mess.ParseJSON([]byte(text))
	if err != nil {
		s.Errorf("%s: %v", text, err)
		return ""
	}
	in := exchange.Inbound{Actor: who, Channel: "soak", Message: m}
	answer, err := s.x.Post(s.Context(), in)
	for errors.Is(err, mess.Unavailable) && wait.For(s.Context(), soakPause) { // the folders are late
		answer, err = s.x.Post(s.Context(), in)
	}
	if err != nil {
		s.Errorf("%s: %v", text, err)
		return ""
	}
	for _, item := range answer.Items {
		if a, ok := item.(*mess.Ack); ok {
			ref = a.Ref
		}
	}
	return ref
}

// run creates and ends threads.
func (s *soak) run(n int) {
	err := storetest.Each(n, soakWriters, func(int) error {
		i := s.made.Add(1)
		ref := s.post(soakRequester, fmt.Sprintf(`{"MESS":[{"request":{"id":"n%d","intent":"bench %d","requires":["bench"]}}]}`, i, i))
		for _, code := range []string{"claimed", "in_progress", "completed"} {
			s.post(soakExecutor, fmt.Sprintf(`{"re":%q,"MESS":[{"status":{"code":%q}}]}`, ref, code))
		}
		if s.Failed() {
			return context.Canceled
		}
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
}

// inFolders counts the threads in folders.
func (s *soak) inFolders() (n int) {
	for _, state := range []string{"state=received", "state=executing", "state=finished", "state=canceled"} {
		dir, err := os.Open(filepath.Join(s.dir, state))
		if err != nil {
			s.Fatal(err)
		}
		names, err := dir.Readdirnames(-1)
		if err != nil {
			s.Fatal(err)
		}
		n += len(names)
		_ = dir.Close() // it was read
	}
	return n
}

// rest waits until the store has archived all but the threads of incomplete archives. It returns
// the memory at that time.
func (s *soak) rest(made int, when string, began time.Time) (m memory) {
	const left = 2000 // of the month, and of the thousand that is not full
	for deadline := time.Now().Add(10*time.Minute + time.Duration(made)*2*time.Millisecond); s.inFolders() > left; {
		if time.Now().After(deadline) {
			s.Fatalf("%d of %d threads are in no archive", s.inFolders(), made)
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.progress(made, began)
	for range 3 {
		runtime.GC()
	}
	debug.FreeOSMemory()
	if dir := os.Getenv("MESSKIT_SOAK_PROFILES"); dir != "" {
		s.saveProfile(filepath.Join(dir, "soak-"+when+".prof"))
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	m = memory{live: int64(stats.HeapAlloc + stats.StackInuse), rss: proc(s, "status", "VmRSS:") << 10}
	s.Logf("%s: heap in use %.1f MB, resident memory %.1f MB", when, mb(m.live), mb(m.rss))
	return m
}

// saveProfile writes a profile of the heap; go tool pprof -diff_base compares two.
func (s *soak) saveProfile(name string) {
	f, err := os.Create(name)
	if err != nil {
		s.Fatal(err)
	}
	if err := errors.Join(pprof.WriteHeapProfile(f), f.Close()); err != nil {
		s.Error(err)
	}
}

func (s *soak) progress(made int, began time.Time) {
	archives, err := os.ReadDir(filepath.Join(s.dir, "archive"))
	if err != nil && !os.IsNotExist(err) {
		s.Fatal(err)
	}
	zips := 0
	for _, e := range archives {
		if strings.HasSuffix(e.Name(), ".zip") {
			zips++
		}
	}
	took := time.Since(began)
	s.Logf("%7d threads in %v, %.0f a second: %d in folders, %d archives, resident memory %.1f MB",
		made, took.Round(time.Second), float64(made)/took.Seconds(), s.inFolders(), zips, float64(proc(s, "status", "VmRSS:"))/1024)
}
