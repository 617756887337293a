package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/internal/test/freeport"
)

// deployment is an exchange with executors that race for the same valves. Each runs in a separate
// process, which a test may kill or freeze at any moment.
type deployment struct {
	*testing.T
	*valveRequests
	binary  string
	home    string
	address string

	exchange *process
	agents   []*process
}

// newDeployment starts the exchange and its executors. The exchange uses short timeouts for lost
// executors, so that they expire during the test.
func newDeployment(t *testing.T, binary string, agents, valves, most int) *deployment {
	t.Helper()
	f := &deployment{T: t, binary: binary, home: t.TempDir(), agents: make([]*process, agents)}
	f.valveRequests = newValveRequests(t.TempDir(), valves, most)
	f.address = freeport.Address(t) // stays the same over restarts
	f.writeConfig("exchange", fmt.Sprintf("exchange: {data: %s, listen: '%s', lease: 2s, unreachable: 2s, lost_after: 5s, confirm: script}\n", f.dataDir("exchange"), f.address))
	f.startExchange()
	for n := range agents {
		id := fmt.Sprint("pi-", n)
		f.writeConfig(id, fmt.Sprintf("connect: {url: 'http://%s', key_file: %s.key}\n", f.address, f.dataDir(id))+f.agentYAML(id, f.dataDir(id))+f.devicesYAML())
		f.startAgent(n)
	}
	return f
}

// dataDir returns the data folder of a process.
func (f *deployment) dataDir(of string) string { return filepath.Join(f.home, of) }

func (f *deployment) writeConfig(of, config string) {
	f.Helper()
	if err := os.WriteFile(f.dataDir(of)+".yaml", []byte(config), 0o600); err != nil {
		f.Fatal(err)
	}
}

func (f *deployment) startExchange() {
	f.Helper()
	f.exchange = f.startProcess("exchange", "exchange")
	key, err := operatorKey(f.dataDir("exchange"))
	if err != nil {
		f.Fatal(err)
	}
	f.valveRequests.client.Store(newAPIClient(f.exchange.url, key, ""))
}

func (f *deployment) startAgent(n int) { f.agents[n] = f.startProcess(fmt.Sprint("pi-", n), "run") }

func (f *deployment) startProcess(of, command string) *process {
	f.Helper()
	p, err := start(f.dataDir(of), f.binary, command, "--config", f.dataDir(of)+".yaml")
	if err != nil || p.url == "" {
		f.Fatalf("%s does not start: %v\n%s", of, err, &p.stderr)
	}
	return p
}

// runWithFaults sends requests until their number is reached, or until harm has run that many times. Then
// it waits for the terminal statuses.
func (f *deployment) runWithFaults(injectFault func(), times int) {
	f.Helper()
	ctx, stop := context.WithCancel(f.Context())
	defer stop()
	var g errgroup.Group
	ended := make(chan struct{})
	g.Go(func() error {
		defer close(ended)
		return f.sendAll(ctx)
	})
	for n := 0; n < times; n++ {
		select {
		case <-ended:
			times = 0
		case <-time.After(time.Duration(50+rand.IntN(400)) * time.Millisecond):
			injectFault()
		}
	}
	stop()
	if err := g.Wait(); err != nil {
		f.Fatal(err)
	}
}

// killAgent kills an executor and starts it again. Sometimes it selects the executor that has
// just switched a valve.
func (f *deployment) killAgent() {
	f.Helper()
	n := rand.IntN(len(f.agents))
	if rand.IntN(2) == 0 {
		by := f.waitForAct(time.Second)
		n = max(0, slices.IndexFunc(f.agents, func(p *process) bool { return p.cmd.Process.Pid == by }))
	}
	if err := f.agents[n].kill(); err != nil {
		f.Fatal(err)
	}
	f.startAgent(n)
}

// killExchange kills the exchange and starts it again. A client may have received a response just
// before the kill.
func (f *deployment) killExchange() {
	f.Helper()
	if err := f.exchange.kill(); err != nil {
		f.Fatal(err)
	}
	f.valveRequests.client.Store(nil)
	f.startExchange()
}

// freezeAgent freezes an executor, sometimes for longer than the lease of its claims.
func (f *deployment) freezeAgent() {
	f.Helper()
	p := f.agents[rand.IntN(len(f.agents))]
	long := time.Duration(rand.IntN(500)) * time.Millisecond
	if rand.IntN(4) == 0 {
		long += 2500 * time.Millisecond
	}
	f.freeze(p, long)
}

// freeze stops a process where it is, for a time.
func (f *deployment) freeze(p *process, long time.Duration) {
	f.Helper()
	err := p.cmd.Process.Signal(syscall.SIGSTOP)
	<-time.After(long)
	if err := errors.Join(err, p.cmd.Process.Signal(syscall.SIGCONT)); err != nil {
		f.Fatal(err)
	}
}

// judgeAll shuts all processes down and judges the requests.
func (f *deployment) judgeAll() *verdict {
	f.Helper()
	v := f.judge(f.dataDir("exchange"))
	for n, p := range f.agents {
		if err := p.stop(); err != nil {
			f.Errorf("pi-%d at its end: %v\n%s", n, err, &p.stderr)
		}
		v.checkJournal(f.binary, f.dataDir(fmt.Sprint("pi-", n)))
	}
	if err := f.exchange.stop(); err != nil {
		f.Errorf("the exchange at its end: %v\n%s", err, &f.exchange.stderr)
	}
	v.report(f.T)
	return v
}
