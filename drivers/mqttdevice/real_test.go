package mqttdevice_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/test/freeport"
)

// patience limits each wait for another program on a busy host.
const patience = time.Minute

// mosquitto is Debian's broker, which has users with permissions.
type mosquitto struct {
	t    *testing.T
	dir  string
	host string
	cmd  *exec.Cmd
}

// access is an acl_file of mosquitto.conf(5).
const access = `user devices
topic readwrite #
user messkit
topic readwrite #
user guest
topic read #
`

func newMosquitto(t *testing.T) *mosquitto {
	t.Helper()
	if testing.Short() {
		t.Skip("a real broker takes seconds")
	}
	m := &mosquitto{t: t, dir: t.TempDir(), host: freeport.Address(t)}
	_, port, _ := net.SplitHostPort(m.host)
	for _, user := range []string{"devices", "messkit", "guest"} {
		c := exec.Command(program(t, "mosquitto_passwd"), "-b", m.file("passwords"), user, user+"-secret")
		if user == "devices" {
			c.Args = append(c.Args[:1], append([]string{"-c"}, c.Args[1:]...)...)
		}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	m.write("access", access)
	conf := "listener " + port + " 127.0.0.1\nallow_anonymous false\npassword_file " + m.file("passwords") + "\nacl_file " + m.file("access") + "\n"
	if os.Geteuid() == 0 {
		conf += "user root\n" // otherwise it cannot read the folder of the test
	}
	m.write("mosquitto.conf", conf)
	m.start()
	t.Cleanup(m.stop)
	return m
}

// program returns the path of a Mosquitto program, which Debian installs outside of the
// path of users.
func program(t *testing.T, name string) string {
	t.Helper()
	for _, where := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(where); err == nil {
			return path
		}
	}
	t.Skip("SKIP: mosquitto is not there (apt-get install mosquitto)")
	return ""
}

func (m *mosquitto) file(name string) string { return filepath.Join(m.dir, name) }

func (m *mosquitto) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(m.file(name), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m *mosquitto) start() {
	m.t.Helper()
	var output bytes.Buffer
	m.cmd = exec.Command(program(m.t, "mosquitto"), "-c", m.file("mosquitto.conf"))
	m.cmd.Stderr = &output
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", m.host); err == nil {
			_ = c.Close()
			return
		}
	}
	m.stop()
	m.t.Fatalf("mosquitto does not listen: %s", &output)
}

func (m *mosquitto) stop() {
	if m.cmd != nil {
		_ = m.cmd.Process.Kill()
		_ = m.cmd.Wait() // the test has killed it
		m.cmd = nil
	}
}

// as returns the configuration for a user.
func (m *mosquitto) as(user, family string) string {
	return at("mqtt://"+m.host, family) + "username: " + user + "\npassword: " + user + "-secret\n"
}

// side is the connection of the fake devices to a broker. It records the retained messages
// of other clients.
type side struct {
	paho.Client
	mu   sync.Mutex
	mine map[string]bool // topics of the devices' retained messages
}

func (m *mosquitto) devices(t *testing.T) *side {
	t.Helper()
	s := &side{mine: map[string]bool{}}
	o := paho.NewClientOptions().AddBroker("tcp://" + m.host).SetClientID("devices" + strconv.Itoa(nextID())).SetUsername("devices").SetPassword("devices-secret").
		SetConnectTimeout(patience)
	s.Client = paho.NewClient(o)
	if err := done(s.Connect()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Disconnect(0) })
	return s
}

func done(t paho.Token) error {
	if !t.WaitTimeout(patience) {
		return errors.New("mosquitto does not answer")
	}
	return t.Error()
}

func (s *side) Publish(topic string, payload []byte, retain bool, qos byte) error {
	if retain {
		s.mu.Lock()
		s.mine[topic] = true
		s.mu.Unlock()
	}
	s.Client.Publish(topic, qos, retain, payload) // no wait, because a handler may call this
	return nil
}

func (s *side) Subscribe(filter string, _ int, handle mochi.InlineSubFn) error {
	return done(s.Client.Subscribe(filter, 1, func(_ paho.Client, m paho.Message) {
		handle(nil, packets.Subscription{}, packets.Packet{TopicName: m.Topic(), Payload: m.Payload()})
	}))
}

// kept returns the topics of retained messages that do not come from a device.
func (s *side) kept(t *testing.T, m *mosquitto) (topics []string) {
	t.Helper()
	all := make(chan string, 100)
	c := paho.NewClient(paho.NewClientOptions().AddBroker("tcp://" + m.host).SetClientID("judge").SetUsername("guest").SetPassword("guest-secret").SetConnectTimeout(patience))
	if err := done(c.Connect()); err != nil {
		t.Fatal(err)
	}
	defer c.Disconnect(0)
	handle := func(_ paho.Client, m paho.Message) {
		if m.Retained() {
			all <- m.Topic()
		}
	}
	if err := done(c.Subscribe("#", 1, handle)); err != nil {
		t.Fatal(err)
	}
	// Retained messages arrive before the message that follows.
	end := make(chan struct{})
	if err := done(c.Subscribe("judge/end", 1, func(paho.Client, paho.Message) { close(end) })); err != nil {
		t.Fatal(err)
	}
	_ = s.Publish("judge/end", nil, false, 1)
	<-end
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(all) > 0 {
		if topic := <-all; !s.mine[topic] {
			topics = append(topics, topic)
		}
	}
	return topics
}

// TestMosquitto tests every switch and cover template on an independent broker.
func TestMosquitto(t *testing.T) {
	for name, one := range families {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // these tests mostly wait
			m := newMosquitto(t)
			s := m.devices(t)
			f := device(t, s, one.device)
			d := started(t, m.as("messkit", name))
			switch d := d.(type) {
			case drivers.Switch:
				for _, on := range []bool{true, false} {
					err := d.Switch(t.Context(), on)
					is, rerr := d.(drivers.SwitchReader).On(t.Context())
					if err != nil || rerr != nil || is != on || f.is() != on {
						t.Errorf("Switch(%t): %v; the device is on: %t, On = %t, %v", on, err, f.is(), is, rerr)
					}
				}
			case drivers.Positioner:
				for _, percent := range []float64{60, 0} {
					err := d.OpenTo(t.Context(), percent)
					is, rerr := d.(drivers.OpeningReader).Opening(t.Context())
					if err != nil || rerr != nil || is < percent-1 || is > percent+1 {
						t.Errorf("OpenTo(%v): %v; Opening = %v, %v", percent, err, is, rerr)
					}
				}
			}
			if kept := s.kept(t, m); len(kept) != 0 {
				t.Errorf("the broker keeps what was sent on %q, and would have it acted on again", kept)
			}
		})
	}
}

// A rejected login or a forbidden topic is an error, and the device does nothing.
func TestMosquittoRejects(t *testing.T) {
	t.Parallel()
	m := newMosquitto(t)
	f := device(t, m.devices(t), tasmota)
	d, err := open(strings.Replace(soon(m.as("messkit", "tasmota")), "messkit-secret", "wrong", 1) + "safe: keep\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(); !errors.Is(err, drivers.ErrNothingDone) || strings.Contains(fmt.Sprint(err), "wrong") || !strings.Contains(fmt.Sprint(err), "password") {
		t.Errorf("with a wrong password: %v", err)
	}
	_ = d.Halt()
	guest := started(t, soon(m.as("guest", "tasmota"))+"safe: keep\n")
	acts := f.count()
	if err := guest.(drivers.Switch).Switch(t.Context(), true); err == nil || f.count() != acts || f.is() {
		t.Errorf("a client with read access has switched the device: %v", err)
	}
}

// The driver reconnects to a broker that has restarted, and the next command works.
func TestMosquittoRestarts(t *testing.T) {
	m := newMosquitto(t)
	device(t, m.devices(t), tasmota)
	d := started(t, soon(m.as("messkit", "tasmota"))+"safe: keep\n")
	if err := d.(drivers.Switch).Switch(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	m.stop()
	if err := d.(drivers.Switch).Switch(t.Context(), false); err == nil {
		t.Error("without a broker it was switched")
	}
	m.start()
	f := device(t, m.devices(t), tasmota)
	for end := time.Now().Add(patience); ; {
		f.online(f, true)
		err := d.(drivers.Switch).Switch(t.Context(), true)
		if err == nil && f.is() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the driver cannot switch after the restart: %v", err)
		}
	}
}
