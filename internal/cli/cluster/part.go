package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/messkit/messkit/internal/process/child"
	"github.com/messkit/messkit/internal/wait"
)

const (
	restartAfter = 10 * time.Second // after a process has ended
	readyWithin  = time.Minute      // of the first start
	endWithin    = 10 * time.Second // of SIGTERM, before SIGKILL
	lookEvery    = 50 * time.Millisecond
)

// part is a process of the cluster: a NATS server or an exchange.
type part struct {
	name    string // "node 1"
	dir     string
	program string // its name in a list of processes
	command []string
	address string // for clients
	monitor string // of a server
	isReady func(ctx context.Context) bool
	tell    func(format string, args ...any) // prints for the person; nil for nobody

	ready chan struct{} // closed after the first start

	mu      sync.Mutex
	process *os.Process
	out     bytes.Buffer // beginning of the standard output
}

// maxOut limits the kept output, in bytes.
const maxOut = 64 << 10

func newPart(name, dir, program string, command ...string) *part {
	return &part{name: name, dir: dir, program: program, command: command, ready: make(chan struct{})}
}

// Write keeps the standard output of the process.
func (p *part) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.Write(b[:min(len(b), max(0, maxOut-p.out.Len()))])
	return len(b), nil
}

func (p *part) printed() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.out.Bytes())
}

func (p *part) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil {
		return 0
	}
	return p.process.Pid
}

// logFile has the standard error of the process.
func (p *part) logFile() string { return p.dir + ".log" }

// run runs the process until ctx ends, and starts it again if it ends before that. It returns an error
// if the process does not serve after its first start.
func (p *part) run(ctx context.Context) error {
	for first := true; ; first = false {
		ended, err := p.start()
		if err == nil && first {
			err = p.watchStart(ctx, ended)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if !first {
			p.tell("%s has started again, process %d\n", p.name, p.pid())
		}
		select {
		case <-ctx.Done():
			p.end(ended)
			return nil
		case <-ended: // a person may have killed it, to see what happens
		}
		p.tell("%s has ended; it starts again in %v\n", p.name, restartAfter)
		if !wait.For(ctx, restartAfter) {
			return nil
		}
	}
}

// start starts the process, and appends its standard error to its log.
func (p *part) start() (ended <-chan error, err error) {
	log, err := os.OpenFile(p.logFile(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	c := exec.Command(p.command[0], p.command[1:]...)
	c.Args[0] = p.program // the path may be /proc/self/exe
	c.Dir, c.Stdout, c.Stderr = filepath.Dir(p.dir), p, log
	ended, err = child.Start(c)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.process = c.Process
	return ended, nil
}

// watchStart waits until the process serves. If it ends, or does not serve in time, the error has the
// end of its log.
func (p *part) watchStart(ctx context.Context, ended <-chan error) error {
	limit := time.Now().Add(readyWithin)
	for !p.isReady(ctx) {
		select {
		case <-ctx.Done():
			return nil // run ends the process
		case err := <-ended:
			return fmt.Errorf("it ended before it served (%v); its log says: %s", err, p.reason())
		case <-time.After(lookEvery):
		}
		if time.Now().After(limit) {
			p.end(ended)
			return fmt.Errorf("it does not serve within %v; %s says why", readyWithin, p.logFile())
		}
	}
	close(p.ready)
	return nil
}

// reason returns the end of the log: from the last error of messkit on, which has a hint after it, or else
// the last line.
func (p *part) reason() string {
	text, err := os.ReadFile(p.logFile())
	if err != nil {
		return err.Error()
	}
	log := strings.TrimSpace(string(text))
	if i := strings.LastIndex(log, "messkit: error: "); i >= 0 {
		return log[i:]
	}
	return log[strings.LastIndexByte(log, '\n')+1:]
}

// end ends the process.
func (p *part) end(ended <-chan error) {
	p.mu.Lock()
	process := p.process
	p.mu.Unlock()
	_ = process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-ended:
	case <-time.After(endWithin):
		_ = process.Kill()
		<-ended
	}
}
