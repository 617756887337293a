package mqttclient

import (
	"context"
	"errors"

	"github.com/eclipse/paho.mqtt.golang/packets"

	"github.com/messkit/messkit/drivers"
)

// cutsApart is how many connections in a row the broker ends with a message of a topic
// under way, until messages of that topic get connections of their own. Some brokers end
// the connection of an account that may not write a topic, and the other devices shall keep
// theirs.
const cutsApart = 2

// Publish sends a message that is not retained, and waits until the broker has
// acknowledged it. With an error the broker may have it, unless that is
// drivers.ErrNothingDone. Publish calls lost, which may be nil, when there will be no
// acknowledgment: before it returns, or later where ctx has ended.
func (c *Client) Publish(ctx context.Context, topic string, payload []byte, lost func()) error {
	c.mu.Lock()
	s, cuts := c.session, c.cuts[topic]
	c.mu.Unlock()
	if s == nil {
		return drivers.NotDone(errLost)
	}
	if cuts >= cutsApart && c.opts.ClientID == "" { // else it would end the connection of the others itself
		var err error
		if s, err = c.apart(ctx); err != nil {
			return drivers.NotDone(explained(err))
		}
		defer s.close()
	}
	err := s.publish(ctx, topic, payload, func() {
		if errors.Is(s.err(), errLost) {
			c.mu.Lock()
			c.cuts[topic]++
			c.mu.Unlock()
		}
		if lost != nil {
			lost()
		}
	})
	if err == nil && cuts > 0 {
		c.mu.Lock()
		delete(c.cuts, topic)
		c.mu.Unlock()
	}
	return err
}

// apart makes a session for one message.
func (c *Client) apart(ctx context.Context) (*session, error) {
	conn, in, err := dial(ctx, c.opts)
	if err != nil {
		return nil, err
	}
	s := newSession(conn, in, c.opts.Timeout, func(*packets.PublishPacket) {}, func(error) {})
	c.group.Go(s.read)
	return s, nil
}
