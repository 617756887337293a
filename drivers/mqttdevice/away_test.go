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

// What is offline is told nothing: the broker or a bridge may keep it.
func TestNothingIsSentToWhatIsOffline(t *testing.T) {
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
		for i := 0; i < 100 && err == nil; i++ { // the news takes a moment
			f.force(false)
			err = s.Switch(t.Context(), true)
		}
		if !errors.Is(err, drivers.ErrNothingDone) || f.is() || !strings.Contains(err.Error(), "it is offline") {
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
		for deadline := time.Now().Add(time.Minute); (strings.Contains(fmt.Sprint(err), "and may have it; look at the device") || strings.Contains(fmt.Sprint(err), " has just gone;")) && time.Now().Before(deadline); {
			err = verb() // the end was not noticed yet, and is not known to have been before, or was noticed just now
		}
		if !errors.Is(err, drivers.ErrNothingDone) || !strings.HasPrefix(err.Error(), "desk-lamp: ") ||
			!strings.Contains(err.Error(), " is away since ") || !strings.Contains(err.Error(), "does it run, and is this network up? messkit connects again by itself") {
			t.Error(err)
		}
	}
	if err := d.Halt(); err == nil {
		t.Error("it says that it is safe, and nobody could tell it")
	}
	d, err := open(soon(config(b, "tasmota")) + "safe: keep")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(); !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "does a broker run there") {
		t.Error(err)
	}
}

// What a broker keeps comes a moment after it has let us listen. Where it is gone before
// that, this is what is wrong, and not the name of the device.
func TestABrokerGoneBeforeItHasTold(t *testing.T) {
	t.Parallel()
	b := newBroker(t, nil)
	d := started(t, soon(config(b, "tasmota"))+"safe: keep")
	if err := b.end(); err != nil {
		t.Fatal(err)
	}
	err := d.(drivers.Switch).Switch(t.Context(), true)
	if !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), " is away since ") && !strings.Contains(err.Error(), " has just gone;") {
		t.Error(err)
	}
}

// cutter is a broker that dies when it is told to switch on, and is back at once.
type cutter struct {
	mochi.HookBase
	mu   sync.Mutex
	told int
}

func (c *cutter) ID() string           { return "cutter" }
func (c *cutter) Provides(b byte) bool { return b == mochi.OnPublish }

func (c *cutter) OnPublish(cl *mochi.Client, p packets.Packet) (packets.Packet, error) {
	if cl.Net.Inline || string(p.Payload) != "ON" {
		return p, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told++
	cl.Stop(io.EOF)
	return p, packets.ErrRejectPacket
}

func (c *cutter) count() int { c.mu.Lock(); defer c.mu.Unlock(); return c.told }

// A command that the broker has not confirmed is not sent again when it is back, maybe
// hours later.
func TestNothingIsSentAgain(t *testing.T) {
	t.Parallel()
	b := newBroker(t, nil)
	c := new(cutter)
	if err := b.AddHook(c, nil); err != nil {
		t.Fatal(err)
	}
	f := b.device(t, tasmota)
	d := started(t, soon(config(b, "tasmota")))
	err := d.(drivers.Switch).Switch(t.Context(), true)
	if err == nil || errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "the broker has not confirmed what was sent, and may have it; look at the device") {
		t.Error(err)
	}
	deadline := time.Now().Add(time.Minute)
	for asked := 0; asked < 3; {
		_, err := d.(drivers.SwitchReader).On(t.Context())
		if err == nil {
			asked++
		} else if time.Now().After(deadline) {
			t.Fatalf("the broker is back, and not reached: %v", err)
		}
	}
	if n := c.count(); n != 1 || f.is() {
		t.Errorf("it was told to switch on %d times, want once; on: %t", n, f.is())
	}
}

// What a device was sent and has not said that it did may be done yet, though what the
// broker keeps of it is safe: it was away for a moment, and hears all of it.
func TestWhatWasNeverSeenMayBeDoneYet(t *testing.T) {
	t.Parallel()
	b := newBroker(t, nil)
	f := b.device(t, esphome)
	d := started(t, soon(config(b, "esphome")))
	hears := func(is bool) { f.mu.Lock(); defer f.mu.Unlock(); f.deaf = !is }
	hears(false)
	if err := d.(drivers.Switch).Switch(t.Context(), true); err == nil || errors.Is(err, drivers.ErrNothingDone) {
		t.Errorf("on: %v", err)
	}
	for i, tell := range []func() error{func() error { return d.(drivers.Switch).Switch(t.Context(), false) }, d.Halt} {
		err := tell()
		for deadline := time.Now().Add(30 * time.Second); err != nil && !errors.Is(err, drivers.ErrMayAct) && time.Now().Before(deadline); {
			err = tell() // the broker may be slow itself
		}
		if !errors.Is(err, drivers.ErrMayAct) {
			t.Errorf("off, and halted (%d): %v", i, err)
		}
	}
	hears(true)
	for deadline := time.Now().Add(time.Minute); ; {
		err := d.Halt()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("halted when it hears again: %v", err)
		}
	}
}

// What the broker does not let it listen to is no silence of the device, from the start
// and when the broker is back.
func TestTheBrokerRefusesATopic(t *testing.T) {
	t.Parallel()
	b := newBroker(t, &auth.Ledger{
		Auth: auth.AuthRules{{Allow: true}}, Users: auth.Users{"": {ACL: auth.Filters{"stat/#": auth.Deny}}},
	})
	f := b.device(t, tasmota)
	d := started(t, soon(config(b, "tasmota"))+"safe: keep\n")
	const want = "the broker does not let messkit listen on stat/plug/POWER; check what it lets this user read"
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
			t.Fatal("it is read back")
		}
		if strings.Contains(err.Error(), want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// counter counts how often a broker is told to switch something on.
type counter struct{ cutter }

func (c *counter) ID() string { return "counter" }

func (c *counter) OnPublish(cl *mochi.Client, p packets.Packet) (packets.Packet, error) {
	if !cl.Net.Inline && string(p.Payload) == "ON" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.told++
	}
	return p, nil
}

// A command that the broker does not confirm on a stalled link closes its connection, so
// the broker does not get it when the link goes on. Its error says that it may act, and so
// does the next order, once: it came by another connection.
func TestAStalledPublishIsDropped(t *testing.T) {
	t.Parallel()
	b := newBroker(t, nil)
	c := new(counter)
	if err := b.AddHook(c, nil); err != nil {
		t.Fatal(err)
	}
	b.device(t, tasmota)
	link := drivertest.NewLink(t, strings.TrimPrefix(b.address, "mqtt://"))
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
		err = s.Switch(t.Context(), false) // it connects again
	}
	if !errors.Is(err, drivers.ErrMayAct) {
		t.Errorf("the next order, over another connection: %v", err)
	}
	if err := s.Switch(t.Context(), false); err != nil {
		t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told > 0 {
		t.Error("the stalled command arrived")
	}
}

// A device that gives up a command closes the connection of all devices of the broker.
// The command of another device may be done, and its error says so. A device without a
// command has no such error, though somebody asked it something. Nothing arrives later.
func TestAStalledPublishOfAnother(t *testing.T) {
	t.Parallel()
	b := newBroker(t, nil)
	c := new(counter)
	if err := b.AddHook(c, nil); err != nil {
		t.Fatal(err)
	}
	link := drivertest.NewLink(t, strings.TrimPrefix(b.address, "mqtt://"))
	var others drivers.Shared
	device := func(name string, m maker) drivers.Device {
		b.device(t, m)
		yaml := strings.Replace(at("mqtt://"+link.Addr().String(), name), "timeout: 1m", "timeout: 1s", 1)
		return startedBeside(t, &others, yaml+"safe: keep\n")
	}
	plug, pump, lamp := device("tasmota", tasmota), device("shelly-gen2", shelly2), device("zigbee2mqtt", zigbee)
	if n := len(b.Clients.GetAll()); n != 2 { // with that of the fakes
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
			err = d.(drivers.Switch).Switch(t.Context(), false) // it connects again
		}
		if errors.Is(err, drivers.ErrMayAct) != want || !want && err != nil {
			t.Errorf("the next order: %v", err)
		}
	}
	if n := c.count(); n > 0 {
		t.Errorf("%d stalled commands arrived", n)
	}
}
