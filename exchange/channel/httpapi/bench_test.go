package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/internal/gcpace"
	"github.com/messkit/messkit/internal/resources"
)

// The server is a process of its own, so that its memory is not the clients';
// both share the machine's cores. The clients do as little as one can.

// BenchmarkHTTP measures each request with more and more open threads, over the
// store in memory and over that on the disk.
func BenchmarkHTTP(b *testing.B) {
	for _, store := range []string{"memory", "disk"} {
		for _, open := range []int{0, 1_000, 10_000} {
			b.Run(fmt.Sprintf("store=%s/open=%d", store, open), func(b *testing.B) {
				s := startServerProcess(b, store)
				s.fill(b, open)
				for _, w := range []work{
					{"create", nil, (*serverProcess).create},
					{"claim", (*serverProcess).create, (*serverProcess).claim},
					{"complete", (*serverProcess).claimed, (*serverProcess).complete},
					{"get", (*serverProcess).create, (*serverProcess).get},
					{"list50", nil, (*serverProcess).list},
				} {
					for _, clients := range []int{1, 16} {
						b.Run(fmt.Sprintf("%s/clients=%d", w.name, clients), func(b *testing.B) { w.measure(b, s, clients) })
					}
				}
			})
		}
	}
}

// writer returns a connection for requests, until the benchmark ends.
func (s *serverProcess) writer(b *testing.B) *rawConn {
	b.Helper()
	w, err := dial(s.Addr, anAnswer)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = w.conn.Close() })
	return w
}

// sendEvents makes events until each stream has received one. A stream may subscribe a moment after its
// hello.
func (s *serverProcess) sendEvents(wires []*rawConn) error {
	w, err := dial(s.Addr, anAnswer)
	if err != nil {
		return err
	}
	defer w.conn.Close()
	var g errgroup.Group
	heard := make(chan struct{})
	g.Go(func() error {
		defer close(heard)
		return storetest.Each(len(wires), 16, func(i int) error { return wires[i].readUntil("event: message\n") })
	})
	for {
		if err := s.create(w, new(string)); err != nil {
			return err
		}
		select {
		case <-heard:
			return g.Wait()
		case <-time.After(time.Second):
		}
	}
}

// work is a measured request, after an unmeasured preparation. Both get the ref of the thread.
type work struct {
	name        string
	ready, step func(*serverProcess, *rawConn, *string) error
}

// measure works in rounds, so that the threads of the measurement add little to the open threads.
func (w work) measure(b *testing.B, s *serverProcess, clients int) {
	took := make([]time.Duration, b.N)
	lines := make(chan *rawConn, 64)
	for range cap(lines) {
		l, err := dial(s.Addr, anAnswer)
		if err != nil {
			b.Fatal(err)
		}
		defer l.conn.Close()
		lines <- l
	}
	all := func(n, clients int, do func(l *rawConn, i int) error) {
		if err := storetest.Each(n, clients, func(i int) error {
			l := <-lines
			defer func() { lines <- l }()
			return do(l, i)
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ResetTimer()
	var worked time.Duration
	for rest := took; len(rest) > 0; {
		round := rest[:min(len(rest), 1024)]
		rest = rest[len(round):]
		refs := make([]string, len(round))
		if w.ready != nil {
			all(len(round), cap(lines), func(l *rawConn, i int) error { return w.ready(s, l, &refs[i]) })
		}
		before := s.cpu(b)
		b.StartTimer()
		all(len(round), clients, func(l *rawConn, i int) error {
			begun := time.Now()
			err := w.step(s, l, &refs[i])
			round[i] = time.Since(begun)
			return err
		})
		b.StopTimer()
		worked += s.cpu(b) - before
		all(len(round), cap(lines), func(l *rawConn, i int) error { return s.end(l, &refs[i]) })
	}
	slices.Sort(took)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	b.ReportMetric(took[(len(took)-1)/2].Seconds()*1000, "p50-ms")
	b.ReportMetric(took[(len(took)-1)*99/100].Seconds()*1000, "p99-ms")
	b.ReportMetric(float64(worked.Microseconds())/float64(b.N), "server-us/op")
	b.ReportMetric(float64(s.rss(b))/1024, "rss-MB")
}

// serverProcess is an exchange in a separate process.
type serverProcess struct {
	Addr     string
	Operator string // key, which no rate limits
	Agent    string
	Phone    string // executor
	pid      int
}

const apart = "MESSKIT_BENCH_STORE"

// startServerProcess starts the process; it ends with the benchmark.
func startServerProcess(b *testing.B, store string) *serverProcess {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestBenchmarkServerIsOwnProcess$")
	cmd.Env = append(os.Environ(), apart+"="+store)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			b.Errorf("the server: %v", err)
		}
	})
	s := &serverProcess{pid: cmd.Process.Pid}
	if err := json.NewDecoder(out).Decode(s); err != nil {
		b.Fatalf("the server: %v", err)
	}
	return s
}

// TestBenchmarkServerIsOwnProcess is no test but the process that startServerProcess starts.
func TestBenchmarkServerIsOwnProcess(t *testing.T) {
	where := os.Getenv(apart)
	if where == "" {
		t.Skip("is run by the benchmarks")
	}
	t.Cleanup(gcpace.DefaultPace(resources.Of().Memory).Keep()) // as messkit run does
	var store exchange.Store = memory.New()
	if where == "disk" {
		s, err := files.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		store = s
	}
	most := httpapi.Rate{Requests: 1e6, Burst: 1e6, Connections: 1e6}
	h := newHarnessOver(t, httpapi.Config{Rate: most}, exchange.DefaultConfig(), store)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var g errgroup.Group
	if s, ok := store.(*files.Store); ok {
		g.Go(func() error { return s.Run(t.Context(), h.x) })
	}
	g.Go(func() error { return h.server.Run(t.Context(), l) })
	t.Cleanup(func() {
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
	})
	h.url = "http://" + l.Addr().String()
	s := serverProcess{Addr: l.Addr().String(), Operator: h.op, Agent: h.register("agent", ""), Phone: h.register("phone", `"x"`)}
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the benchmark has ended
}

// rss returns the memory of the server's process, in KiB.
func (s *serverProcess) rss(b *testing.B) (kib int64) {
	b.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(s.pid), "status"))
	if err != nil {
		b.Skip(err)
	}
	_, rest, _ := strings.Cut(string(text), "\nVmRSS:")
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		b.Fatal(err)
	}
	return kib
}

// settledRSS returns the memory of the server's process after the collector has returned free
// memory, which it does 5 s after the last collection.
func (s *serverProcess) settledRSS(b *testing.B) int64 {
	b.Helper()
	least := s.rss(b)
	for same := 0; same < 8; same++ { // seconds
		time.Sleep(time.Second)
		if now := s.rss(b); now < least-least/50 {
			least, same = now, 0
		}
	}
	return least
}

// cpu returns the CPU time of the server's process on all cores. Other processes hardly change
// it.
func (s *serverProcess) cpu(b *testing.B) time.Duration {
	b.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(s.pid), "stat"))
	if err != nil {
		b.Skip(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	var user, system int64 // proc(5): the 14th and the 15th, in hundredths of a second
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		b.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// fill makes threads that wait for a claim.
func (s *serverProcess) fill(b *testing.B, threads int) {
	b.Helper()
	if err := storetest.Each(min(threads, 64), 64, func(i int) error {
		l, err := dial(s.Addr, anAnswer)
		if err != nil {
			return err
		}
		defer l.conn.Close()
		for range (threads + 63 - i) / 64 {
			if err := s.create(l, new(string)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
}

func (s *serverProcess) create(l *rawConn, ref *string) error {
	var v struct{ Ref string }
	answer, err := l.do(201, "POST", root+"/requests", s.Agent, "application/json",
		[]byte(`{"intent":"What's in the fridge? Tell me what is missing for breakfast.","requires":["x"],"response_hint":["image"]}`))
	if err == nil {
		err = json.Unmarshal(answer, &v)
	}
	*ref = v.Ref
	return err
}

func (s *serverProcess) claim(l *rawConn, ref *string) error {
	_, err := l.do(200, "PATCH", root+"/requests/"+*ref, s.Phone, "application/json", []byte(`{"status":"claimed"}`))
	return err
}

func (s *serverProcess) claimed(l *rawConn, ref *string) error {
	if err := s.create(l, ref); err != nil {
		return err
	}
	return s.claim(l, ref)
}

// shot is a picture of 300 KB.
var shot = bytes.Repeat([]byte{0xd7, 0x1e, 0x80}, 100<<10)

// complete uploads the picture and answers with it, in two requests.
func (s *serverProcess) complete(l *rawConn, ref *string) error {
	entry, err := l.do(200, "PUT", root+"/requests/"+*ref+"/attachments/fridge.jpg", s.Phone, "image/jpeg", shot)
	if err != nil {
		return err
	}
	_, err = l.do(200, "PATCH", root+"/requests/"+*ref, s.Phone, "application/json",
		fmt.Appendf(nil, `{"status":"completed","mess":[{"response":{"content":["No butter.",{"image":%s}]}}]}`, entry))
	return err
}

func (s *serverProcess) get(l *rawConn, ref *string) error {
	_, err := l.do(200, "GET", root+"/requests/"+*ref, s.Agent, "", nil)
	return err
}

func (s *serverProcess) list(l *rawConn, _ *string) error {
	_, err := l.do(200, "GET", root+"/requests?limit=50", s.Operator, "", nil)
	return err
}

// end ends a thread, if there is one that has not ended.
func (s *serverProcess) end(l *rawConn, ref *string) error {
	if *ref == "" {
		return nil
	}
	_, err := l.do(0, "PATCH", root+"/requests/"+*ref, s.Agent, "application/json", []byte(`{"status":"cancelled"}`))
	return err
}
