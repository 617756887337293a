package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mqtt"
	"github.com/messkit/messkit/exchange/channel/natsapi"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/mess/topic"
)

// mqttChannel is the MQTT channel of an exchange, ready to run.
type mqttChannel struct {
	adapter  *mqtt.Adapter
	embedded *mqtt.Embedded // nil: the broker is elsewhere
	run      func(context.Context) error
	close    func() error
}

// openMessaging opens the channels for MQTT and NATS.
func (e *OwnExchange) openMessaging(a *output.Env, cfg *config.Exchange, k *keys.Keys, secure *tls.Config, log *slog.Logger) (err error) {
	if e.mqtt, err = openMQTT(a, cfg, e.x, k, secure, log); err == nil {
		e.nats, err = openNATS(a, cfg, e.x, k, log)
	}
	return err
}

// openMQTT opens the port of the built-in broker, or connects to another broker, and prints the
// address. Without an MQTT channel it returns nil.
func openMQTT(a *output.Env, cfg *config.Exchange, x *exchange.Exchange, k *keys.Keys, secure *tls.Config, log *slog.Logger) (*mqttChannel, error) {
	if !cfg.MQTT.Elsewhere() && cfg.MQTT.Listen == config.NoBroker {
		return nil, nil
	}
	if err := topic.CheckID(cfg.ID); err != nil {
		log.Warn("there is no MQTT here", "err", err)
		return nil, nil
	}
	d, err := mqtt.New(x, mqtt.Config{Version: output.Version, MaxAttachment: cfg.MaxAttachment, HomeAssistant: cfg.MQTT.HomeAssistant}, time.Now, log)
	if err != nil {
		return nil, err
	}
	if cfg.MQTT.Elsewhere() {
		o := mqtt.NewExternal(d, mqtt.ExternalConfig{Address: cfg.MQTT.Expanded()}, log)
		_, err := fmt.Fprintf(a.Out, "mqtt at the broker %s\n", cfg.MQTT.URL)
		return &mqttChannel{adapter: d, run: o.Run, close: func() error { return nil }}, err
	}
	l, taken, err := listenMQTT(cfg.MQTT.Listen)
	if err != nil {
		return nil, err
	}
	if secure == nil && !cfg.Insecure && !config.IsLocal(l.Addr()) {
		return nil, errors.Join(fmt.Errorf("mqtt: listen: %s is %s, which is beyond this machine; write 127.0.0.1 or tls: self", cfg.MQTT.Listen, l.Addr()), l.Close())
	}
	e := mqtt.NewEmbedded(d, k, mqtt.EmbeddedConfig{TLS: secure, Reserved: cfg.Reserved, Clients: cfg.MQTT.Clients}, log)
	_, err = fmt.Fprintf(a.Out, "mqtt at %s%s\n", map[bool]string{false: "mqtt://", true: "mqtts://"}[secure != nil]+config.Reachable(l.Addr()), taken)
	return &mqttChannel{adapter: d, embedded: e, run: func(ctx context.Context) error { return e.Run(ctx, l) }, close: l.Close}, err
}

// openNATS makes the API for executors that connect to NATS servers, and prints the addresses. Without
// servers it returns nil.
func openNATS(a *output.Env, cfg *config.Exchange, x *exchange.Exchange, k *keys.Keys, log *slog.Logger) (*natsapi.API, error) {
	e := cfg.Executors
	if e == nil {
		return nil, nil
	}
	api := natsapi.New(x, k, natsapi.Config{Address: e.Address, Subjects: e.Subjects(cfg.ID), MaxAttachment: cfg.MaxAttachment}, log)
	if err := api.Connect(); err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	_, err := fmt.Fprintf(a.Out, "executors over NATS at %s\n", e.URL)
	return api, err
}

// listenMQTT opens the port. If another program has the default port, it opens a free one, and
// returns a note in taken.
func listenMQTT(addr string) (l net.Listener, taken string, err error) {
	l, err = net.Listen("tcp", addr)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return l, "", err
	}
	if addr != config.DefaultBroker {
		return nil, "", output.Hint(err, "another broker may be running there; choose another port with mqtt: listen:, or use that broker with mqtt: url:")
	}
	l, err = net.Listen("tcp", "127.0.0.1:0")
	return l, " (another program has port 1883)", err
}
