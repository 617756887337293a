package mqttdevice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/family"
	"github.com/messkit/messkit/drivers/mqttclient"
)

// link is the part of one device in the connection to its broker.
type link struct {
	broker  string        // as configured
	address string        // of it, for people
	timeout time.Duration // for an answer of the device

	client *mqttclient.Client // shared by the devices of the broker
	member *mqttclient.Member
	log    *slog.Logger
	now    func() time.Time
	unseen unseen
}

// options returns what makes the connection.
func (c Config) options(password drivers.Secret) mqttclient.Options {
	return mqttclient.Options{Address: c.address(), Username: c.Username, Password: password, ClientID: c.ClientID, Timeout: c.Timeout}
}

// open connects and listens.
func (l *link) open(ctx context.Context) error {
	return drivers.NotDone(l.client.Join(ctx, l.member))
}

func (l *link) close() { l.client.Leave(l.member) }

// command sends messages that change the device, one after the other, none of them
// retained.
func (l *link) command(ctx context.Context, list []Message, values family.Values) error {
	err := l.send(ctx, list, values, func() { l.unseen.giveUp(l.now()) })
	if err == nil || errors.Is(err, drivers.ErrNothingDone) {
		return err
	}
	l.unseen.add(l.now())
	return drivers.Unanswered(err)
}

// ask sends a message that changes nothing.
func (l *link) ask(ctx context.Context, m *Message, values family.Values) error {
	return l.send(ctx, []Message{*m}, values, nil)
}

// send publishes messages; lost is called for one that the broker does not confirm.
func (l *link) send(ctx context.Context, list []Message, values family.Values, lost func()) error {
	for i, m := range list {
		if gone := l.gone(); gone != nil && i == 0 {
			return drivers.NotDone(gone)
		}
		err := l.client.Publish(ctx, values.Text(m.Topic), m.payload(values), lost)
		switch {
		case err == nil:
		case i == 0 && errors.Is(err, drivers.ErrNothingDone):
			if gone := l.gone(); gone != nil {
				err = gone
			}
			return drivers.NotDone(err)
		default:
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
	if err := l.client.Again(ctx, l.member, topic); err != nil {
		return err
	}
	if l.client.Refuses(topic) {
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
	if l.client.Refuses(topic) {
		return unheard(topic)
	}
	return or
}

// awayError is a broker that is not there.
type awayError struct{ text string }

func (e *awayError) Error() string { return e.text }

// gone is what is wrong with the broker just now; nil if nothing is.
func (l *link) gone() error {
	back, since, why := l.client.Away()
	if back == nil {
		return nil
	}
	return &awayError{fmt.Sprintf("the broker at %s is away since %s (%v); does it run, and is this network up? messkit connects again by itself", l.address, since.Format("2006-01-02 15:04:05"), why)}
}

// reach waits a moment for a broker that is away: one that is started anew is back soon.
func (l *link) reach(ctx context.Context) error {
	back, _, _ := l.client.Away()
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
	return drivers.NotDone(l.gone())
}

// unconfirmed is a command that may be done, and of which nothing was heard.
func (l *link) unconfirmed(err error) error {
	if gone := l.gone(); gone != nil && !errors.Is(err, context.Canceled) {
		err = gone
	}
	if errors.Is(err, drivers.ErrNothingDone) { // of the second message; of the first something was done
		err = errors.New(err.Error())
	}
	return fmt.Errorf("the broker has not confirmed what was sent, and may have it; look at the device: %w", err)
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
	same, values := drivers.SameURL(d.broker), d.values.Same(d.template.With)
	for _, m := range list {
		same += "\n" + values.Text(m.Topic) + " " + string(m.payload(values))
	}
	return []drivers.Hold{{Key: "with", What: "what obeys " + d.values.Text(list[0].Topic), Same: same}}
}
