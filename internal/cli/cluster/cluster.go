// Package cluster runs a cluster on one machine for trial: NATS servers, and exchanges that share
// them. Each is a process of its own, so that a person can kill one and see that the others go on.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/internal/wal"
)

// Config of a cluster.
type Config struct {
	Nodes  int    // exchanges, and as many NATS servers: 3 or 5
	Dir    string // folder for everything that the cluster stores
	Listen string // of the first exchange, host:port on loopback; the others have the next ports, or free ones with port 0

	Program string // runs messkit
	Server  string // the program nats-server; "" finds it in PATH
}

// ExchangeID is the id of the exchange that all nodes are.
const ExchangeID = "home"

// Validate returns an error for a cluster that cannot be.
func (c Config) Validate() error {
	if c.Nodes != 3 && c.Nodes != 5 {
		return fmt.Errorf("--cluster-dev: %d is no number of nodes that can lose one; write 3 or 5", c.Nodes)
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w; write it like 127.0.0.1:8420", err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("--listen: %s is no address of this machine alone, and a cluster for trial has no other; write 127.0.0.1", host)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 0 && n+c.Nodes > 1<<16 {
		return fmt.Errorf("--listen: port %s has no room for %d exchanges; write a lower one, or 0 for free ones", port, c.Nodes)
	}
	return nil
}

// errNoServer tells where nats-server comes from.
func errNoServer(err error) error {
	return output.Hint(fmt.Errorf("--cluster-dev: there is no program nats-server: %w", err),
		"install version 2.15 or later from https://nats.io/download, or with go install github.com/nats-io/nats-server/v2@v2.15.2, into a folder of PATH")
}

// Run starts the cluster, prints its addresses to out, and runs it until ctx ends. It starts a process
// again that ends before that. All processes end with this one.
func Run(ctx context.Context, c Config, out io.Writer) error {
	if err := c.Validate(); err != nil {
		return err
	}
	server, err := exec.LookPath(cmp.Or(c.Server, "nats-server"))
	if err != nil {
		return errNoServer(err)
	}
	c.Server = server
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return err
	}
	if err := durable.MkdirAll(c.Dir, 0o700); err != nil {
		return fmt.Errorf("data: %w; choose a folder with --data", err)
	}
	lock, err := wal.Lock(filepath.Join(c.Dir, "cluster.lock"))
	if errors.Is(err, wal.ErrInUse) {
		return output.Hint(err, "a cluster runs there; stop it, or give this one another folder with --data")
	}
	if err != nil {
		return err
	}
	p := output.Printer{Out: out}
	err = c.run(ctx, &p)
	return errors.Join(err, p.Err, lock.Close())
}

func (c Config) run(ctx context.Context, p *output.Printer) error {
	servers, err := c.servers()
	if err != nil {
		return err
	}
	nodes, err := c.nodes(servers)
	if err != nil {
		return err
	}
	if err := c.writeExecutor(nodes); err != nil {
		return err
	}
	running, stopServers := context.WithCancel(context.WithoutCancel(ctx)) // exchanges end before their servers
	defer stopServers()
	working, stop := context.WithCancel(ctx)
	defer stop()
	var below, above errgroup.Group
	var printing sync.Mutex
	say := func(format string, args ...any) {
		printing.Lock()
		defer printing.Unlock()
		p.Printf(format, args...)
	}
	for _, one := range slices.Concat(servers, nodes) {
		one.tell = say
	}
	for _, one := range servers {
		below.Go(func() error { defer stop(); return one.run(running) })
	}
	if awaitAll(working, servers, func(one *part) { say("%s at %s, process %d\n", one.name, one.address, one.pid()) }) {
		for _, one := range nodes {
			above.Go(func() error { defer stop(); return one.run(working) })
		}
		if awaitAll(working, nodes, func(one *part) {
			say("exchange %s, %s at %s, process %d\n", ExchangeID, one.name, one.address, one.pid())
		}) {
			say("%s", c.advice(servers, nodes))
		}
	}
	err = above.Wait()
	<-working.Done()
	stopServers()
	return errors.Join(err, below.Wait())
}

// awaitAll waits until all parts serve, and reports false if ctx ends before that.
func awaitAll(ctx context.Context, all []*part, report func(*part)) bool {
	for _, one := range all {
		select {
		case <-one.ready:
		case <-ctx.Done():
			return false
		}
		report(one)
	}
	return true
}

// advice returns what a person can try.
func (c Config) advice(servers, nodes []*part) string {
	first, last := nodes[0], nodes[len(nodes)-1]
	at := fmt.Sprintf("--url %s --key-file %s", first.address, first.keyFile())
	return fmt.Sprintf("logs in %s\n", c.Dir) +
		fmt.Sprintf("add an executor with the devices of a simulated home:\n      messkit keys issue %s executor %s --save %s\n      messkit run --config %s\n", executorID, at, c.executorKey(), c.executorFile()) +
		fmt.Sprintf("try   messkit ask \"what's in the fridge?\" --wait %s\n", at) +
		fmt.Sprintf("      messkit ls --url %s --key-file %s\n", last.address, last.keyFile()) +
		fmt.Sprintf("      kill -9 %d %d   # a server and a node: the others go on, and both start again after %v\n", servers[1].pid(), nodes[1].pid(), restartAfter)
}

// write writes a file for a process of the cluster.
func write(name, text string) error {
	if err := durable.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o600)
}
