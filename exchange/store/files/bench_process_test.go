package files_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/thread"
)

// written is the amount of data that a process has written, in bytes.
type written struct {
	chars int64 // in calls of the kernel
	disk  int64 // to a disk, in pages
}

func (w written) plus(v written) written { return written{w.chars + v.chars, w.disk + v.disk} }

func (w written) minus(v written) written { return written{w.chars - v.chars, w.disk - v.disk} }

// writtenSoFar is zero on a kernel without these counters.
func writtenSoFar(b *testing.B) written {
	if _, err := os.Stat("/proc/self/io"); err != nil {
		return written{}
	}
	return written{chars: proc(b, "io", "wchar:"), disk: proc(b, "io", "write_bytes:")}
}

// proc reads the kernel's figure about this process.
func proc(tb testing.TB, file, key string) int64 {
	tb.Helper()
	text, err := os.ReadFile("/proc/self/" + file)
	if err != nil {
		tb.Fatal(err)
	}
	var n int64
	_, rest, _ := strings.Cut("\n"+string(text), "\n"+key)
	if _, err := fmt.Sscan(rest, &n); err != nil {
		tb.Fatalf("%s in /proc/self/%s: %v", key, file, err)
	}
	return n
}

// opening is the report of a process that has opened a folder.
type opening struct {
	Took    time.Duration // until it had read the open threads
	Open    int           // number of open threads
	RSS     int64         // KiB resident at that point
	Settled int64         // KiB resident after it returned free memory to the system
}

const openingDir = "MESSKIT_BENCH_OPEN"

// coldStart measures how a process opens a folder with that many threads. open is the number of
// those that have not ended.
func coldStart(b *testing.B, threads, open int, step advance) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		b.Skip(err)
	}
	dir := b.TempDir()
	g := newStoreBench(b, dir)
	g.fill(b, threads, step)
	g.close(b)
	var sum opening
	n := 0
	for b.Loop() {
		o := inProcess(b, dir)
		if o.Open != open {
			b.Fatalf("%d threads are open, want %d", o.Open, open)
		}
		sum = opening{Took: sum.Took + o.Took, RSS: max(sum.RSS, o.RSS), Settled: max(sum.Settled, o.Settled)}
		n++
	}
	b.ReportMetric(float64(sum.Took)/float64(n), "ns/op")
	b.ReportMetric(float64(sum.RSS)/1024, "rss-MB")
	b.ReportMetric(float64(sum.Settled)/1024, "settled-MB")
}

func inProcess(b *testing.B, dir string) (o opening) {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestOpeningProcess$")
	cmd.Env = append(os.Environ(), openingDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(out)).Decode(&o) // the rest is the test's own
	}
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return o
}

// opened reads the whole feed like an exchange does, and counts the open threads.
func opened(t *testing.T, s *files.Store) (open int) {
	t.Helper()
	err := s.Feed(t.Context(), "", func(c thread.Change) error {
		if c.Level {
			return errLevel
		}
		if c.Kind == "" && !c.Removed && !c.Envelope.Status.Terminal() {
			open++
		}
		return nil
	})
	if !errors.Is(err, errLevel) {
		t.Fatal(err)
	}
	return open
}

// TestOpeningProcess is the process that inProcess runs; it is not a test.
func TestOpeningProcess(t *testing.T) {
	dir := os.Getenv(openingDir)
	if dir == "" {
		t.Skip("is run by BenchmarkOpen")
	}
	debug.SetGCPercent(50) // as messkit run does
	begun := time.Now()
	s := open(t, dir)
	var o opening
	o.Open = opened(t, s)
	o.Took, o.RSS = time.Since(begun), proc(t, "status", "VmRSS:")
	debug.FreeOSMemory()
	o.Settled = proc(t, "status", "VmRSS:")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(o); err != nil {
		t.Fatal(err)
	}
}
