package agent_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// bus is the duration of a change of a simulated device, as on I2C or a serial line.
const bus = 2 * time.Millisecond

// settle is how long outputs must stay safe to count as safe.
const settle = 50 * time.Millisecond

// output is a simulated device that records since when it is safe.
type output struct {
	fakeDevice
	wire   sync.Mutex // one change at a time
	mu     sync.Mutex
	on     bool
	safeAt time.Time
}

func (o *output) set(on bool) {
	o.wire.Lock()
	defer o.wire.Unlock()
	time.Sleep(bus) // real time
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.on != on {
		o.on, o.safeAt = on, time.Now()
	}
}

// state returns whether it is on, and since when.
func (o *output) state() (bool, time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.on, o.safeAt
}

func (o *output) Halt() error { o.set(false); return nil }

func (o *output) Safe(context.Context) (bool, error) { on, _ := o.state(); return !on, nil }

// relay switches all the time.
type relay struct{ output }

func (r *relay) Switch(_ context.Context, on bool) error { r.set(on); return nil }

// motor runs until a stop.
type motor struct{ output }

func (m *motor) Clean(ctx context.Context, _ []string, _ func(drivers.Progress)) (drivers.Outcome, error) {
	m.set(true)
	<-ctx.Done()
	m.set(false)
	return drivers.Outcome{}, ctx.Err()
}

func (m *motor) Dock(context.Context) error { m.set(false); return nil }

// loadFixture is an executor under full load with its exchange over HTTP.
type loadFixture struct {
	*testing.T
	x            *exchange.Exchange
	safetyPolicy *policy.Policy
	stop         *stop.Latch
	dir          string
	relays       []*relay
	motors       []*motor
	intents      []string
}

// Amount of load.
const (
	relays  = 24
	motors  = 8
	workers = 16 // clients that repeat requests at once after each answer
)

func newLoadFixture(t *testing.T) *loadFixture {
	w := &loadFixture{T: t, dir: filepath.Join(t.TempDir(), "stop")}
	said, devices, cfg := sentences{}, []device.Device{}, settings.DefaultConfig()
	cfg.Devices = map[string]settings.Limits{}
	add := func(name string, d drivers.Device, plan capabilities.Plan) {
		cfg.Devices[name] = settings.Limits{Confirm: settings.ConfirmNever}
		devices = append(devices, device.Device{Name: name, Driver: d})
		plan.Device, plan.Risk, plan.Effect, plan.Summary = name, capabilities.RiskAppliance, capabilities.Idempotent, name
		said["use "+name] = capabilities.Outcome{Plan: &plan}
	}
	for i := range relays {
		r, name := &relay{}, fmt.Sprintf("relay-%d", i)
		w.relays, w.intents = append(w.relays, r), append(w.intents, "use "+name)
		add(name, r, capabilities.Plan{Capability: "switch", Command: capabilities.SetSwitch, Args: mess.Object{{Key: "on", Value: true}}})
	}
	for i := range motors {
		m := &motor{}
		w.motors = append(w.motors, m)
		add(fmt.Sprintf("motor-%d", i), m, capabilities.Plan{Capability: "vacuum-floor", Command: capabilities.Clean})
	}
	w.run(said, devices, cfg)
	return w
}

// run starts the exchange, its HTTP API, and the executor.
func (w *loadFixture) run(phrases sentences, devices []device.Device, cfg settings.Config) {
	must := func(err error) {
		if err != nil {
			w.Fatal(err)
		}
	}
	xcfg := exchange.DefaultConfig()
	x, err := exchange.Open(w.Context(), xcfg, memory.New(), time.Now, quiet())
	must(err)
	w.x = x
	k, err := keys.Open(w.TempDir(), xcfg.ID)
	must(err)
	key, err := k.Issue("works", exchange.Requester|exchange.ExecutorRole)
	must(err)
	server := httptest.NewServer(httpapi.New(x, k, httpapi.Config{Version: "1"}, quiet()).Handler())
	client, err := httpclient.New(httpclient.Config{URL: server.URL, Key: httpclient.Secret(key)}, quiet())
	must(err)
	j, err := journal.Open(w.TempDir())
	must(err)
	w.safetyPolicy = policy.New(cfg, time.Now, quiet())
	w.stop = stop.Open(stop.Config{Dir: w.dir, Devices: func() []stop.Device { return nil }}, w.safetyPolicy, time.Now, quiet())
	acfg := agent.DefaultConfig()
	acfg.ID, acfg.Fit, acfg.Stop = "works", nil, w.stop
	a := agent.New(acfg, client, phrases, devices, w.safetyPolicy, j, time.Now, quiet())
	ends := []func(){runUntilStopped(w.T, x.Run), runUntilStopped(w.T, w.stop.Run), runUntilStopped(w.T, a.Run)}
	w.Cleanup(func() {
		ends[2]()
		ends[1]()
		server.CloseClientConnections()
		server.Close()
		ends[0]()
		must(j.Close())
	})
	w.waitFor("the executor", func() bool {
		list := x.Executors()
		return len(list) == 1 && list[0].Live && len(list[0].Capabilities) > 0
	})
}

func (w *loadFixture) waitFor(what string, is func() bool) {
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("%s: not within a minute", what)
		}
	}
}

// request posts a request; its ref is "" after a rejection.
func (w *loadFixture) request(intent string) string {
	m := mess.Message{Items: []mess.Item{&mess.Request{Intent: intent}}}
	answer, err := w.x.Post(w.Context(), exchange.Inbound{Actor: requester, Channel: "test", Message: m})
	if err != nil {
		return ""
	}
	return answer.Items[0].(*mess.Ack).Ref
}

// load posts requests for relays until the test calls the returned function.
func (w *loadFixture) load() (end func()) {
	ctx, cancel := context.WithCancel(w.Context())
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				ref := w.request(w.intents[rand.N(len(w.intents))])
				for ctx.Err() == nil && !w.hasEnded(ref) {
					time.Sleep(time.Millisecond) // real time
				}
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

func (w *loadFixture) hasEnded(ref string) bool {
	t, err := w.x.Thread(w.Context(), person, ref)
	return err != nil || t.Status.Terminal() || t.Status == mess.Declined
}

// startMotors starts every motor and returns the threads.
func (w *loadFixture) startMotors() []string {
	var refs []string
	for i := range w.motors {
		refs = append(refs, w.request(fmt.Sprintf("use motor-%d", i)))
	}
	defer func() {
		for _, ref := range refs {
			if t, err := w.x.Thread(w.Context(), person, ref); w.Failed() {
				w.Logf("%s: %s, %v", ref, t.Status, err)
			}
		}
	}()
	w.waitFor("the motors", func() bool {
		return !slices.ContainsFunc(w.motors, func(m *motor) bool { on, _ := m.state(); return !on })
	})
	return refs
}

// outputs returns all devices.
func (w *loadFixture) outputs() []*output {
	var all []*output
	for _, r := range w.relays {
		all = append(all, &r.output)
	}
	for _, m := range w.motors {
		all = append(all, &m.output)
	}
	return all
}

// timeUntilSafe returns how long after a moment the last of some outputs was safe.
func (w *loadFixture) timeUntilSafe(t time.Time, some []*output) time.Duration {
	safe := time.Time{} // since when all are safe; a driver that ignores its context may switch one on once more
	w.waitFor("safe outputs", func() bool {
		if slices.ContainsFunc(some, func(o *output) bool { on, _ := o.state(); return on }) {
			safe = time.Time{}
		} else if safe.IsZero() {
			safe = time.Now()
		}
		return !safe.IsZero() && time.Since(safe) > settle
	})
	var last time.Duration
	for _, o := range some {
		_, at := o.state()
		last = max(last, at.Sub(t))
	}
	return last
}

// measureRound measures one stop or cancel under load.
func (w *loadFixture) measureRound(entrance string) time.Duration {
	refs, end := w.startMotors(), w.load()
	defer end()
	time.Sleep(20*time.Millisecond + rand.N(20*time.Millisecond)) // real time: at some random moment
	began, measured := time.Now(), w.outputs()
	var err error
	switch entrance {
	case "the executor":
		w.stop.Stop(stop.Order{Reason: entrance})
	case "a file":
		err = stop.WriteOrder(w.dir, stop.Order{ID: fmt.Sprint(rand.Uint64()), Reason: entrance})
	case "the exchange":
		_, err = w.x.Stop(w.Context(), requester, mess.Stop{Reason: entrance})
	case "cancel":
		measured = nil
		for _, m := range w.motors {
			measured = append(measured, &m.output)
		}
		for _, ref := range refs {
			m := mess.Message{Items: []mess.Item{&mess.Cancel{Re: mess.Refs{ref}}}}
			if _, err := w.x.Post(w.Context(), exchange.Inbound{Actor: requester, Channel: "test", Message: m}); err != nil {
				w.Error(err)
			}
		}
	}
	if err != nil {
		w.Error(err)
	}
	took := w.timeUntilSafe(began, measured)
	if entrance == "cancel" {
		return took
	}
	end()
	w.waitFor("the latch", func() bool { return len(stop.ReadOrders(w.dir)) > 0 })
	for _, o := range w.outputs() {
		if on, _ := o.state(); on {
			w.Errorf("%s: an output is on after the stop", entrance)
		}
	}
	if _, err := stop.Reset(w.dir, "the test", time.Now()); err != nil {
		w.Error(err)
	}
	w.waitFor("the clear", func() bool { return w.safetyPolicy.Stopped() == "" })
	return took
}

// TestStopLatency measures the time from a stop or a cancel until every output is safe, under
// full load. MESSKIT_STOPS sets the number of each (make stop). It fails for an unsafe output,
// and not for a slow machine.
func TestStopLatency(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("MESSKIT_STOPS"))
	if err != nil || rounds < 1 {
		t.Skip("make stop measures it")
	}
	w := newLoadFixture(t)
	fmt.Printf("%d relays and %d motors (%v a change), %d requesters, executor over HTTP, %d CPUs\n", relays, motors, bus, workers, runtime.NumCPU())
	fmt.Printf("until the last output is safe:\n%-14s %6s %8s %8s %8s\n", "by", "rounds", "p50", "p99", "max")
	for _, entrance := range []string{"the executor", "a file", "the exchange", "cancel"} {
		var took []time.Duration
		for range rounds {
			took = append(took, w.measureRound(entrance))
		}
		slices.Sort(took)
		at := func(part float64) time.Duration {
			return took[int(part*float64(len(took)-1))].Round(100 * time.Microsecond)
		}
		fmt.Printf("%-14s %6d %8v %8v %8v\n", entrance, rounds, at(0.5), at(0.99), at(1))
	}
}
