package mqtt_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/agent/resolver"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mqtt"
	"github.com/messkit/messkit/exchange/remote/mqttclient"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/mess"
)

// flakyLink is a proxy to a broker that breaks the connection after some bytes, anywhere in a packet.
// The seed determines the number of bytes.
type flakyLink struct {
	net.Listener
	to string

	mu     sync.Mutex
	chance *rand.Rand
	left   int // pulls; after them, connections stay
	pulls  int
}

func newCable(t *testing.T, to string, seed uint64, pulls int) *flakyLink {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &flakyLink{Listener: l, to: to, chance: rand.New(rand.NewPCG(seed, 1)), left: pulls}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := c.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { c.carry(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); c.stopPulls(); wg.Wait() })
	return c
}

// stopPulls ends the pulls.
func (c *flakyLink) stopPulls() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = 0
}

func (c *flakyLink) pulled() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pulls
}

// length is how many bytes the next connection carries; negative for all. Half of
// the connections end soon, where the session begins.
func (c *flakyLink) length() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return -1
	}
	c.left--
	if c.chance.IntN(2) == 0 {
		return c.chance.IntN(1500)
	}
	return 1500 + c.chance.IntN(12_000)
}

// carry copies both directions until a number of bytes has passed, and then breaks the
// connection without a goodbye.
func (c *flakyLink) carry(near net.Conn) {
	far, err := net.Dial("tcp", c.to)
	if err != nil {
		_ = near.Close()
		return
	}
	tear := sync.OnceFunc(func() {
		for _, conn := range []net.Conn{near, far} {
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	})
	defer tear()
	var mu sync.Mutex
	left := c.length()
	some := left >= 0
	take := func(n int) (allowed int, over bool) {
		mu.Lock()
		defer mu.Unlock()
		if !some {
			return n, false
		}
		allowed = min(n, left)
		left -= allowed
		return allowed, left == 0
	}
	var wg sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		wg.Go(func() {
			defer tear()
			buffer := make([]byte, 4096)
			for {
				n, err := way[0].Read(buffer)
				n, over := take(n)
				if _, werr := way[1].Write(buffer[:n]); errors.Join(err, werr) != nil {
					return
				}
				if over {
					c.mu.Lock()
					c.pulls++
					c.mu.Unlock()
					return
				}
			}
		})
	}
	wg.Wait()
}

// bells is the number of devices that ring, each for its own requester.
const bells = 8

// The network breaks at any moment while tasks run. Every acknowledged request ends, and no bell
// rings more often than its threads report. The bells count their rings. MESSKIT_PULLS sets the
// number of breaks.
func TestPulls(t *testing.T) {
	pulls := map[string]int{"embedded": 80, "mosquitto": 30, "the exchange's": 150, "both": 150}
	if text := os.Getenv("MESSKIT_PULLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("MESSKIT_PULLS: %q is no number of pulls", text)
		}
		for way := range pulls {
			pulls[way] = n
		}
	}
	for _, way := range []string{"embedded", "mosquitto", "the exchange's", "both"} {
		t.Run(way, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			pullCables(t, way, seed, pulls[way])
		})
	}
}

// pullCables pulls the cable of the executor, of the exchange (to a broker elsewhere), or
// both of them.
func pullCables(t *testing.T, way string, seed uint64, pulls int) {
	var h *harness
	var m *mosquitto
	if way == "embedded" {
		h = newEmbeddedHarness(t)
	} else {
		m = newMosquittoHarness(t, "allow_anonymous true\nset_tcp_nodelay true\n")
		h = m.harness
	}
	c := newCable(t, h.addr, seed, pulls)
	soon := func(time.Duration) time.Duration { return time.Millisecond }
	ofExchange, ofExecutor := h.addr, c.Addr().String()
	switch way {
	case "the exchange's":
		ofExchange, ofExecutor = ofExecutor, ofExchange
	case "both":
		ofExchange = ofExecutor
	}
	if m != nil {
		o := mqtt.NewExternal(m.opened(), mqtt.ExternalConfig{Address: broker.Address{URL: "mqtt://" + ofExchange}, Jitter: soon}, quiet)
		runUntilStopped(t, o.Run)
	}
	x, err := mqttclient.New(mqttclient.Config{
		Address: broker.Address{URL: "mqtt://" + ofExecutor}, Exchange: "home", Executor: "pi", Jitter: soon,
	}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	runUntilStopped(t, x.Run)
	rings := h.runBells("pi", x)
	done := map[string]int{} // by bell: threads that report a ring
	open := map[string]string{}
	unknown := map[string]int{}
	n := 0
	settle := func(ref, bell string) bool {
		th, err := h.x.Thread(t.Context(), exchange.Actor{ID: "look", Roles: exchange.Observer}, ref)
		if err != nil {
			t.Fatal(err)
		}
		if !th.Status.Terminal() {
			return false
		}
		switch effect := effectOf(th); {
		case th.Status == mess.Completed:
			done[bell]++
		case effect != mess.EffectNone:
			unknown[bell]++
		}
		return true
	}
	for c.pulled() < pulls {
		for len(open) < 4 {
			n++
			bell := fmt.Sprintf("bell-%d", n%bells)
			ref := h.request(fmt.Sprintf(`request: {id: "ring-%d", intent: "turn on the bell %d", requires: [{switch-on: {devices: [%s]}}]}`, n, n%bells, bell))
			open[ref] = bell
		}
		h.eventually("one of the tasks ends", func() bool {
			for ref, bell := range open {
				if settle(ref, bell) {
					delete(open, ref)
					return true
				}
			}
			return c.pulled() >= pulls
		})
	}
	c.stopPulls()
	h.eventually("every task ends", func() bool {
		for ref, bell := range open {
			if settle(ref, bell) {
				delete(open, ref)
			}
		}
		return len(open) == 0
	})
	rung, sure := 0, 0
	for bell, r := range rings {
		acts := 0
		if did := r.did(); did != "" {
			acts = len(strings.Fields(did))
		}
		rung, sure = rung+acts, sure+done[bell]
		if acts < done[bell] || acts > done[bell]+unknown[bell] {
			t.Errorf("%s rang %d times; %d threads report that it did, and %d that the outcome is unknown (seed %d)", bell, acts, done[bell], unknown[bell], seed)
		}
	}
	t.Logf("%d pulls, %d requests, %d rings, %d of them sure", c.pulled(), n, rung, sure)
	if c.pulled() < pulls || sure < n/2 {
		t.Errorf("%d of %d pulls, and %d of %d requests completed: that shows little", c.pulled(), pulls, sure, n)
	}
}

// effectOf returns the effect of an ended thread.
func effectOf(th exchange.Thread) mess.Effect {
	effect := mess.EffectUnknown
	for _, m := range th.Messages {
		for _, item := range m.Items {
			if s, ok := item.(*mess.Status); ok && s.Code.Terminal() && s.Reason != nil && s.Reason.Effect != "" {
				effect = s.Reason.Effect
			} else if ok && s.Code == mess.Declined {
				effect = mess.EffectNone
			}
		}
	}
	return effect
}

// runBells runs an executor with bells. A bell counts each ring.
func (h *harness) runBells(id string, x agent.Exchange) map[string]*plug {
	h.Helper()
	rings := map[string]*plug{}
	var things []resolver.Device
	var list []device.Device
	for i := range bells {
		name := fmt.Sprintf("bell-%d", i)
		rings[name] = &plug{}
		d := blind{rings[name]}
		things = append(things, resolver.Device{Device: capabilities.Device{Name: name, Class: "plug", Risk: capabilities.RiskComfort, Effect: capabilities.Once}, Driver: d})
		list = append(list, device.Device{Name: name, Driver: d})
	}
	j, err := journal.Open(h.TempDir())
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = j.Close() })
	cfg := agent.DefaultConfig()
	cfg.ID, cfg.Heartbeat, cfg.Jitter = id, time.Second, func(time.Duration) time.Duration { return time.Millisecond }
	a := agent.New(cfg, x, resolver.New(catalog.Default(), things), list, policy.New(settings.DefaultConfig(), time.Now, quiet), j, time.Now, quiet)
	runUntilStopped(h.T, a.Run)
	return rings
}
