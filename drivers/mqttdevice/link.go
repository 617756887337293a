package mqttdevice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/mqttclient"
	"github.com/messkit/messkit/drivers/template"
)

// link is the share of one device in the connection to its broker.
type link struct {
	broker  string        // as configured
	address string        // address for people
	timeout time.Duration // for an answer of the device

	client *mqttclient.Client // shared by the devices of the broker
	member *mqttclient.Member
	log    *slog.Logger
	now    func() time.Time
	unseen unseen
}

// options returns the options of the connection.
func (c Config) options(password drivers.Secret) mqttclient.Options {
	return mqttclient.Options{Address: c.address(), Username: c.Username, Password: password, ClientID: c.ClientID, Timeout: c.Timeout}
}

// open connects and subscribes.
func (l *link) open(ctx context.Context) error {
	return drivers.MarkNothingDone(l.client.Join(ctx, l.member))
}

func (l *link) close() { l.client.Leave(l.member) }

// command sends messages that change the device, in order, none of them retained.
func (l *link) command(ctx context.Context, list []Message, values template.Values) error {
	err := l.send(ctx, list, values, func() { l.unseen.giveUp(l.now()) })
	if err == nil || errors.Is(err, drivers.ErrNothingDone) {
		return err
	}
	l.unseen.add(l.now())
	return drivers.MarkMayAct(err)
}

// ask sends a message that changes nothing.
func (l *link) ask(ctx context.Context, m *Message, values template.Values) error {
	return l.send(ctx, []Message{*m}, values, nil)
}

// send publishes messages. It calls lost for a message that the broker does not
// acknowledge.
func (l *link) send(ctx context.Context, list []Message, values template.Values, lost func()) error {
	for i, m := range list {
		if gone := l.unreachableError(); gone != nil && i == 0 {
			return drivers.MarkNothingDone(gone)
		}
		err := l.client.Publish(ctx, values.Text(m.Topic), m.payload(values), lost)
		switch {
		case err == nil:
		case i == 0 && errors.Is(err, drivers.ErrNothingDone):
			if gone := l.unreachableError(); gone != nil {
				err = gone
			}
			return drivers.MarkNothingDone(err)
		default:
			return l.unconfirmed(err)
		}
	}
	return nil
}

// payload returns the payload of a message.
func (m Message) payload(values template.Values) []byte {
	if m.JSON == nil {
		return []byte(values.Text(m.Payload))
	}
	data, _ := json.Marshal(values.JSON(m.JSON)) // cannot fail, because the value comes from YAML
	return data
}

// requestRetained requests the retained message of a topic.
func (l *link) requestRetained(ctx context.Context, topic string) error {
	if gone := l.unreachableError(); gone != nil {
		return drivers.MarkNothingDone(gone)
	}
	if err := l.client.Resubscribe(ctx, l.member, topic); err != nil {
		return err
	}
	if l.client.Refuses(topic) {
		return errors.New(subscriptionError(topic))
	}
	return nil
}

// subscriptionError returns the error text for a rejected subscription.
func subscriptionError(topic string) string {
	return fmt.Sprintf("the broker rejects the subscription to %s; check the read permissions of the user on the broker", topic)
}

// silent returns the error text for a topic without a message: or, unless the broker is the
// cause.
func (l *link) silent(topic, or string) string {
	if gone := l.unreachableError(); gone != nil { // the connection may have ended before the retained messages
		return gone.Error()
	}
	if l.client.Refuses(topic) {
		return subscriptionError(topic)
	}
	return or
}

// awayError reports that the broker is unreachable.
type awayError struct{ text string }

func (e *awayError) Error() string { return e.text }

// unreachableError returns an error while the broker is unreachable, else nil.
func (l *link) unreachableError() error {
	back, since, reason := l.client.Disconnected()
	if back == nil {
		return nil
	}
	return &awayError{fmt.Sprintf("the broker at %s is unreachable since %s (%v); check that it runs and that this network is up. messkit reconnects automatically", l.address, since.Format("2006-01-02 15:04:05"), reason)}
}

// reach waits a moment for an unreachable broker, because a restart is short.
func (l *link) reach(ctx context.Context) error {
	back, _, _ := l.client.Disconnected()
	if back == nil {
		return nil
	}
	limit := time.NewTimer(l.timeout)
	defer limit.Stop()
	select {
	case <-back:
		return nil
	case <-limit.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return drivers.MarkNothingDone(l.unreachableError())
}

// unconfirmed returns the error of a command with an unknown outcome.
func (l *link) unconfirmed(err error) error {
	if gone := l.unreachableError(); gone != nil && !errors.Is(err, context.Canceled) {
		err = gone
	}
	if errors.Is(err, drivers.ErrNothingDone) { // the second message failed, but the first may have changed the device
		err = errors.New(err.Error())
	}
	return fmt.Errorf("the broker has not acknowledged the message, but may have it; inspect the device: %w", err)
}

// holds returns the command of the device, which no second device may share: the safety
// limits of the first would not apply to it.
func (d *device) holds() []drivers.Resource {
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
	same, values := drivers.URLIdentity(d.broker), d.values.Same(d.template.With)
	for _, m := range list {
		same += "\n" + values.Text(m.Topic) + " " + string(m.payload(values))
	}
	return []drivers.Resource{{Key: "with", Label: "command topic " + d.values.Text(list[0].Topic), Identity: same}}
}
