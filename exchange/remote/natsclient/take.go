package natsclient

import (
	"github.com/nats-io/nats.go"

	"github.com/messkit/messkit/exchange/remote/mailbox"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// maxEvent is the limit of a message of the exchange, in bytes.
const maxEvent = 16 << 20

// take processes a message of the exchange in a session. It does not block, and one subscription calls
// it for one message at a time.
func (c *Client) take(s *session, m *nats.Msg) {
	defer mistake.Caught(c.log, "subject", m.Subject, "bytes", len(m.Data))
	c.mu.Lock()
	secret := c.secret
	c.mu.Unlock()
	h, part, _, err := natslink.Open(m.Data, secret)
	if err != nil || h.Executor != c.cfg.Executor || h.Session != s.name {
		c.log.Warn("the executor ignores a message over NATS that is not signed by its exchange", "err", err)
		return
	}
	wait.Notify(s.beat)
	switch h.Kind {
	case natslink.Beat:
		c.mu.Lock()
		begun := s.node != ""
		c.mu.Unlock()
		if begun {
			c.tell(s, natslink.Alive)
		}
	case natslink.End:
		s.end(errEnded)
	case natslink.News, natslink.Order:
		if h.Number > s.number { // else it has come twice
			if h.Number != s.number+1 {
				s.end(natslink.ErrGap)
				return
			}
			body, complete, err := s.joined.Add(h, part, maxEvent)
			if err != nil {
				s.end(err)
				return
			}
			if complete {
				s.number = h.Number
				c.put(h.Kind, body)
			}
		}
		answer := natslink.Head{Kind: natslink.Answer, Executor: h.Executor, ID: h.ID, Number: h.Number, Part: h.Part}
		if err := m.Respond(natslink.Seal(secret, answer, nil)); err != nil {
			c.log.Debug("an acknowledgment was not sent over NATS", "err", err)
		}
	}
}

// put passes a message to the executor.
func (c *Client) put(k natslink.Kind, body []byte) {
	m, err := mess.Parse(body)
	if err != nil {
		c.log.Warn("the executor cannot read a message of the exchange", "bytes", len(body), "err", err)
		return
	}
	if k == natslink.Order {
		m, _ = mailbox.Orders(m)
	}
	if len(m.Items) > 0 {
		c.box.Put(m, k == natslink.Order)
	}
}
