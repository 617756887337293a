package mqttdevice

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
	"github.com/eclipse/paho.mqtt.golang/packets"

	"github.com/messkit/messkit/drivers"
)

// presence is whether the broker is there.
type presence struct {
	over chan struct{} // closed when nobody wants it any more

	mu   sync.Mutex
	lost time.Time     // since when it is away; zero: it is not
	why  error         // of that
	back chan struct{} // closed when it is there again
	no   []string      // topics that it does not let us listen to
}

func newPresence() *presence { return &presence{over: make(chan struct{})} }

// refuses reports whether it does not let us listen to a topic.
func (p *presence) refuses(topic string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.no, topic)
}

// here notes that it is there, but for those topics.
func (p *presence) here(no []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.no = no
	if !p.lost.IsZero() {
		p.lost, p.why = time.Time{}, nil
		close(p.back)
	}
}

// away notes that it is not, unless c is connected to it again already.
func (p *presence) away(c mqtt.Client, now time.Time, why error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.IsConnectionOpen() {
		return false
	}
	p.note(now)
	if p.why == nil || why != errLost {
		p.why = why
	}
	return true
}

// lose notes that its connection is being closed.
func (p *presence) lose(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(now)
	if p.why == nil {
		p.why = errLost
	}
}

// note notes since when it is away. mu is held.
func (p *presence) note(now time.Time) {
	if p.lost.IsZero() {
		p.lost, p.back = now, make(chan struct{})
	}
}

// is returns what is closed when the broker is back, and nil if it is not away.
func (p *presence) is() (back <-chan struct{}, since time.Time, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost.IsZero() {
		return nil, time.Time{}, nil
	}
	return p.back, p.lost, p.why
}

// awayError is a broker that is not there.
type awayError struct{ text string }

func (e *awayError) Error() string { return e.text }

// gone is what is wrong with the broker just now; nil if nothing is.
func (l *link) gone() error {
	back, since, why := l.presence.is()
	switch {
	case back != nil:
		return &awayError{fmt.Sprintf("the broker at %s is away since %s (%v); does it run, and is this network up? messkit connects again by itself", l.cfg.address(), since.Format("2006-01-02 15:04:05"), why)}
	case !l.client.IsConnectionOpen():
		return &awayError{fmt.Sprintf("the broker at %s has just gone; does it run, and is this network up? messkit connects again by itself", l.cfg.address())}
	}
	return nil
}

// reach waits a moment for a broker that is away: one that is started anew is back soon.
func (l *link) reach(ctx context.Context) error {
	back, _, _ := l.presence.is()
	if back == nil && l.client.IsConnectionOpen() {
		return nil
	}
	limit := time.NewTimer(l.cfg.Timeout)
	defer limit.Stop()
	select {
	case <-back:
		return nil
	case <-limit.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := l.gone(); err != nil {
		return drivers.NotDone(err)
	}
	return nil
}

// unconfirmed is a command that may be done, and of which nothing was heard.
func (l *link) unconfirmed(err error) error {
	if gone := l.gone(); gone != nil && !errors.Is(err, context.Canceled) {
		err = gone
	}
	return fmt.Errorf("the broker has not confirmed what was sent, and may have it; look at the device: %w", err)
}

// opened is the connection that was opened last.
func (l *link) opened() net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn
}

// giveUp closes the connection of a publish that the broker has not confirmed, with what
// the kernel has not sent of it: else the broker may get it minutes later. The client
// connects again by itself.
func (l *link) giveUp(conn net.Conn) {
	l.unseen.giveUp(l.now())
	if conn == nil {
		return
	}
	if conn == l.opened() {
		l.presence.lose(l.now())
	}
	drivers.DropUnsent(conn, true)
	_ = conn.SetDeadline(time.Unix(1, 0)) // the client closes what fails, and does not notice what others close
}

// outlive gives a publish whose caller has gone the rest of the timeout to be confirmed.
// What is sent next over the connection arrives after it.
func (l *link) outlive(conn net.Conn, t mqtt.Token) {
	go func() {
		if !t.WaitTimeout(l.cfg.Timeout) {
			l.giveUp(conn)
		}
	}()
}

// dial opens a connection for the client's library, and keeps it for reset.
func (l *link) dial(broker *url.URL, o mqtt.ClientOptions) (conn net.Conn, err error) {
	d := &net.Dialer{Timeout: l.cfg.Timeout}
	if broker.Scheme == "tls" {
		conn, err = tls.DialWithDialer(d, "tcp", broker.Host, o.TLSConfig)
	} else {
		conn, err = d.Dial("tcp", broker.Host)
	}
	if err != nil {
		return nil, err // and no *tls.Conn that is nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
	return conn, nil
}

// forgetful is a store that keeps nothing: a command that was not confirmed is not
// sent again when the broker is back, hours later.
type forgetful struct{}

var _ mqtt.Store = forgetful{}

func (forgetful) Open()                             {}
func (forgetful) Put(string, packets.ControlPacket) {}
func (forgetful) Get(string) packets.ControlPacket  { return nil }
func (forgetful) All() []string                     { return nil }
func (forgetful) Del(string)                        {}
func (forgetful) Close()                            {}
func (forgetful) Reset()                            {}
