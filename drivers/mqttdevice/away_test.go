package mqttdevice_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
)

// The driver sends nothing to an offline device, because the broker or a bridge could
// deliver it later.
func TestOfflineDeviceGetsNoCommand(t *testing.T) {
	for name, one := range families {
		b := newBroker(t, nil)
		f := b.device(t, one.device)
		d := started(t, config(b, name)+"safe: keep")
		f.online(f, false)
		s, ok := d.(drivers.Switch)
		if !ok {
			continue
		}
		var err error
		for i := 0; i < 100 && err == nil; i++ { // the state arrives after a moment
			f.force(false)
			err = s.Switch(t.Context(), true)
		}
		if !errors.Is(err, drivers.ErrNothingDone) || f.is() || !strings.Contains(err.Error(), "the device is offline") {
			t.Errorf("%s: on=%t, %v", name, f.is(), err)
		}
	}
}

func TestBrokerGone(t *testing.T) {
	b := newBroker(t, nil)
	b.device(t, tasmota)
	d := started(t, soon(config(b, "tasmota")))
	if err := b.end(); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []func() error{
		func() error { return d.(drivers.Switch).Switch(t.Context(), true) },
		func() error { _, err := d.(drivers.SwitchReader).On(t.Context()); return err },
	} {
		err := verb()
		for deadline := time.Now().Add(time.Minute); (strings.Contains(fmt.Sprint(err), "but may have it; inspect the device") || strings.Contains(fmt.Sprint(err), " has just gone;")) && time.Now().Before(deadline); {
			err = verb() // the driver has not noticed the end yet, or notices it just now
		}
		if !errors.Is(err, drivers.ErrNothingDone) || !strings.HasPrefix(err.Error(), "desk-lamp: ") ||
			!strings.Contains(err.Error(), " is unreachable since ") || !strings.Contains(err.Error(), "check that it runs and that this network is up. messkit reconnects automatically") {
			t.Error(err)
		}
	}
	if err := d.Halt(); err == nil {
		t.Error("Halt succeeds without a connection, want an error")
	}
	d, err := open(soon(config(b, "tasmota")) + "safe: keep")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(); !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "check that the broker runs") {
		t.Error(err)
	}
}

// A broker delivers retained messages a moment after the subscription. If the broker
// disconnects before that, the error names the broker, not the device.
func TestBrokerGoneBeforeRetainedMessages(t *testing.T) {
	t.Parallel()
	b := newBroker(t, nil)
	d := started(t, soon(config(b, "tasmota"))+"safe: keep")
	if err := b.end(); err != nil {
		t.Fatal(err)
	}
	err := d.(drivers.Switch).Switch(t.Context(), true)
	if !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), " is unreachable since ") && !strings.Contains(err.Error(), " has just gone;") {
		t.Error(err)
	}
}

// cutter is a broker that fails on a switch-on command and restarts at once.
type cutter struct {
	mochi.HookBase
	mu       sync.Mutex
	commands int
}

func (c *cutter) ID() string           { return "cutter" }
func (c *cutter) Provides(b byte) bool { return b == mochi.OnPublish }

func (c *cutter) OnPublish(cl *mochi.Client, p packets.Packet) (packets.Packet, error) {
	if cl.Net.Inline || string(p.Payload) != "ON" {
		return p, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commands++
	cl.Stop(io.EOF)
	return p, packets.ErrRejectPacket
}

func (c *cutter) count() int { c.mu.Lock(); defer c.mu.Unlock(); return c.commands }

// The driver does not repeat an unacknowledged command when the broker returns, possibly
// hours later.
func TestCommandIsNotRepeated(t *testing.T) {
	t.Parallel()
	b := newBroker(t, nil)
	c := new(cutter)
	if err := b.AddHook(c, nil); err != nil {
		t.Fatal(err)
	}
	f := b.device(t, tasmota)
	d := started(t, soon(config(b, "tasmota")))
	err := d.(drivers.Switch).Switch(t.Context(), true)
	if err == nil || errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "the broker has not acknowledged the message, but may have it; inspect the device") {
		t.Error(err)
	}
	deadline := time.Now().Add(time.Minute)
	for asked := 0; asked < 3; {
		_, err := d.(drivers.SwitchReader).On(t.Context())
		if err == nil {
			asked++
		} else if time.Now().After(deadline) {
			t.Fatalf("the broker is back, and the driver cannot reach it: %v", err)
		}
	}
	if n := c.count(); n != 1 || f.is() {
		t.Errorf("%d switch-on commands, want 1; on: %t", n, f.is())
	}
}

// A device that has not confirmed a command may still execute it, even if the retained
// state is safe: the device may have been offline for a moment and receives all commands
// later.
func TestUnconfirmedCommandMayAct(t *testing.T) {
	t.Parallel()
	b := newBroker(t, nil)
	f := b.device(t, esphome)
	d := started(t, soon(config(b, "esphome")))
	listen := func(is bool) { f.mu.Lock(); defer f.mu.Unlock(); f.deaf = !is }
	listen(false)
	if err := d.(drivers.Switch).Switch(t.Context(), true); err == nil || errors.Is(err, drivers.ErrNothingDone) {
		t.Errorf("on: %v", err)
	}
	for i, call := range []func() error{func() error { return d.(drivers.Switch).Switch(t.Context(), false) }, d.Halt} {
		err := call()
		for deadline := time.Now().Add(30 * time.Second); err != nil && !errors.Is(err, drivers.ErrMayAct) && time.Now().Before(deadline); {
			err = call() // the broker itself may be slow
		}
		if !errors.Is(err, drivers.ErrMayAct) {
			t.Errorf("off, and halted (%d): %v", i, err)
		}
	}
	listen(true)
	for deadline := time.Now().Add(time.Minute); ; {
		err := d.Halt()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("Halt of a reachable device: %v", err)
		}
	}
}

// The error for a rejected subscription names the broker, not a silent device: at the
// start, and after the broker returns.
func TestRejectedSubscription(t *testing.T) {
	t.Parallel()
	b := newBroker(t, &auth.Ledger{
		Auth: auth.AuthRules{{Allow: true}}, Users: auth.Users{"": {ACL: auth.Filters{"stat/#": auth.Deny}}},
	})
	f := b.device(t, tasmota)
	d := started(t, soon(config(b, "tasmota"))+"safe: keep\n")
	const want = "the broker rejects the subscription to stat/plug/POWER; check the read permissions of the user on the broker"
	if err := d.(drivers.Switch).Switch(t.Context(), true); err == nil || errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), want) || !f.is() {
		t.Errorf("on=%t: %v", f.is(), err)
	}
	for _, c := range b.Clients.GetAll() {
		if !c.Net.Inline {
			c.Stop(io.EOF)
		}
	}
	for deadline := time.Now().Add(time.Minute); ; {
		_, err := d.(drivers.SwitchReader).On(t.Context())
		if err == nil {
			t.Fatal("On succeeds without a subscription, want an error")
		}
		if strings.Contains(err.Error(), want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// counter counts the switch-on commands at a broker.
type counter struct{ cutter }

func (c *counter) ID() string { return "counter" }

func (c *counter) OnPublish(cl *mochi.Client, p packets.Packet) (packets.Packet, error) {
	if !cl.Net.Inline && string(p.Payload) == "ON" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.commands++
	}
	return p, nil
}

// If the broker does not acknowledge a command on a stalled link, the driver closes the
// connection, so the broker never gets the command. The error is ErrMayAct, and so is the
// error of the next command, once, because it uses another connection.
func TestStalledPublishIsDropped(t *testing.T) {
	t.Parallel()
	b := newBroker(t, nil)
	c := new(counter)
	if err := b.AddHook(c, nil); err != nil {
		t.Fatal(err)
	}
	b.device(t, tasmota)
	link := drivertest.NewProxy(t, strings.TrimPrefix(b.address, "mqtt://"))
	d := started(t, strings.Replace(at("mqtt://"+link.Addr().String(), "tasmota"), "timeout: 1m", "timeout: 1s", 1))
	if on, err := d.(drivers.SwitchReader).On(t.Context()); on || err != nil {
		t.Fatal(on, err)
	}
	on := make(chan error, 1)
	s := d.(drivers.Switch)
	goOn := link.Stall()
	go func() { on <- s.Switch(t.Context(), true) }()
	if err := <-on; !errors.Is(err, drivers.ErrMayAct) || errors.Is(err, drivers.ErrNothingDone) {
		t.Errorf("a command without an answer ends with %v", err)
	}
	goOn()
	err := s.Switch(t.Context(), false)
	for deadline := time.Now().Add(30 * time.Second); errors.Is(err, drivers.ErrNothingDone) && time.Now().Before(deadline); {
		err = s.Switch(t.Context(), false) // connects again
	}
	if !errors.Is(err, drivers.ErrMayAct) {
		t.Errorf("the next order, over another connection: %v", err)
	}
	if err := s.Switch(t.Context(), false); err != nil {
		t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.commands > 0 {
		t.Error("the stalled command arrived")
	}
}

// A device that gives up a command closes the connection of all devices of the broker. The
// command of another device is then ErrMayAct. A device without a pending command has no
// such error, even during a read. Nothing arrives later.
func TestStalledPublishOfAnotherDevice(t *testing.T) {
	t.Parallel()
	b := newBroker(t, nil)
	c := new(counter)
	if err := b.AddHook(c, nil); err != nil {
		t.Fatal(err)
	}
	link := drivertest.NewProxy(t, strings.TrimPrefix(b.address, "mqtt://"))
	var others drivers.Shared
	device := func(name string, m maker) drivers.Device {
		b.device(t, m)
		yaml := strings.Replace(at("mqtt://"+link.Addr().String(), name), "timeout: 1m", "timeout: 1s", 1)
		return startedBeside(t, &others, yaml+"safe: keep\n")
	}
	plug, pump, lamp := device("tasmota", tasmota), device("shelly-gen2", shelly2), device("zigbee2mqtt", zigbee)
	if n := len(b.Clients.GetAll()); n != 2 { // including the client of the fakes
		t.Errorf("%d clients of the broker, want 2", n)
	}
	goOn := link.Stall()
	errs := make(chan error, 2)
	for _, d := range []drivers.Device{plug, pump} {
		go func() { errs <- d.(drivers.Switch).Switch(t.Context(), true) }()
	}
	asked := make(chan error, 1)
	go func() { _, err := lamp.(drivers.SwitchReader).On(t.Context()); asked <- err }()
	for range cap(errs) {
		if err := <-errs; !errors.Is(err, drivers.ErrMayAct) || errors.Is(err, drivers.ErrNothingDone) {
			t.Errorf("a command that is under way: %v", err)
		}
	}
	if err := <-asked; err == nil || errors.Is(err, drivers.ErrMayAct) {
		t.Errorf("a question that is under way: %v", err)
	}
	goOn()
	for d, want := range map[drivers.Device]bool{plug: true, pump: true, lamp: false} {
		err := d.(drivers.Switch).Switch(t.Context(), false)
		for deadline := time.Now().Add(30 * time.Second); errors.Is(err, drivers.ErrNothingDone) && time.Now().Before(deadline); {
			err = d.(drivers.Switch).Switch(t.Context(), false) // connects again
		}
		if errors.Is(err, drivers.ErrMayAct) != want || !want && err != nil {
			t.Errorf("the next order: %v", err)
		}
	}
	if n := c.count(); n > 0 {
		t.Errorf("%d stalled commands arrived", n)
	}
}
