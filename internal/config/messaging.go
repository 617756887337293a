package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/exchange/remote/mqttclient"
	"github.com/messkit/messkit/exchange/remote/natsclient"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/mess/topic"
)

// MQTT configures the MQTT channel of an exchange: an embedded broker, or one on another
// machine.
type MQTT struct {
	Listen string `yaml:"listen"` // host:port of the embedded broker; off: none
	// HomeAssistant shows the executors to Home Assistant.
	HomeAssistant bool `yaml:"homeassistant"`
	Clients       int  `yaml:"clients"` // limit of the embedded broker; 0: derived from memory and open files
	broker.Address
}

// DefaultBroker is the default address of the embedded broker. If another program uses it,
// the broker takes another port.
const DefaultBroker = "127.0.0.1:1883"

// NoBroker is the value of listen: for none.
const NoBroker = "off"

// Elsewhere reports whether the broker is another program.
func (c MQTT) Elsewhere() bool { return c.Address != broker.Address{} }

// Validate returns an error for each wrong setting.
func (c MQTT) Validate() error {
	if c.Clients < 0 {
		return fmt.Errorf("clients: %d is too few; write 1 or more, or 0 to derive it from memory and open files", c.Clients)
	}
	if c.Elsewhere() {
		return c.Expanded().Validate()
	}
	if c.Listen != NoBroker && !listenable(c.Listen) {
		return fmt.Errorf("listen: %q is not an address; write host:port, like %s, or %s", c.Listen, DefaultBroker, NoBroker)
	}
	return nil
}

// Expanded returns the address with ~ replaced by the home folder.
func (c MQTT) Expanded() broker.Address {
	a := c.Address
	for _, name := range []*string{&a.PasswordFile, &a.CA, &a.Cert, &a.Key} {
		*name = Expand(*name)
	}
	return a
}

// checkMQTT returns an error for MQTT settings that contradict those of the exchange.
func (c Exchange) checkMQTT() error {
	if c.MQTT.HomeAssistant && !c.MQTT.Elsewhere() && c.MQTT.Listen == NoBroker {
		return errors.New("mqtt: homeassistant: needs MQTT, and listen: is off; write the address of a broker")
	}
	if c.MQTT.HomeAssistant || c.MQTT.Elsewhere() || c.MQTT.Listen != DefaultBroker && c.MQTT.Listen != NoBroker {
		if err := topic.CheckID(c.ID); err != nil {
			return fmt.Errorf("id: %w", err)
		}
	}
	if c.MQTT.Elsewhere() || c.MQTT.Listen == NoBroker || c.Insecure || c.TLSSelf || !c.TLS.IsZero() || isLocalAddress(c.MQTT.Listen) {
		return nil
	}
	return fmt.Errorf("mqtt: listen: %s is beyond this machine, and keys would go there in plain text; write tls: self for the exchange, or insecure: true where a tunnel keeps them", c.MQTT.Listen)
}

// checkBroker returns an error for each wrong setting of a connection over a broker.
func (c Connect) checkBroker() error {
	errs := append(c.checkNoNATS(), c.Broker("executor", "").Validate())
	if c.Enroll != "" {
		errs = append(errs, errors.New("enrol: is for HTTP alone; messkit keys issue at the exchange shows a key, put that into key_file"))
	}
	return errors.Join(errs...)
}

// NATS returns the settings of an executor's connection over NATS servers.
func (c Connect) NATS(executor string) natsclient.Config {
	return natsclient.Config{
		Address:  natslink.Address{URL: c.URL, Credentials: c.Credentials, NKey: c.NKey, CA: c.CA, Cert: c.Cert, Key: c.Key, Insecure: c.Insecure},
		Exchange: c.Exchange, Executor: executor, Key: func() (httpclient.Secret, error) { return ReadKey(c.KeyFile) },
	}
}

// checkNATS returns an error for each wrong setting of a connection over NATS servers.
func (c Connect) checkNATS() error {
	errs := []error{c.NATS("").Validate()}
	if c.KeyFile == "" {
		errs = append(errs, errors.New("key_file: is missing; write the file with this executor's key, which messkit keys issue shows at the exchange"))
	}
	if c.Enroll != "" {
		errs = append(errs, errors.New("enrol: is for HTTP alone; messkit keys issue at the exchange shows a key, put that into key_file"))
	}
	if c.User != "" {
		errs = append(errs, errors.New("user: is for an MQTT broker alone; write credentials_file or nkey_file"))
	}
	if c.Pin != "" {
		errs = append(errs, errors.New("pin: is for HTTP and MQTT alone; write ca: with the certificate that signs those of the servers"))
	}
	return errors.Join(errs...)
}

// checkNoNATS returns an error for each setting that is for NATS servers alone.
func (c Connect) checkNoNATS() (errs []error) {
	for name, text := range map[string]string{"credentials_file": c.Credentials, "nkey_file": c.NKey} {
		if text != "" {
			errs = append(errs, fmt.Errorf("%s: is for NATS servers alone; leave it out, or write nats:// in url", name))
		}
	}
	return errs
}

// Broker returns the settings of an executor's connection over a broker. A file in dir
// counts its sessions.
func (c Connect) Broker(executor, dir string) mqttclient.Config {
	cfg := mqttclient.Config{
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

// epochs counts sessions in a file, so that the exchange recognizes the will of an old session
// after a restart. Without the file, it starts from the clock.
func epochs(name string) func() (uint64, error) {
	var mu sync.Mutex
	return func() (uint64, error) {
		mu.Lock()
		defer mu.Unlock()
		data, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return 0, err
		}
		last, _ := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 63) // a damaged file counts as none
		next := max(last+1, uint64(max(0, time.Now().Unix())))
		return next, durable.Replace(name, fmt.Appendln(nil, next))
	}
}

// ReachTime is the time in which an exchange must answer.
const ReachTime = 5 * time.Second

// Reach connects to the exchange and returns its identity. Over HTTP it needs no key.
func (c Connect) Reach(ctx context.Context, executor string) (httpclient.Health, error) {
	ctx, cancel := context.WithTimeout(ctx, ReachTime)
	defer cancel()
	if natslink.Is(c.URL) {
		found, err := natsclient.Find(ctx, c.NATS(executor), output.NoLog)
		return httpclient.Health{Exchange: found.Exchange}, err
	}
	if !broker.Is(c.URL) {
		x, err := httpclient.New(c.Remote(""), output.NoLog)
		if err != nil {
			return httpclient.Health{}, err
		}
		return x.Health(ctx)
	}
	id, err := mqttclient.Find(ctx, c.Broker(executor, ""), output.NoLog)
	if err == nil && id == "" {
		err = fmt.Errorf("no exchange answers at the broker %s; is it there, and may this executor come in?", c.URL)
	}
	return httpclient.Health{Exchange: id}, err
}
