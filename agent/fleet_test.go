package agent_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/drivers/httpdevice"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/internal/strictyaml"
)

// The fleet of TestTenThousandDevices, and its allowed cost in this process.
const (
	fleetHosts    = 64
	fleetVariable = "MESSKIT_TEST_FLEET"
	mostBytes     = 40 << 20
	mostRoutines  = 100
)

// fleetSize is the number of devices.
var fleetSize = map[bool]int{false: 10_000, true: 1_000}[underRace]

// TestFleetProcess is the other process of TestTenThousandDevices: the plugs on several hosts. It
// writes their addresses, and "all" after a request to each plug.
func TestFleetProcess(t *testing.T) {
	if os.Getenv(fleetVariable) == "" {
		t.Skip("TestTenThousandDevices runs this test")
	}
	var mu sync.Mutex
	asked := map[string]bool{}
	plugs := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, `{"id": 0, "output": false}`) // a client that hung up has its error
		mu.Lock()
		defer mu.Unlock()
		if !asked[r.URL.Path] {
			asked[r.URL.Path] = true
			if len(asked) == fleetSize {
				fmt.Println("all")
			}
		}
	})
	var servers sync.WaitGroup
	for range fleetHosts {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("http://" + l.Addr().String())
		s := &http.Server{Handler: plugs, ReadHeaderTimeout: time.Minute}
		servers.Go(func() { _ = s.Serve(l) }) // it ends with the process
		defer func() { _ = s.Close() }()
	}
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // the end of the test
}

// memoryInUse returns the memory in use after a collection.
func memoryInUse() (bytes uint64, routines int) {
	runtime.GC()
	runtime.GC() // memory that finalizers release
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, runtime.NumGoroutine()
}

// An agent reads ten thousand devices with few goroutines and little memory.
func TestTenThousandDevices(t *testing.T) {
	if testing.Short() {
		t.Skip("this test takes seconds")
	}
	c := exec.Command(os.Args[0], "-test.run=^TestFleetProcess$")
	c.Env = append(os.Environ(), fleetVariable+"=1")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = c.Process.Kill()
		_ = c.Wait() // the test killed it
	}()
	out := bufio.NewScanner(pipe)
	line := func() string { out.Scan(); return strings.TrimSpace(out.Text()) }
	hosts := make([]string, fleetHosts)
	for i := range hosts {
		if hosts[i] = line(); !strings.HasPrefix(hosts[i], "http://") {
			t.Fatalf("line of the plugs is %q, want an URL", hosts[i])
		}
	}
	xcfg := exchange.DefaultConfig()
	xcfg.States = true
	x, err := exchange.Open(t.Context(), xcfg, memory.New(), time.Now, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer runUntilStopped(t, x.Run)()
	j, err := journal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()

	before, routines := memoryInUse()
	devices := make([]device.Device, fleetSize)
	for i := range devices {
		cfg := httpdevice.DefaultConfig()
		name := fmt.Sprint("plug-", i)
		if err := strictyaml.Decode("home.yaml", []byte("family: shelly-gen2\nsafe: keep\ntimeout: 1m\nurl: "+hosts[i%fleetHosts]+"/"+name), &cfg); err != nil {
			t.Fatal(err)
		}
		d, err := httpdevice.New(name, cfg, quiet(), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		devices[i] = device.Device{Name: name, Driver: d}
	}
	acfg := agent.DefaultConfig()
	acfg.ID = "home-pi"
	a := agent.New(acfg, x.As(exchange.Actor{ID: "home-pi", Roles: exchange.ExecutorRole}, "test"), resolverFunc{sentences: sentences{}}, devices,
		policy.New(settings.DefaultConfig(), time.Now, quiet()), j, time.Now, quiet())
	defer runUntilStopped(t, a.Run)()
	for news := x.ExecutorsChanged(); len(x.Executors()) == 0; news = x.ExecutorsChanged() { // until all have started at once
		<-news
	}
	all := make(chan string, 1)
	go func() { all <- line() }()
	most, began, late := 0, time.Now(), time.After(5*time.Minute)
	for allSwitched := false; !allSwitched; {
		select {
		case message := <-all:
			if allSwitched = true; message != "all" {
				t.Fatalf("message of the plugs is %q, want all", message)
			}
		case <-late:
			t.Fatal("not all devices were read in five minutes")
		case <-time.After(10 * time.Millisecond):
			most = max(most, runtime.NumGoroutine())
		}
	}
	after, _ := memoryInUse()
	t.Logf("%d devices: %.1f MB, at most %d goroutines; read in %v", fleetSize, float64(after-before)/1e6, most-routines, time.Since(began))
	if after-before > mostBytes && !underRace || most-routines > mostRoutines {
		t.Errorf("%d bytes and %d goroutines, want at most %d and %d", after-before, most-routines, mostBytes, mostRoutines)
	}
	runtime.KeepAlive(a)
}
