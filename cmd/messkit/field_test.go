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

	"github.com/messkit/messkit/internal/freeport"
)

// field is an exchange with executors that race for the same valves. Each runs in a separate
// process, which a test may kill or freeze at any moment.
type field struct {
	*testing.T
	*errands
	binary  string
	home    string
	address string

	exchange *process
	agents   []*process
}

// newField starts the exchange and its executors. The exchange uses short timeouts for lost
// executors, so that they expire during the test.
func newField(t *testing.T, binary string, agents, valves, most int) *field {
	t.Helper()
	f := &field{T: t, binary: binary, home: t.TempDir(), agents: make([]*process, agents)}
	f.errands = newErrands(t.TempDir(), valves, most)
	f.address = freeport.Address(t) // stays the same over restarts
	f.write("exchange", fmt.Sprintf("exchange: {data: %s, listen: '%s', lease: 2s, unreachable: 2s, lost_after: 5s, confirm: script}\n", f.data("exchange"), f.address))
	f.startExchange()
	for n := range agents {
		id := fmt.Sprint("pi-", n)
		f.write(id, fmt.Sprintf("connect: {url: 'http://%s', key_file: %s.key}\n", f.address, f.data(id))+f.agent(id, f.data(id))+f.devices())
		f.startAgent(n)
	}
	return f
}

// data returns the data folder of a process.
func (f *field) data(of string) string { return filepath.Join(f.home, of) }

func (f *field) write(of, config string) {
	f.Helper()
	if err := os.WriteFile(f.data(of)+".yaml", []byte(config), 0o600); err != nil {
		f.Fatal(err)
	}
}

func (f *field) startExchange() {
	f.Helper()
	f.exchange = f.starts("exchange", "exchange")
	key, err := operatorKey(f.data("exchange"))
	if err != nil {
		f.Fatal(err)
	}
	f.errands.door.Store(newDoor(f.exchange.url, key, ""))
}

func (f *field) startAgent(n int) { f.agents[n] = f.starts(fmt.Sprint("pi-", n), "run") }

func (f *field) starts(of, command string) *process {
	f.Helper()
	p, err := start(f.data(of), f.binary, command, "--config", f.data(of)+".yaml")
	if err != nil || p.url == "" {
		f.Fatalf("%s does not start: %v\n%s", of, err, &p.stderr)
	}
	return p
}

// goOn sends requests until their number is reached, or until harm has run that many times. Then
// it waits for the terminal statuses.
func (f *field) goOn(harm func(), times int) {
	f.Helper()
	ctx, stop := context.WithCancel(f.Context())
	defer stop()
	var g errgroup.Group
	ended := make(chan struct{})
	g.Go(func() error {
		defer close(ended)
		return f.ask(ctx)
	})
	for n := 0; n < times; n++ {
		select {
		case <-ended:
			times = 0
		case <-time.After(time.Duration(50+rand.IntN(400)) * time.Millisecond):
			harm()
		}
	}
	stop()
	if err := g.Wait(); err != nil {
		f.Fatal(err)
	}
}

// killAgent kills an executor and starts it again. Sometimes it selects the executor that has
// just switched a valve.
func (f *field) killAgent() {
	f.Helper()
	n := rand.IntN(len(f.agents))
	if rand.IntN(2) == 0 {
		by := f.act(time.Second)
		n = max(0, slices.IndexFunc(f.agents, func(p *process) bool { return p.cmd.Process.Pid == by }))
	}
	if err := f.agents[n].kill(); err != nil {
		f.Fatal(err)
	}
	f.startAgent(n)
}

// killExchange kills the exchange and starts it again. A client may have received a response just
// before the kill.
func (f *field) killExchange() {
	f.Helper()
	if err := f.exchange.kill(); err != nil {
		f.Fatal(err)
	}
	f.errands.door.Store(nil)
	f.startExchange()
}

// freeze freezes an executor, sometimes for longer than the lease of its claims.
func (f *field) freeze() {
	f.Helper()
	p := f.agents[rand.IntN(len(f.agents))].cmd.Process
	long := time.Duration(rand.IntN(500)) * time.Millisecond
	if rand.IntN(4) == 0 {
		long += 2500 * time.Millisecond
	}
	err := p.Signal(syscall.SIGSTOP)
	<-time.After(long)
	if err := errors.Join(err, p.Signal(syscall.SIGCONT)); err != nil {
		f.Fatal(err)
	}
}

// verdict shuts all processes down and judges the requests.
func (f *field) verdict() *judgement {
	f.Helper()
	v := f.judge(f.data("exchange"))
	for n, p := range f.agents {
		if err := p.stop(); err != nil {
			f.Errorf("pi-%d at its end: %v\n%s", n, err, &p.stderr)
		}
		v.journal(f.binary, f.data(fmt.Sprint("pi-", n)))
	}
	if err := f.exchange.stop(); err != nil {
		f.Errorf("the exchange at its end: %v\n%s", err, &f.exchange.stderr)
	}
	v.tell(f.T)
	return v
}
