// Package natsserver runs nats-server processes with JetStream, for tests of the store on it. Only
// tests import it.
package natsserver

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/test/freeport"
)

// startTimeout is the time limit for the start. The machine may be busy.
const startTimeout = time.Minute

// Server is a nats-server process with a folder of its own.
type Server struct {
	t       testing.TB
	program string
	dir     string // of the configuration
	store   string // folder of JetStream
	sync    string // settings of JetStream
	conf    string // configuration without JetStream
	http    string // host:port of its monitoring
	addr    string // host:port for clients
	process *exec.Cmd
	out     *bytes.Buffer
}

// Options of a Server.
type Options struct {
	Sync   string // value of sync_interval; "" for the default of the server
	Domain string // of JetStream; "" for none
	More   string // further configuration

	// Store returns the folder of JetStream of a server, from 0 on; nil for a new one.
	Store func(server int) string

	// Route returns the address at which a server of a cluster, from 0 on, reaches the one that listens
	// at an address for other servers; nil for the address itself.
	Route func(from, to int, address string) string
}

// Start starts a server on free ports of this machine. It runs until the test ends. Start skips the
// test if nats-server is not installed.
func Start(t testing.TB, o Options) *Server { return cluster(t, 1, o)[0] }

// StartCluster starts a cluster of servers.
func StartCluster(t testing.TB, servers int, o Options) []*Server { return cluster(t, servers, o) }

func cluster(t testing.TB, servers int, o Options) []*Server {
	t.Helper()
	program := Program(t)
	var routes []string
	for range servers {
		routes = append(routes, freeport.Address(t))
	}
	var all []*Server
	for i, route := range routes {
		s := &Server{t: t, program: program, dir: t.TempDir(), http: freeport.Address(t), addr: freeport.Address(t), out: &bytes.Buffer{}}
		s.store = s.dir
		if o.Store != nil {
			s.store = o.Store(i)
		}
		s.conf = fmt.Sprintf("server_name: n%d\nlisten: %q\nhttp: %q\n%s\n", i+1, s.addr, s.http, o.More)
		if o.Sync != "" {
			s.sync = ", sync_interval: " + o.Sync
		}
		if o.Domain != "" {
			s.sync += ", domain: " + o.Domain
		}
		if servers > 1 {
			s.conf += fmt.Sprintf("cluster: {name: test, listen: %q, no_advertise: true%s, routes: [%s]}\n", route, o.advertise(), o.routes(i, routes))
		}
		s.start()
		t.Cleanup(s.end)
		all = append(all, s)
	}
	for _, s := range all {
		s.Await()
	}
	return all
}

// advertise returns a setting by which servers tell each other no address that leads around the routes of
// a test.
func (o Options) advertise() string {
	if o.Route == nil {
		return ""
	}
	return `, advertise: "127.0.0.1:1"` // nobody listens there
}

// routes returns the addresses of the others for a server of a cluster.
func (o Options) routes(from int, all []string) string {
	var quoted []string
	for to, address := range all {
		if o.Route != nil {
			address = o.Route(from, to, address)
		}
		if to != from {
			quoted = append(quoted, fmt.Sprintf("%q", "nats://"+address))
		}
	}
	return strings.Join(quoted, ", ")
}

// URL returns the address for clients.
func (s *Server) URL() string { return "nats://" + s.addr }

// Address returns the address for clients, host:port.
func (s *Server) Address() string { return s.addr }

// Monitor returns the address of the monitoring.
func (s *Server) Monitor() string { return "http://" + s.http }

// Kill kills the process (SIGKILL).
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.process.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	_ = s.process.Wait() // it was killed
}

// Freeze stops the process where it is, with its connections open (SIGSTOP).
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw lets the process go on (SIGCONT).
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(what os.Signal) {
	s.t.Helper()
	if err := s.process.Process.Signal(what); err != nil {
		s.t.Fatal(err)
	}
}

// Restart starts the process again after Kill, and waits until it serves.
func (s *Server) Restart() {
	s.t.Helper()
	s.RestartWith(s.store)
	s.Await()
}

// RestartWith starts the process again after Kill with another folder of JetStream. It does not wait,
// because a server of a cluster serves only when most of them run.
func (s *Server) RestartWith(store string) {
	s.t.Helper()
	s.store = store
	s.start()
}

func (s *Server) start() {
	s.t.Helper()
	file := filepath.Join(s.dir, "nats.conf")
	conf := s.conf + fmt.Sprintf("jetstream: {store_dir: %q%s}\n", s.store, s.sync)
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.process = exec.Command(s.program, "-c", file)
	s.process.Dir, s.process.Stdout, s.process.Stderr = s.dir, s.out, s.out
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) end() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait() // killed above
	if s.t.Failed() {
		s.t.Logf("nats-server said:\n%s", s.out)
	}
}

// Await waits until the server serves.
func (s *Server) Await() {
	s.t.Helper()
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		answer, err := http.Get(s.Monitor() + "/healthz")
		if err != nil {
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return
		}
	}
	s.t.Fatal("nats-server does not serve")
}

// Program returns the program nats-server. It skips the test if the program is not there.
func Program(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a real server takes seconds")
	}
	program := find()
	if program == "" {
		t.Skip("SKIP: nats-server is not there (make bin/nats-server)")
	}
	return program
}

// find returns the program in bin of this repository, or the installed one, or "". Tests run in the
// folder of their package.
func find() string {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if built := filepath.Join(dir, "bin", "nats-server"); isFile(built) && isFile(filepath.Join(dir, "go.mod")) {
			return built
		}
		dir = filepath.Dir(dir)
	}
	installed, _ := exec.LookPath("nats-server") // "" where it is not
	return installed
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
