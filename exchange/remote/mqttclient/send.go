package mqttclient

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/remote/mailbox"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// resendInterval is the wait for an answer before the client sends the message again: the broker may
// have lost it. swallowed is that wait without an acknowledgment of the broker.
const (
	resendInterval = 5 * time.Second
	swallowed      = time.Minute
)

// attachTime is the maximum duration of an upload: a remote broker does not report that it
// rejected a file for the thread of another executor.
const attachTime = 5 * time.Minute

// Send posts a message and returns the immediate answer of the exchange. It sends the message
// again until an answer arrives or ctx ends. The message's id makes this idempotent.
func (c *Client) Send(ctx context.Context, m mess.Message) (mess.Message, error) {
	if err := c.await(ctx); err != nil {
		return mess.Message{}, err
	}
	if m.ID == "" {
		m.ID = "m-" + rand.Text()
	}
	m.Version = cmp.Or(m.Version, mess.Current)
	text, err := m.JSON()
	if err != nil {
		return mess.Message{}, err
	}
	about := mailbox.ExecutorOf(m)
	c.introduce(ctx, about)
	era := c.inbox.Era()
	out := broker.Message{Topic: c.root.Executor(c.cfg.Executor, topic.Out), Payload: text}
	answer, err := c.ask(ctx, m.ID, out)
	if err == nil && about != nil {
		c.publishStatusOf(ctx, about)
		if about.Capabilities != nil {
			c.inbox.Registered(era)
		}
	}
	return answer, err
}

// Attach uploads a file as raw bytes, and waits until the exchange reports that it has it.
func (c *Client) Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error) {
	ctx, cancel := context.WithTimeout(ctx, attachTime)
	defer cancel()
	if err := c.await(ctx); err != nil {
		return mess.Media{}, err
	}
	m, all, err := mailbox.ReadFile(name, mime, data, c.maxFile())
	if err != nil {
		return mess.Media{}, err
	}
	if !topic.ValidName(ref) {
		return mess.Media{}, mess.Errorf(mess.NotFound, "there is no thread %q", ref)
	}
	if len(all) == 0 {
		return mess.Media{}, mess.Errorf(mess.Invalid, "%s: is empty; over MQTT there are no empty attachments", name)
	}
	for {
		answer, err := c.ask(ctx, "t/"+ref+"/att/"+m.File, broker.Message{Topic: c.root.Attachment(ref, m.File), Payload: all})
		if err != nil {
			return mess.Media{}, err
		}
		if mailbox.HasFile(answer, m.SHA256) {
			return m, nil
		}
		// The answer is for an earlier upload of this name.
		if !wait.For(ctx, time.Second) {
			return mess.Media{}, context.Cause(ctx)
		}
	}
}

// await waits until Run has found the exchange.
func (c *Client) await(ctx context.Context) error {
	select {
	case <-c.made:
		return nil
	case <-ctx.Done():
		return mess.Errorf(mess.Unavailable, "messkit has not found an exchange at the broker %s yet", c.cfg.Host())
	}
}

// ask publishes a message until its answer arrives. key is the reference in the answer.
func (c *Client) ask(ctx context.Context, key string, m broker.Message) (mess.Message, error) {
	wait := c.expect(key)
	defer c.removeWaiter(key, wait)
	for {
		sctx, err := c.link.Session(ctx)
		if err != nil {
			return mess.Message{}, c.unreachable(err)
		}
		answer, ok := c.publishAndWait(ctx, sctx, m, wait)
		switch {
		case ok:
			return answer, mailbox.Refusal(answer)
		case ctx.Err() != nil:
			return mess.Message{}, c.unreachable(errNoAnswer)
		}
	}
}

// publishAndWait publishes a message once. It waits for the answer until the session ends or the
// resend is due.
func (c *Client) publishAndWait(ctx, session context.Context, m broker.Message, wait <-chan mess.Message) (answer mess.Message, ok bool) {
	pctx, cancel := context.WithCancel(session)
	defer cancel()
	again := time.NewTimer(swallowed)
	defer again.Stop()
	sent := make(chan error, 1)
	var g errgroup.Group
	g.Go(func() error { sent <- c.link.Publish(pctx, m); return nil })
	defer func() { cancel(); _ = g.Wait() }() // it returns nil
	for {
		select {
		case answer := <-wait:
			return answer, true
		case err := <-sent:
			if err != nil && pctx.Err() == nil {
				c.log.Debug("not published yet", "topic", m.Topic, "err", err)
			}
			again.Reset(resendInterval)
		case <-session.Done():
			return answer, false
		case <-again.C:
			return answer, false
		case <-ctx.Done():
			return answer, false
		}
	}
}

var errNoAnswer = errors.New("no answer in time")

func (c *Client) unreachable(err error) error {
	if errors.Is(err, broker.ErrRefused) {
		return mess.Errorf(mess.Unauthorized, "the broker at %s: %v", c.cfg.Host(), err)
	}
	return mess.Errorf(mess.Unavailable, "the exchange at the broker %s: %v", c.cfg.Host(), err)
}

// expect registers a wait for the answer with a key. A later wait with the same key replaces it.
func (c *Client) expect(key string) chan mess.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := make(chan mess.Message, 1)
	c.waits[key] = w
	return w
}

func (c *Client) removeWaiter(key string, w chan mess.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits[key] == w {
		delete(c.waits, key)
	}
}

// passAnswer passes an answer to its waiting caller. It reports whether the message is an answer.
func (c *Client) passAnswer(m mess.Message) bool {
	if m.From != mailbox.Exchange || len(m.Re) != 1 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.waits[m.Re[0]]
	if w == nil {
		return onlyAcks(m) // the answer to a resent message
	}
	select {
	case w <- m:
	default:
	}
	return true
}

func onlyAcks(m mess.Message) bool {
	for _, item := range m.Items {
		if item.Kind() != mess.KindAck {
			return false
		}
	}
	return len(m.Items) > 0
}
