package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/internal/test/freeport"
	"github.com/messkit/messkit/internal/test/link"
)

// rig is an exchange with devices and two executors: one reaches it over HTTP, the other over
// MQTT and a separate broker. A test can kill, freeze or restart any process, and delay or cut
// any link, also in one direction.
type rig struct {
	*deployment
	dimmings *dimRequests
	broker   *exec.Cmd
	port     string
	ways     []*link.Link // links between the programs
	faults   atomic.Int64
}

// rigValves and rigLamps are the numbers of devices. A valve has the effect once and a wire to
// the executor; a lamp is idempotent and in the network.
const rigValves, rigLamps = 6, 6

func newRig(t *testing.T, requests int) *rig {
	t.Helper()
	name, err := exec.LookPath("mosquitto")
	if err != nil {
		if name, err = exec.LookPath("/usr/sbin/mosquitto"); err != nil {
			t.Skip("mosquitto is missing; apt-get install mosquitto")
		}
	}
	r := &rig{deployment: &deployment{T: t, binary: buildMesskit(t), home: t.TempDir(), agents: make([]*process, 2)}}
	r.valveRequests = newValveRequests(t.TempDir(), rigValves, requests/2)
	r.rest = 4 * time.Second // about one fault for every three requests
	r.dimmings = newDimRequests(t, r.valveRequests, requests-requests/2)
	broker := freeport.Address(t)
	_, r.port, _ = net.SplitHostPort(broker)
	text := fmt.Sprintf("listener %s 127.0.0.1\nallow_anonymous true\nlog_dest none\nuser root\nmax_queued_messages 0\nset_tcp_nodelay true\npersistence true\npersistence_location %s/\n", r.port, r.home)
	if err := os.WriteFile(r.dataDir("mosquitto.conf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.startBroker(name)
	t.Cleanup(func() { r.endBroker(syscall.SIGKILL) })

	r.address = freeport.Address(t)
	byHTTP, byMQTT, ofExchange := link.New(t, r.address), link.New(t, broker), link.New(t, broker)
	r.ways = []*link.Link{byHTTP, byMQTT, ofExchange}
	r.writeConfig("exchange", fmt.Sprintf("exchange: {data: %s, listen: '%s', lease: 2s, unreachable: 2s, lost_after: 5s, confirm: script, mqtt: {url: 'mqtt://%s'}}\n", r.dataDir("exchange"), r.address, ofExchange.Address()))
	r.startExchange()
	for n, connect := range []string{
		fmt.Sprintf("connect: {url: 'http://%s', key_file: %s.key}\n", byHTTP.Address(), r.dataDir("pi-0")),
		fmt.Sprintf("connect: {url: 'mqtt://%s', exchange: home}\n", byMQTT.Address()),
	} {
		id := fmt.Sprint("pi-", n)
		devices := r.devicesYAML()
		for i, lamp := range r.dimmings.lamps {
			devices += lampConfig(i, lamp.links[n])
		}
		r.writeConfig(id, connect+r.agentYAML(id, r.dataDir(id))+devices)
		r.startAgent(n)
	}
	return r
}

func (r *rig) startBroker(name string) {
	r.Helper()
	r.broker = exec.Command(name, "-c", r.dataDir("mosquitto.conf"))
	r.broker.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.broker.Start(); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) endBroker(how syscall.Signal) {
	_ = r.broker.Process.Signal(how)
	_ = r.broker.Wait()
}

// randomPause waits for a random time up to most.
func randomPause(most time.Duration) { <-time.After(rand.N(most)) }

// injectFault causes one random fault and ends it.
func (r *rig) injectFault() {
	r.faults.Add(1)
	switch k := rand.IntN(20); {
	case k < 5:
		r.killAgent()
	case k < 6:
		r.killExchange()
	case k < 8:
		r.freezeAgent()
	case k < 9:
		r.freeze(r.exchange, rand.N(3*time.Second))
	case k < 11:
		name := r.broker.Path
		r.endBroker([]syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}[rand.IntN(2)])
		randomPause(500 * time.Millisecond)
		r.startBroker(name)
	case k < 15:
		r.disturbLink(r.ways[rand.IntN(len(r.ways))])
	default:
		lamp := r.dimmings.lamps[rand.IntN(rigLamps)]
		r.disturbLink(lamp.links[rand.IntN(len(lamp.links))])
	}
}

// disturbLink disturbs a link for some time, mostly shorter than the timeouts, sometimes longer.
func (r *rig) disturbLink(l *link.Link) {
	switch rand.IntN(4) {
	case 0:
		l.Hold(link.Forth)
	case 1:
		l.Hold(link.Back)
	case 2:
		l.Hold(link.Forth, link.Back)
	default:
		l.Sever()
	}
	randomPause(1500 * time.Millisecond)
	if rand.IntN(4) == 0 {
		randomPause(3 * time.Second)
	}
	l.Heal()
}

// runWithFaults sends requests during faults, at most one of each kind at a time. Then it waits
// until all requests are terminal.
func (r *rig) runWithFaults(faults int) {
	r.Helper()
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	ended := make(chan struct{})
	var g errgroup.Group
	g.Go(func() error {
		defer close(ended)
		var both errgroup.Group
		both.Go(func() error { return r.sendAll(ctx) })
		both.Go(func() error { return r.dimmings.sendAll(ctx) })
		return both.Wait()
	})
	var links sync.WaitGroup
	links.Go(func() { // faults of links run concurrently with faults of processes
		for r.faults.Load() < int64(faults) && ctx.Err() == nil {
			l := r.ways[rand.IntN(len(r.ways))]
			if lamp := r.dimmings.lamps[rand.IntN(rigLamps)]; rand.IntN(3) > 0 {
				l = lamp.links[rand.IntN(len(lamp.links))]
			}
			r.faults.Add(1)
			r.disturbLink(l)
			select {
			case <-ended:
				return
			default:
			}
		}
	})
	for r.faults.Load() < int64(faults) {
		select {
		case <-ended:
			stop()
			links.Wait()
			_ = g.Wait()
			return
		case <-time.After(time.Duration(50+rand.IntN(200)) * time.Millisecond):
			r.injectFault()
		}
	}
	links.Wait()
	for _, l := range r.ways {
		l.Heal()
	}
	stop()
	if err := g.Wait(); err != nil {
		r.Fatal(err)
	}
}

// Requests continue while processes die, freeze and restart, and while links stall, lose a
// direction and break. No request is lost, the threads announce possible duplicates and late
// acts, and every answer agrees with the devices' own logs. MESSKIT_RIG is the number of
// requests.
func TestRig(t *testing.T) {
	if testing.Short() {
		t.Skip("starts, kills and cuts off processes for most of a minute")
	}
	n := countFromEnv(t, "MESSKIT_RIG", 120)
	r, begin := newRig(t, n), time.Now()
	r.runWithFaults(max(30, n*2/5))
	took := time.Since(begin)
	r.dimmings.settle()
	r.logOpenThreads()
	v := r.judge(r.dataDir("exchange"))
	r.dimmings.judge(v)
	for i, p := range r.agents {
		if err := p.stop(); err != nil && !strings.Contains(err.Error(), "exit status 1") { // a lamp without an answer at the end is an error
			t.Errorf("pi-%d at its end: %v\n%s", i, err, &p.stderr)
		}
		v.checkJournal(r.binary, r.dataDir(fmt.Sprint("pi-", i)))
	}
	if err := r.exchange.stop(); err != nil {
		t.Errorf("the exchange at its end: %v\n%s", err, &r.exchange.stderr)
	}
	if os.Getenv("MESSKIT_RIG_KEEP") != "" || t.Failed() || len(v.problems) > 0 {
		r.writeLogs()
	}
	v.report(t)
	t.Logf("%d faults in %v: %s; late %d", r.faults.Load(), took.Round(time.Second), v, v.late)
}

// logOpenThreads logs the threads of valves without a terminal status.
func (r *rig) logOpenThreads() {
	for _, one := range r.valveRequests.list {
		var raw json.RawMessage
		if one.ref != "" && one.status == "" && r.call(http.MethodGet, "/requests/"+one.ref, "", &raw) == http.StatusOK {
			r.Logf("%s is open: %s", one.ref, raw)
		}
	}
}

// writeLogs writes the programs' logs into the folder MESSKIT_RIG_KEEP.
func (r *rig) writeLogs() {
	dir := os.Getenv("MESSKIT_RIG_KEEP")
	if dir == "" {
		return
	}
	_ = os.MkdirAll(dir, 0o700)
	for name, p := range map[string]*process{"exchange": r.exchange, "pi-0": r.agents[0], "pi-1": r.agents[1]} {
		_ = os.WriteFile(filepath.Join(dir, name+".log"), []byte(p.stderr.String()), 0o600)
	}
	for _, one := range r.dimmings.list {
		_ = os.WriteFile(filepath.Join(dir, one.id+".json"), []byte(one.text), 0o600)
	}
}
