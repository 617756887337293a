package mqttdevice

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
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
	unseen   unseen

	mu   sync.Mutex
	conn net.Conn // the last that was opened
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
	there := newPresence() // of this connection: that of one before may still tell its end
	l.presence = there
	o := mqtt.NewClientOptions().AddBroker(l.cfg.address()).SetClientID(l.id()).SetCleanSession(true).
		SetUsername(l.cfg.Username).SetPassword(string(l.secret)).SetProtocolVersion(4).
		SetConnectTimeout(l.cfg.Timeout).SetWriteTimeout(l.cfg.Timeout).SetKeepAlive(keepAlive).
		SetAutoReconnect(true).SetMaxReconnectInterval(longestPause).SetStore(forgetful{}).
		SetCustomOpenConnectionFn(l.dial).
		SetReconnectingHandler(func(c mqtt.Client, o *mqtt.ClientOptions) {
			there.away(c, l.now(), errLost) // until it listens again
			o.SetClientID(l.id())           // a broker may yet be clearing away what the last one had
		}).
		SetConnectionLostHandler(func(c mqtt.Client, err error) { // it may come when the connection stands again
			if there.away(c, l.now(), err) {
				l.log.Warn("the broker is gone", "err", err)
			}
		}).
		SetOnConnectHandler(func(c mqtt.Client) { // a clean session loses them
			if !first.Swap(false) {
				l.inbox.forget() // what was said meanwhile is not known
				l.listenAgain(c, there)
			}
		})
	l.client = mqtt.NewClient(o)
	err := l.wait(ctx, l.client.Connect())
	if err == nil {
		err = l.listenTo(ctx, l.client, there)
	}
	if err != nil {
		l.client.Disconnect(0)
		return drivers.NotDone(fmt.Errorf("the broker at %s: %w", l.cfg.address(), explained(err)))
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
	close(l.presence.over)
	l.client.Disconnect(quiesce)
	l.inbox.forget()
}

// listenTo subscribes to all topics, and notes those that the broker refuses.
func (l *link) listenTo(ctx context.Context, c mqtt.Client, there *presence) error {
	t, err := l.subscribe(ctx, c)
	if err != nil {
		return err
	}
	no := refused(t)
	if len(no) > 0 {
		l.log.Warn("the broker does not let it listen", "topics", no)
	}
	there.here(no)
	return nil
}

// subscribe does so until the broker takes it: one may take the packet's number for one
// of its own, and says no to all then.
func (l *link) subscribe(ctx context.Context, c mqtt.Client) (mqtt.Token, error) {
	for range 4 {
		t := c.SubscribeMultiple(l.topics, l.hear)
		if err := l.wait(ctx, t); err != nil {
			return nil, err
		}
		if len(topicsOf(t, func(code byte) bool { return code >= refuses && !forbids(code) })) == 0 {
			return t, nil
		}
	}
	return nil, errors.New("the broker takes no subscription")
}

// listenAgain listens when the broker is back, which is there from then on; until then
// what the device tells would be missed.
func (l *link) listenAgain(c mqtt.Client, there *presence) {
	for pause := time.Second; c.IsConnectionOpen(); pause = min(longestPause, 2*pause) {
		err := l.listenTo(context.Background(), c, there)
		if err == nil {
			return
		}
		l.log.Warn("the broker is back, and does not let it listen yet", "err", err)
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-there.over:
			t.Stop()
			return
		}
	}
}

// refuses is the least code of a subscription that a broker does not take.
const refuses = 0x80

// forbids reports whether a broker does not let us listen: in the words of MQTT 3.1.1
// (§3.9.3), or of 5, which some say to clients of 3.1.1 too.
func forbids(code byte) bool { return code == refuses || code == 0x87 }

// refused are the topics to which a broker does not let us listen.
func refused(t mqtt.Token) []string { return topicsOf(t, forbids) }

// topicsOf are those of a subscription that have such a code.
func topicsOf(t mqtt.Token, is func(code byte) bool) (topics []string) {
	if s, ok := t.(*mqtt.SubscribeToken); ok {
		for topic, code := range s.Result() {
			if is(code) {
				topics = append(topics, topic)
			}
		}
	}
	slices.Sort(topics)
	return topics
}

func (l *link) hear(_ mqtt.Client, m mqtt.Message) {
	l.inbox.put(m.Topic(), m.Payload(), m.Retained(), l.now())
}

var (
	errSlow = errors.New("no answer")
	errLost = errors.New("the connection was lost")
)

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

// send publishes messages, one after the other, none of them retained. It closes the
// connection of one that the broker does not confirm in time.
func (l *link) send(ctx context.Context, list []Message, values family.Values) error {
	for i, m := range list {
		if gone := l.gone(); gone != nil && i == 0 {
			return drivers.NotDone(gone)
		}
		conn := l.opened()
		t := l.client.Publish(values.Text(m.Topic), atLeastOnce, false, m.payload(values))
		switch err := l.wait(ctx, t); {
		case err == nil:
		case ctx.Err() != nil:
			l.outlive(conn, t)
			return l.unconfirmed(err)
		default:
			l.giveUp(conn)
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
		return drivers.NotDone(gone)
	}
	t := l.client.Subscribe(topic, atLeastOnce, l.hear)
	if err := l.wait(ctx, t); err != nil {
		return err
	}
	if len(refused(t)) > 0 {
		return errors.New(unheard(topic))
	}
	return nil
}

// unheard says that a topic cannot be listened to.
func unheard(topic string) string {
	return fmt.Sprintf("the broker does not let messkit listen on %s; check what it lets this user read", topic)
}

// silent says that nothing came on a topic; or is what else may be wrong.
func (l *link) silent(topic, or string) string {
	if gone := l.gone(); gone != nil { // which may have been before the broker said what it keeps
		return gone.Error()
	}
	if l.presence.refuses(topic) {
		return unheard(topic)
	}
	return or
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
	same, values := drivers.SameURL(d.cfg.Broker), d.values.Same(d.template.With)
	for _, m := range list {
		same += "\n" + values.Text(m.Topic) + " " + string(m.payload(values))
	}
	return []drivers.Hold{{Key: "with", What: "what obeys " + d.values.Text(list[0].Topic), Same: same}}
}
