package mqttdevice_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/packets"
	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/mqttdevice"
	"github.com/messkit/messkit/internal/broker/port"
	"github.com/messkit/messkit/internal/strictyaml"
)

// The devices of TestTenThousandDevices, and their limits in this process.
const (
	fleetVariable = "MESSKIT_TEST_FLEET"
	mostBytes     = 40 << 20
	mostRoutines  = 100
)

// fleetSize is the number of devices.
var fleetSize = map[bool]int{false: 10_000, true: 1_000}[underRace]

// plugs is a broker hook that simulates all plugs of the fleet.
type plugs struct {
	mochi.HookBase
	b *mochi.Server
}

func (*plugs) ID() string           { return "plugs" }
func (*plugs) Provides(b byte) bool { return b == mochi.OnPublished }

func (p *plugs) OnPublished(cl *mochi.Client, pk packets.Packet) {
	parts := strings.Split(pk.TopicName, "/")
	if cl.Net.Inline || len(parts) != 3 || parts[2] != "POWER" {
		return
	}
	is := string(pk.Payload)
	if is == "" {
		is = "OFF"
	}
	_ = p.b.Publish("stat/"+parts[1]+"/POWER", []byte(is), false, 1) // fails only in a closed broker
}

// serveFleet runs the broker of the fleet in a process of its own, until standard input
// ends.
func serveFleet() error {
	b := mochi.New(&mochi.Options{InlineClient: true, Logger: slog.New(slog.DiscardHandler)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := errors.Join(
		b.AddHook(new(auth.AllowHook), nil), b.AddHook(&plugs{b: b}, nil), b.AddHook(port.NewRetained(b), nil), b.AddListener(port.New(b, l, nil)), b.Serve(),
	); err != nil {
		return err
	}
	for i := range fleetSize {
		if err := b.Publish(fmt.Sprintf("tele/plug%d/LWT", i), []byte("Online"), true, 1); err != nil {
			return err
		}
	}
	fmt.Println("mqtt://" + l.Addr().String())
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, b.Close())
}

// fleet starts the broker and returns its address.
func fleet(t *testing.T) string {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), fleetVariable+"=1")
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

// used returns the memory in use after a garbage collection.
func used() (bytes uint64, routines int) {
	runtime.GC()
	runtime.GC() // frees the memory of finalizers
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, runtime.NumGoroutine()
}

// Ten thousand devices of one broker share a connection, use few goroutines and little
// memory, and all work.
func TestTenThousandDevices(t *testing.T) {
	if testing.Short() {
		t.Skip("this test takes seconds")
	}
	address := fleet(t)
	env := drivers.Env{Log: slog.New(slog.DiscardHandler), Now: time.Now, Shared: &drivers.Shared{}}
	before, routines := used()
	devices := make([]drivers.Device, fleetSize)
	begun := time.Now()
	for i := range devices {
		env.Name = fmt.Sprintf("plug%d", i)
		yaml := fmt.Sprintf("family: tasmota\nbroker: %s\ntimeout: 1m\nsafe: keep\nwith: {topic: plug%d}\n", address, i)
		d, err := mqttdevice.Open(env, func(out any) error { return strictyaml.Decode("home.yaml", []byte(yaml), out) })
		if err != nil {
			t.Fatal(err)
		}
		devices[i] = d
	}
	opened := time.Since(begun)
	var g errgroup.Group
	g.SetLimit(1024) // as in the agent
	for _, d := range devices {
		g.Go(d.Start)
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	started := time.Since(begun) - opened
	for i := 0; i < fleetSize; i += fleetSize / 100 {
		g.Go(func() error { return devices[i].(drivers.Switch).Switch(t.Context(), true) })
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	after, now := used()
	t.Logf("%d devices: %.1f MB, %d goroutines; opened in %v, started in %v", fleetSize, float64(after-before)/1e6, now-routines, opened, started)
	if after-before > mostBytes && !underRace || now-routines > mostRoutines {
		t.Errorf("%d bytes and %d goroutines, want at most %d and %d", after-before, now-routines, mostBytes, mostRoutines)
	}
	for _, d := range devices {
		g.Go(d.Halt)
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	runtime.KeepAlive(devices)
}
