package mqttclient

import (
	"context"
	"errors"

	"github.com/eclipse/paho.mqtt.golang/packets"

	"github.com/messkit/messkit/drivers"
)

// separateAfter is the number of successive disconnects with a message of one topic under way
// after which messages of that topic get connections of their own. Some brokers disconnect
// a user that may not write a topic, and the other devices must keep their connection.
const separateAfter = 2

// Publish sends a message that is not retained, and waits until the broker has acknowledged
// it. After an error the broker may have it, unless the error is drivers.ErrNothingDone.
// Publish calls lost when no acknowledgment can follow: before it returns, or later if ctx
// has ended. lost may be nil.
func (c *Client) Publish(ctx context.Context, topic string, payload []byte, lost func()) error {
	c.mu.Lock()
	s, cuts := c.session, c.cuts[topic]
	c.mu.Unlock()
	if s == nil {
		return drivers.MarkNothingDone(errLost)
	}
	if cuts >= separateAfter && c.opts.ClientID == "" { // a second connection with the same client ID would end the first
		var err error
		if s, err = c.openSeparate(ctx); err != nil {
			return drivers.MarkNothingDone(explained(err))
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

// openSeparate opens a session for one message.
func (c *Client) openSeparate(ctx context.Context) (*session, error) {
	conn, in, err := dial(ctx, c.opts)
	if err != nil {
		return nil, err
	}
	s := newSession(conn, in, c.opts.Timeout, func(*packets.PublishPacket) {}, func(error) {})
	c.group.Go(s.read)
	return s, nil
}
