package mqtt_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/agent/resolver"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/remote/mqttclient"
	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/gcpace"
	"github.com/messkit/messkit/internal/resources"
)

// relay is a line that notes when its level changes.
type relay struct {
	mu sync.Mutex
	on bool
	at chan time.Time
}

func (r *relay) Name() string                 { return "bench-lamp" }
func (r *relay) SetName(string)               {}
func (r *relay) Start() error                 { return nil }
func (r *relay) Halt() error                  { return nil }
func (r *relay) Connection() gobot.Connection { return nil }

func (r *relay) Switch(_ context.Context, on bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.on != on {
		r.at <- time.Now()
	}
	r.on = on
	return nil
}

func (r *relay) On(context.Context) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.on, nil
}

// amount returns the size of a measurement from the environment. make bench-mqtt sets it.
func amount(t *testing.T, name string) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		t.Skipf("%s is missing: the number of rounds; make bench-mqtt", name)
	}
	return n
}

// useStoreOnDisk gives the exchange a store on disk, as in production.
func (h *harness) useStoreOnDisk() {
	h.Helper()
	store, err := files.DefaultConfig().Open(h.TempDir())
	if err != nil {
		h.Fatal(err)
	}
	if h.x, err = exchange.Open(h.Context(), exchange.DefaultConfig(), store, time.Now, quiet); err != nil {
		h.Fatal(err)
	}
	stop := runUntilStopped(h.T, h.x.Run)
	h.Cleanup(func() {
		stop()
		if err := store.Close(); err != nil {
			h.Error(err)
		}
	})
}

// TestBenchLatency measures the time from the publish of a request to the relay, and to the
// response, with all syncs on the way.
func TestBenchLatency(t *testing.T) {
	n := amount(t, "MESSKIT_BENCH_MQTT")
	t.Cleanup(gcpace.DefaultPace(resources.Of().Memory).Keep()) // as messkit run does
	for _, name := range []string{"embedded", "mosquitto"} {
		t.Run(name, func(t *testing.T) {
			var h *harness
			if name == "embedded" {
				h = newHarness(t)
				h.useStoreOnDisk()
				h.serve()
			} else {
				m := newMosquittoHarness(t, "allow_anonymous true\nset_tcp_nodelay true\n")
				m.useStoreOnDisk()
				m.startAdapter(broker.Address{})
				h = m.harness
			}
			r := &relay{at: make(chan time.Time, 1)}
			h.runAgent(r)
			me := h.connect(login{id: "me"}).listen(root + "a/me/in")
			var acted, answered []time.Duration
			for i := range n {
				state := map[bool]string{true: "on", false: "off"}[i%2 == 0]
				began := time.Now()
				me.Publish(root+"a/me/out", 1, false, fmt.Sprintf(`{"id":"b%d","MESS":[{"request":{"intent":"turn %s the bench lamp"}}]}`, i, state))
				select {
				case at := <-r.at:
					acted = append(acted, at.Sub(began))
				case <-time.After(patience):
					t.Fatalf("nothing was switched: %v", me.all())
				}
				me.waitFor("the response", func(r received) bool {
					return strings.Contains(r.text, fmt.Sprintf("-b%d\"", i)) && strings.Contains(r.text, `"completed"`)
				})
				answered = append(answered, time.Since(began))
				me.mu.Lock()
				me.received = nil
				me.mu.Unlock()
			}
			for what, all := range map[string][]time.Duration{"relay": acted, "response": answered} {
				slices.Sort(all)
				fmt.Printf("%-10s request to %-9s p50 %8v  p99 %8v  (%d)\n", name, what, all[len(all)/2].Round(10*time.Microsecond), all[len(all)*99/100].Round(10*time.Microsecond), len(all))
			}
		})
	}
}

// runAgent runs an executor with a relay, over the broker. As in production, the policy records each
// act and each pending switch-off in the journal.
func (h *harness) runAgent(r *relay) {
	h.Helper()
	x, err := mqttclient.New(mqttclient.Config{Address: broker.Address{URL: "mqtt://" + h.addr}, Exchange: "home", Executor: "bench"}, quiet)
	if err != nil {
		h.Fatal(err)
	}
	j, err := journal.Open(h.TempDir())
	if err != nil {
		h.Fatal(err)
	}
	home := resolver.New(catalog.Default(), []resolver.Device{{Driver: r, Device: capabilities.Device{Name: "bench-lamp", Label: "bench lamp", Class: "light"}}})
	cfg := agent.DefaultConfig()
	cfg.ID = "bench"
	limits := settings.DefaultConfig()
	limits.Defaults.MaxOn = time.Hour
	g := policy.New(limits, time.Now, quiet)
	g.UseLedger(j, []string{"bench-lamp"})
	a := agent.New(cfg, x, home, []device.Device{{Name: "bench-lamp", Label: "bench lamp", Driver: r}}, g, j, time.Now, quiet)
	hangUp := runUntilStopped(h.T, x.Run)
	end := runUntilStopped(h.T, a.Run)
	h.Cleanup(func() {
		end()
		hangUp()
		if err := j.Close(); err != nil {
			h.Error(err)
		}
	})
	h.eventually("the executor is registered", func() bool { return h.x.IsRegistered("bench") })
}

// TestBenchThroughput measures the requests of many requesters that one exchange accepts in a
// second. The exchange stores each request on the disk before its ack.
func TestBenchThroughput(t *testing.T) {
	n := amount(t, "MESSKIT_BENCH_MQTT")
	const requesters = 64
	h := newHarness(t)
	h.useStoreOnDisk()
	h.serve()
	peers := make([]*client, requesters)
	for i := range peers {
		peers[i] = h.connect(login{id: fmt.Sprintf("me-%d", i)})
	}
	each := max(1, 10*n/requesters)
	began := time.Now()
	var wg sync.WaitGroup
	for i, p := range peers {
		wg.Go(func() {
			for k := range each {
				if !p.publish(fmt.Sprintf("%sa/me-%d/out", root, i), fmt.Sprintf(photo, fmt.Sprintf("t%d-%d", i, k))) {
					t.Error("not taken")
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	if c := h.adapter.Counts(); c.Taken != int64(each*requesters) {
		t.Errorf("%+v", c)
	}
	fmt.Printf("embedded   %d requesters: %.0f requests a second, each stored before its PUBACK\n", requesters, float64(each*requesters)/took.Seconds())
}

// TestBenchMemory measures the memory of the exchange and its broker for a thousand connected
// executors.
func TestBenchMemory(t *testing.T) {
	n := amount(t, "MESSKIT_BENCH_MQTT_EXECUTORS")
	h := newEmbeddedHarness(t)
	before := resident()
	dial := make(chan struct{}, 16)
	var wg sync.WaitGroup
	for i := range n {
		dial <- struct{}{}
		wg.Go(func() {
			defer func() { <-dial }()
			id := fmt.Sprintf("pi-%d", i)
			if err := rawExecutor(h, id); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	h.eventually("all are there", func() bool { return h.adapter.Counts().Executors == n })
	runtime.GC()
	after := resident()
	fmt.Printf("embedded   %d executors: %.0f MB more for exchange, broker and the test's own sockets; %.0f MB in all\n", n, float64(after-before)/(1<<20), float64(after)/(1<<20))
}

// resident is the memory of this process, in bytes.
func resident() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
