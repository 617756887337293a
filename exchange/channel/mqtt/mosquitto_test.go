package mqtt_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/messkit/messkit/exchange/channel/mqtt"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/test/freeport"
)

// mosquitto is Debian's broker.
type mosquitto struct {
	*harness
	file string
	cmd  *exec.Cmd
	way  chan struct{} // from the exchange to the broker: a full channel keeps the exchange off
}

// newMosquittoHarness returns a fixture with mosquitto as an external broker.
func newMosquittoHarness(t *testing.T, config string) *mosquitto {
	t.Helper()
	return newHarness(t).addMosquitto(config)
}

// addMosquitto adds mosquitto as an external broker to a fixture.
func (h *harness) addMosquitto(config string) *mosquitto {
	h.Helper()
	m := &mosquitto{harness: h, way: make(chan struct{}, 1)}
	m.configure(config)
	return m
}

// configure starts it.
func (m *mosquitto) configure(config string) {
	m.Helper()
	t := m.T
	m.addr = freeport.Address(t)
	m.file = filepath.Join(m.dir, "mosquitto.conf")
	_, port, _ := net.SplitHostPort(m.addr)
	text := fmt.Sprintf("listener %s 127.0.0.1\nlog_dest none\nuser root\nmax_queued_messages 0\n%s", port, config)
	if err := os.WriteFile(m.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m.start()
	t.Cleanup(m.stop)
}

func (m *mosquitto) start() {
	m.Helper()
	name, err := exec.LookPath("mosquitto")
	if err != nil {
		if name, err = exec.LookPath("/usr/sbin/mosquitto"); err != nil {
			m.Skip("mosquitto is missing; apt-get install mosquitto mosquitto-clients")
		}
	}
	m.cmd = exec.Command(name, "-c", m.file)
	if err := m.cmd.Start(); err != nil {
		m.Fatal(err)
	}
	m.waitUntilOnline()
}

func (m *mosquitto) stop() {
	if m.cmd != nil {
		_ = m.cmd.Process.Kill()
		_ = m.cmd.Wait()
		m.cmd = nil
	}
}

// startAdapter starts the adapter.
func (m *mosquitto) startAdapter(a broker.Address) {
	m.Helper()
	a.URL = "mqtt://" + m.addr
	o := mqtt.NewExternal(m.opened(), mqtt.ExternalConfig{Address: a, Dial: m.dial}, slog.New(slog.NewTextHandler(m.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	m.close = runUntilStopped(m.T, o.Run)
}

func (m *mosquitto) dial(ctx context.Context) (net.Conn, error) {
	select {
	case m.way <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-m.way }()
	var d net.Dialer
	return d.DialContext(ctx, "tcp", m.addr)
}

func (m *mosquitto) opened() *mqtt.Adapter {
	m.newAdapter()
	return m.adapter
}
