package mqttdevice

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
	"github.com/eclipse/paho.mqtt.golang/packets"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/family"
)

// link is the connection of one device to its broker.
type link struct {
	cfg      Config
	name     string
	secret   drivers.Secret
	topics   map[string]byte // that are listened to, with their quality of service
	log      *slog.Logger
	now      func() time.Time
	inbox    *inbox
	client   mqtt.Client // since open
	presence *presence   // since open
}

const (
	atLeastOnce  = 1
	longestPause = time.Minute      // between two tries to connect again
	keepAlive    = 30 * time.Second // without a sign of life
	quiesce      = 250              // milliseconds for what is under way at the end
)

// open connects and listens.
func (l *link) open(ctx context.Context) error {
	var first atomic.Bool
	first.Store(true)
	there := new(presence) // of this connection: that of one before may still tell its end
	l.presence = there
	o := mqtt.NewClientOptions().AddBroker(l.cfg.address()).SetClientID(l.id()).SetCleanSession(true).
		SetUsername(l.cfg.Username).SetPassword(string(l.secret)).SetProtocolVersion(4).
		SetConnectTimeout(l.cfg.Timeout).SetWriteTimeout(l.cfg.Timeout).SetKeepAlive(keepAlive).
		SetAutoReconnect(true).SetMaxReconnectInterval(longestPause).SetStore(forgetful{}).
		SetReconnectingHandler(func(_ mqtt.Client, o *mqtt.ClientOptions) { // a broker may yet be clearing away what the last one had
			o.SetClientID(l.id())
		}).
		SetConnectionLostHandler(func(c mqtt.Client, err error) { // it may come when the connection stands again
			if there.away(c, l.now(), err) {
				l.log.Warn("the broker is gone", "err", err)
			}
		}).
		SetOnConnectHandler(func(c mqtt.Client) { // a clean session loses them
			if !first.Swap(false) {
				l.inbox.forget()                      // what was said meanwhile is not known
				c.SubscribeMultiple(l.topics, l.hear) // nobody may wait in a handler
				there.here()
			}
		})
	l.client = mqtt.NewClient(o)
	err := l.wait(ctx, l.client.Connect())
	if err == nil {
		err = l.wait(ctx, l.client.SubscribeMultiple(l.topics, l.hear))
	}
	if err != nil {
		l.client.Disconnect(0)
		return fmt.Errorf("%w: the broker at %s: %w", drivers.ErrNothingDone, l.cfg.address(), explained(err))
	}
	return nil
}

// id is what the client is called at the broker: as the configuration says, else
// otherwise for each connection.
func (l *link) id() string {
	if l.cfg.ClientID != "" {
		return l.cfg.ClientID
	}
	return "messkit-" + l.name + "-" + rand.Text()[:8]
}

// explained says what to do about a broker that does not take the connection.
func explained(err error) error {
	switch {
	case errors.Is(err, packets.ErrorRefusedBadUsernameOrPassword), errors.Is(err, packets.ErrorRefusedNotAuthorised):
		return fmt.Errorf("it refuses the log-in (%w); check username and password, and what the broker lets them do", err)
	case errors.Is(err, packets.ErrorNetworkError):
		return fmt.Errorf("%w; does a broker run there, and is broker right (mqtts for TLS)?", err)
	}
	return err
}

func (l *link) close() {
	l.client.Disconnect(quiesce)
	l.inbox.forget()
}

func (l *link) hear(_ mqtt.Client, m mqtt.Message) {
	l.inbox.put(m.Topic(), m.Payload(), m.Retained(), l.now())
}

var errSlow = errors.New("no answer")

// wait waits for what the broker has to acknowledge.
func (l *link) wait(ctx context.Context, t mqtt.Token) error {
	limit := time.NewTimer(l.cfg.Timeout)
	defer limit.Stop()
	select {
	case <-t.Done():
		return t.Error()
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
		return fmt.Errorf("%w in %v; is it there, and are user and password right?", errSlow, l.cfg.Timeout)
	}
}

// send publishes messages, one after the other, none of them retained.
func (l *link) send(ctx context.Context, list []Message, values family.Values) error {
	for i, m := range list {
		if gone := l.gone(); gone != nil && i == 0 {
			return fmt.Errorf("%w: %w", drivers.ErrNothingDone, gone)
		}
		if err := l.wait(ctx, l.client.Publish(values.Text(m.Topic), atLeastOnce, false, m.payload(values))); err != nil {
			return l.unconfirmed(err)
		}
	}
	return nil
}

// payload is what a message says.
func (m Message) payload(values family.Values) []byte {
	if m.JSON == nil {
		return []byte(values.Text(m.Payload))
	}
	data, _ := json.Marshal(values.JSON(m.JSON)) // it has been read from YAML
	return data
}

// again has the broker send what it keeps of a topic.
func (l *link) again(ctx context.Context, topic string) error {
	if gone := l.gone(); gone != nil {
		return fmt.Errorf("%w: %w", drivers.ErrNothingDone, gone)
	}
	return l.wait(ctx, l.client.Subscribe(topic, atLeastOnce, l.hear))
}

// holds is what the device is told to do something, which no second device can be told:
// its limits would not be those of the first.
func (d *device) holds() []drivers.Hold {
	var list []Message
	switch t := d.template; {
	case t.Switch != nil:
		list = t.Switch.On
	case t.Cover != nil && len(t.Cover.Open) > 0:
		list = t.Cover.Open
	case t.Cover != nil:
		list = t.Cover.To
	}
	if len(list) == 0 {
		return nil
	}
	same := drivers.SameURL(d.cfg.Broker)
	for _, m := range list {
		same += "\n" + d.values.Text(m.Topic) + " " + string(m.payload(d.values))
	}
	return []drivers.Hold{{Key: "with", What: "what obeys " + d.values.Text(list[0].Topic), Same: same}}
}
