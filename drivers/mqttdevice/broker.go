package mqttdevice

import (
	"context"
	"errors"
	"fmt"
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
	if p.lost.IsZero() {
		p.lost, p.back = now, make(chan struct{})
	}
	if p.why == nil || why != errLost {
		p.why = why
	}
	return true
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
