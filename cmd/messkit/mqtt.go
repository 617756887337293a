package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/mqtt"
	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/mess/topic"
)

// mqttConfig is the MQTT door of an exchange: a broker of its own, or one
// elsewhere.
type mqttConfig struct {
	Listen string `yaml:"listen"` // host:port of the broker of our own; off: none
	// HomeAssistant shows the executors to Home Assistant.
	HomeAssistant bool `yaml:"homeassistant"`
	Clients       int  `yaml:"clients"` // limit of our own broker; 0: derived from memory and open files
	broker.Address
}

// defaultBroker is where the broker of our own listens unless configured. If
// something else is there, it takes another port.
const defaultBroker = "127.0.0.1:1883"

// noBroker is the value of listen: for none.
const noBroker = "off"

// elsewhere reports whether the broker is not ours.
func (c mqttConfig) elsewhere() bool { return c.Address != broker.Address{} }

// Validate tells every setting that cannot be.
func (c mqttConfig) Validate() error {
	if c.Clients < 0 {
		return fmt.Errorf("clients: %d is too few; write 1 or more, or 0 to derive it from memory and open files", c.Clients)
	}
	if c.elsewhere() {
		return c.expanded().Validate()
	}
	if c.Listen != noBroker && !listenable(c.Listen) {
		return fmt.Errorf("listen: %q is not an address; write host:port, like %s, or %s", c.Listen, defaultBroker, noBroker)
	}
	return nil
}

// expanded is the address with the home folder put in.
func (c mqttConfig) expanded() broker.Address {
	a := c.Address
	for _, name := range []*string{&a.PasswordFile, &a.CA, &a.Cert, &a.Key} {
		*name = expand(*name)
	}
	return a
}

// checkMQTT tells what of the MQTT door does not go with the exchange.
func (c exchangeConfig) checkMQTT() error {
	if c.MQTT.HomeAssistant && !c.MQTT.elsewhere() && c.MQTT.Listen == noBroker {
		return errors.New("mqtt: homeassistant: is shown over MQTT, and listen: is off; write the address of a broker")
	}
	if c.MQTT.HomeAssistant || c.MQTT.elsewhere() || c.MQTT.Listen != defaultBroker && c.MQTT.Listen != noBroker {
		if err := topic.CheckID(c.ID); err != nil {
			return fmt.Errorf("id: %w", err)
		}
	}
	if c.MQTT.elsewhere() || c.MQTT.Listen == noBroker || c.Insecure || c.tlsSelf || !c.TLS.IsZero() || here(c.MQTT.Listen) {
		return nil
	}
	return fmt.Errorf("mqtt: listen: %s is beyond this machine, and keys would go there in plain text; write tls: self for the exchange, or insecure: true where a tunnel keeps them", c.MQTT.Listen)
}

// mqttDoor is the MQTT door of an exchange, ready to run.
type mqttDoor struct {
	door  *mqtt.Door
	own   *mqtt.Embedded // nil: the broker is elsewhere
	run   func(context.Context) error
	close func() error
}

// openMQTT opens the port of the broker of our own, or makes the connection to one
// elsewhere, and says where it is. Without a door it returns nil.
func openMQTT(ctx context.Context, a *output.Env, cfg *exchangeConfig, x *exchange.Exchange, k *keys.Keys, secure *tls.Config, log *slog.Logger) (*mqttDoor, error) {
	if !cfg.MQTT.elsewhere() && cfg.MQTT.Listen == noBroker {
		return nil, nil
	}
	if err := topic.CheckID(cfg.ID); err != nil {
		log.Warn("there is no MQTT here", "err", err)
		return nil, nil
	}
	d, err := mqtt.New(ctx, x, mqtt.Config{Version: output.Version, MaxAttachment: cfg.MaxAttachment, HomeAssistant: cfg.MQTT.HomeAssistant}, time.Now, log)
	if err != nil {
		return nil, err
	}
	if cfg.MQTT.elsewhere() {
		o := mqtt.NewOutside(d, mqtt.OutsideConfig{Address: cfg.MQTT.expanded()}, log)
		_, err := fmt.Fprintf(a.Out, "mqtt at the broker %s\n", cfg.MQTT.URL)
		return &mqttDoor{door: d, run: o.Run, close: func() error { return nil }}, err
	}
	l, taken, err := listenMQTT(cfg.MQTT.Listen)
	if err != nil {
		return nil, err
	}
	if secure == nil && !cfg.Insecure && !own(l.Addr()) {
		return nil, errors.Join(fmt.Errorf("mqtt: listen: %s is %s, which is beyond this machine; write 127.0.0.1 or tls: self", cfg.MQTT.Listen, l.Addr()), l.Close())
	}
	e := mqtt.NewEmbedded(d, k, mqtt.EmbeddedConfig{TLS: secure, Reserved: cfg.reserved, Clients: cfg.MQTT.Clients}, log)
	_, err = fmt.Fprintf(a.Out, "mqtt at %s%s\n", map[bool]string{false: "mqtt://", true: "mqtts://"}[secure != nil]+reachable(l.Addr()), taken)
	return &mqttDoor{door: d, own: e, run: func(ctx context.Context) error { return e.Run(ctx, l) }, close: l.Close}, err
}

// listenMQTT opens the port. Where the usual one is taken it opens another, and
// says so.
func listenMQTT(addr string) (l net.Listener, taken string, err error) {
	l, err = net.Listen("tcp", addr)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return l, "", err
	}
	if addr != defaultBroker {
		return nil, "", output.Hint(err, "another broker may be running there; choose another port with mqtt: listen:, or use that broker with mqtt: url:")
	}
	l, err = net.Listen("tcp", "127.0.0.1:0")
	return l, " (another program has port 1883)", err
}

// checkBroker tells every setting of a connection over a broker that cannot be.
func (c connectConfig) checkBroker() error {
	errs := []error{c.broker("executor", "").Validate()}
	if c.Enrol != "" {
		errs = append(errs, errors.New("enrol: is for HTTP alone; messkit keys issue at the exchange shows a key, put that into key_file"))
	}
	return errors.Join(errs...)
}

// broker is the connection of an executor over a broker. Its sessions are counted
// in a folder.
func (c connectConfig) broker(executor, dir string) remote.MQTTConfig {
	cfg := remote.MQTTConfig{
		Address:  broker.Address{URL: c.URL, User: c.User, PasswordFile: c.KeyFile, CA: c.CA, Cert: c.Cert, Key: c.Key, Insecure: c.Insecure},
		Exchange: c.Exchange, Executor: executor, Pin: c.Pin,
	}
	if cfg.User == "" && c.KeyFile != "" {
		cfg.User = executor
	}
	if dir != "" {
		cfg.Epoch = epochs(filepath.Join(dir, "mqtt.epoch"))
	}
	return cfg
}

// epochs counts sessions in a file, so that the will of an old one is known as
// such after a restart. A clock that is right helps where the file was lost.
func epochs(name string) func() (uint64, error) {
	var mu sync.Mutex
	return func() (uint64, error) {
		mu.Lock()
		defer mu.Unlock()
		data, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return 0, err
		}
		last, _ := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 63) // what cannot be read begins anew
		next := max(last+1, uint64(max(0, time.Now().Unix())))
		return next, durable.Replace(name, fmt.Appendln(nil, next))
	}
}

// reachTime is how long an exchange may take to show itself.
const reachTime = 5 * time.Second

// reach looks whether the exchange is there, and which one it is. It needs no key
// over HTTP.
func (c connectConfig) reach(ctx context.Context, executor string) (remote.Health, error) {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	if !broker.Is(c.URL) {
		x, err := remote.New(c.remote(""), output.NoLog)
		if err != nil {
			return remote.Health{}, err
		}
		return x.Health(ctx)
	}
	id, err := remote.Find(ctx, c.broker(executor, ""), output.NoLog)
	if err == nil && id == "" {
		err = fmt.Errorf("no exchange is to be found at the broker %s; is it there, and may this executor come in?", c.URL)
	}
	return remote.Health{Exchange: id}, err
}
