package remote_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/channel/mqtt"
	"github.com/messkit/messkit/exchange/channel/natsapi"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/exchange/remote/mqttclient"
	"github.com/messkit/messkit/exchange/remote/natsclient"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/internal/test/freeport"
	"github.com/messkit/messkit/internal/test/natsserver"
)

var quiet = slog.New(slog.DiscardHandler)

// runUntilStopped runs f until the test ends, or until a call of the returned function.
func runUntilStopped(t *testing.T, f func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := f(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(stop)
	return stop
}

func newExchange(t *testing.T) *exchange.Exchange {
	t.Helper()
	x, err := exchange.Open(t.Context(), exchange.DefaultConfig(), memory.New(), time.Now, quiet)
	if err != nil {
		t.Fatal(err)
	}
	runUntilStopped(t, x.Run)
	return x
}

func newKeys(t *testing.T) *keys.Keys {
	t.Helper()
	k, err := keys.Open(t.TempDir(), "home")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func inProcess(t *testing.T) transport {
	x := newExchange(t)
	return transport{x: x, as: func(_ *testing.T, id string) executorsExchange {
		return x.As(exchange.Actor{ID: id, Roles: exchange.ExecutorRole}, "local")
	}}
}

func overHTTP(t *testing.T) transport {
	x, k := newExchange(t), newKeys(t)
	s := httptest.NewServer(httpapi.New(x, k, httpapi.Config{Version: "1"}, quiet).Handler())
	t.Cleanup(s.Close)
	return transport{x: x, as: func(t *testing.T, id string) executorsExchange {
		key, err := k.Issue(id, exchange.ExecutorRole)
		if err != nil {
			t.Fatal(err)
		}
		c, err := httpclient.New(httpclient.Config{URL: s.URL, Key: httpclient.Secret(key)}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}}
}

func newMQTTAdapter(t *testing.T, x *exchange.Exchange) *mqtt.Adapter {
	t.Helper()
	d, err := mqtt.New(x, mqtt.Config{Version: "1", MaxAttachment: exchange.DefaultConfig().MaxAttachment}, time.Now, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func overEmbedded(t *testing.T) transport {
	x, k := newExchange(t), newKeys(t)
	l := listen(t)
	e := mqtt.NewEmbedded(newMQTTAdapter(t, x), k, mqtt.EmbeddedConfig{}, quiet)
	runUntilStopped(t, func(ctx context.Context) error { return e.Run(ctx, l) })
	return transport{x: x, as: func(t *testing.T, id string) executorsExchange {
		key, err := k.Issue(id, exchange.ExecutorRole)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return overBroker(t, mqttclient.Config{
			Address:  broker.Address{URL: "mqtt://" + l.Addr().String(), User: id, PasswordFile: file},
			Exchange: "home", Executor: id,
		})
	}}
}

func overMosquitto(t *testing.T) transport {
	x := newExchange(t)
	addr := mosquitto(t, "allow_anonymous true\n").addr
	url := "mqtt://" + addr
	o := mqtt.NewExternal(newMQTTAdapter(t, x), mqtt.ExternalConfig{Address: broker.Address{URL: url}}, quiet)
	runUntilStopped(t, o.Run)
	return transport{x: x, as: func(t *testing.T, id string) executorsExchange {
		cfg := mqttclient.Config{Address: broker.Address{URL: url}, Executor: id, Exchange: "home"}
		if id == "pi-a-whole-task" {
			cfg.Exchange = "" // it is found
		}
		return overBroker(t, cfg)
	}}
}

func overNATS(t *testing.T) transport {
	server := natsserver.Start(t, natsserver.Options{})
	x, k := newExchange(t), newKeys(t)
	address := natslink.Address{URL: server.URL()}
	a := natsapi.New(x, k, natsapi.Config{Address: address, Subjects: natslink.Of("mess", "home"), MaxAttachment: exchange.DefaultConfig().MaxAttachment}, quiet)
	if err := a.Connect(); err != nil {
		t.Fatal(err)
	}
	runUntilStopped(t, a.Run)
	return transport{x: x, as: func(t *testing.T, id string) executorsExchange {
		key, err := k.Issue(id, exchange.ExecutorRole)
		if err != nil {
			t.Fatal(err)
		}
		c, err := natsclient.New(natsclient.Config{Address: address, Executor: id, Key: func() (httpclient.Secret, error) { return httpclient.Secret(key), nil }}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		runUntilStopped(t, c.Run)
		return c
	}}
}

func overBroker(t *testing.T, cfg mqttclient.Config) *mqttclient.Client {
	t.Helper()
	c, err := mqttclient.New(cfg, quiet)
	if err != nil {
		t.Fatal(err)
	}
	runUntilStopped(t, c.Run)
	return c
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// patience is the timeout of a wait whose duration does not matter to the test.
const patience = time.Minute

// externalBroker is the broker mosquitto of Debian.
type externalBroker struct {
	t    *testing.T
	addr string
	file string
	cmd  *exec.Cmd
}

// mosquitto starts a broker on a free port of this host.
func mosquitto(t *testing.T, config string) *externalBroker {
	t.Helper()
	o := &externalBroker{t: t, addr: freeport.Address(t), file: filepath.Join(t.TempDir(), "mosquitto.conf")}
	_, port, _ := net.SplitHostPort(o.addr)
	if err := os.WriteFile(o.file, fmt.Appendf(nil, "listener %s 127.0.0.1\nlog_dest none\nmax_queued_messages 0\n%s", port, config), 0o600); err != nil {
		t.Fatal(err)
	}
	o.start()
	t.Cleanup(o.stop)
	return o
}

func (o *externalBroker) start() {
	o.t.Helper()
	name, err := exec.LookPath("mosquitto")
	if err != nil {
		if name, err = exec.LookPath("/usr/sbin/mosquitto"); err != nil {
			o.t.Skip("mosquitto is missing; apt-get install mosquitto mosquitto-clients")
		}
	}
	o.cmd = exec.Command(name, "-c", o.file)
	if err := o.cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", o.addr)
		if err == nil {
			_ = conn.Close()
			return
		}
	}
	o.t.Fatal("mosquitto does not listen")
}

func (o *externalBroker) stop() {
	if o.cmd != nil {
		_ = o.cmd.Process.Kill()
		_ = o.cmd.Wait()
		o.cmd = nil
	}
}
