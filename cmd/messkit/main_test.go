package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/messkit/messkit/internal/test/chromium"
	"github.com/messkit/messkit/internal/test/freeport"
)

func TestMain(m *testing.M) {
	testscript.Main(cleanUp{m}, map[string]func(){"messkit": mainOrPlain})
}

// raced reports whether the race detector runs.
var raced bool

// calculates skips a test that starts no process and waits for nothing, if the race detector runs:
// it would take ten times as long.
func calculates(t *testing.T) {
	t.Helper()
	if raced {
		t.Skip("it calculates; it runs without the race detector")
	}
}

// plainBinary is the environment variable with a messkit that is built without the race detector.
const plainBinary = "TEST_PLAIN_BINARY"

// mainOrPlain is the command messkit of scripts. A server is this program, with the race detector if
// the tests have it. A command that ends by itself is the plain binary then, which is ten times
// faster.
func mainOrPlain() {
	servers := []string{"run", "exchange", "mcp", "guard"}
	if name := os.Getenv(plainBinary); name != "" && len(os.Args) > 1 && !slices.Contains(servers, os.Args[1]) {
		err := syscall.Exec(name, os.Args, os.Environ())
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	main()
}

// cleanUp runs all tests, and removes its files.
type cleanUp struct{ m *testing.M }

func (t cleanUp) Run() int {
	dir, err := os.MkdirTemp("", "messkit-built")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	builtIn = dir
	defer chromium.Close()
	// With the race detector, a program sleeps for a second before it ends.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return t.m.Run()
}

// TestScripts runs the command line as users do: a real exchange on a real port, a separate home
// folder, one file per command.
func TestScripts(t *testing.T) {
	plain := ""
	if raced {
		plain = buildMesskit(t)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("TZ", "UTC")
			e.Setenv("GORACE", os.Getenv("GORACE"))
			e.Setenv(plainBinary, plain)
			web := freeport.Address(e.T())
			e.Setenv("ADDR", web)
			e.Setenv("MESSKIT_URL", "http://"+web)
			e.Setenv("ELSEWHERE", otherAddress())
			e.Setenv("MCPCLIENT", mcpClient)
			e.Setenv("MQTT", freeport.Address(e.T()))
			return nil
		},
		Condition: func(what string) (bool, error) {
			switch what {
			case "elsewhere": // this machine has an address besides loopback, in $ELSEWHERE
				return otherAddress() != "", nil
			case "mcpclient": // the official TypeScript client of MCP is in $MCPCLIENT
				return mcpClient != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", what)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"up":      waitForExchange,
			"until":   runUntilOutput,
			"picture": checkJPEG,
			"canary":  checkNoSecrets,
			"rpc":     rpc,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// otherAddress returns an address of this machine that is not loopback, "" without one.
func otherAddress() string {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			return ip.IP.String()
		}
	}
	return ""
}

// patience is the timeout of every wait.
const patience = 60 * time.Second

// waitFor repeats ask until it returns true.
func waitFor(ts *testscript.TestScript, what string, ask func() bool) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if ask() {
			return
		}
	}
	ts.Fatalf("%s: not within %v", what, patience)
}

// waitForExchange waits for the exchange: up
func waitForExchange(ts *testscript.TestScript, _ bool, _ []string) {
	waitFor(ts, "the exchange", func() bool {
		r, err := http.Get(ts.Getenv("MESSKIT_URL") + "/health")
		if err != nil {
			return false
		}
		return r.Body.Close() == nil && r.StatusCode == http.StatusOK
	})
}

// runUntilOutput runs a command until its output contains a text: until TEXT COMMAND...
func runUntilOutput(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: until TEXT COMMAND...")
	}
	waitFor(ts, strings.Join(args, " "), func() bool {
		_ = ts.Exec(args[1], args[2:]...) // may fail at first
		return strings.Contains(ts.ReadFile("stdout"), args[0])
	})
}

// checkJPEG checks that the files of a pattern are JPEGs: picture PATTERN
func checkJPEG(ts *testscript.TestScript, neg bool, args []string) {
	names, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if neg != (len(names) == 0) {
		ts.Fatalf("%s: %d files", args[0], len(names))
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		ts.Check(err)
		if http.DetectContentType(data) != "image/jpeg" || len(data) > 512_000 {
			ts.Fatalf("%s: %s, %d bytes", name, http.DetectContentType(data), len(data))
		}
	}
}
