package simulation_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// link is one party's network connection to the exchange. It is slow, and it loses, duplicates,
// reorders and delays messages.
type link struct {
	process string // name of a second process of this party, with its own random faults
	s       *server
	who     exchange.Actor

	dies func(place string, prob float64) bool // dies of the sender's machine; nil for people
	base *link                                 // contains the state that survives a reboot; nil for itself

	mu    sync.Mutex
	down  bool               // no Wi-Fi
	cut   context.CancelFunc // ends the current Receive
	acked []acked            // messages whose acks arrived
}

// acked is a message that the exchange has acknowledged.
type acked struct{ id, what string }

var _ agent.Exchange = (*link)(nil)

var errNet = mess.Errorf(mess.Unavailable, "the network is not there")

// key identifies a message by its content.
func key(m mess.Message) string {
	s := fmt.Sprint(m.Re)
	for _, i := range m.Items {
		s += " " + string(i.Kind())
		if st, ok := i.(*mess.Status); ok {
			s += ":" + string(st.Code)
		}
	}
	return s
}

// latency returns the latency of one way. It is mostly short, and sometimes longer than a lease.
func latency(c *chance, r *rand.Rand) time.Duration {
	if c.bad(r, 0.01) {
		return between(r, time.Second, 90*time.Second)
	}
	return between(r, time.Millisecond, 300*time.Millisecond)
}

// lasting returns the part of a link that survives a reboot.
func (l *link) lasting() *link {
	if l.base != nil {
		return l.base
	}
	return l
}

func (l *link) isDown() bool {
	l = l.lasting()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.down
}

// Send sends a message to the exchange and returns the answer. A message in transit arrives even
// if its sender dies.
func (l *link) Send(ctx context.Context, m mess.Message) (mess.Message, error) {
	if l.dies != nil && l.dies("before sending "+key(m), 0.002) {
		<-ctx.Done()
		return mess.Message{}, ctx.Err()
	}
	answer, err := call(ctx, l, key(m), func(x *exchange.Exchange) (mess.Message, error) {
		return x.As(l.who, "sim").Send(context.Background(), m)
	}, func() { l.lasting().note(m) })
	prob := 0.002
	if err == nil && asksToStart(m) {
		prob = 0.02
	}
	if l.dies != nil && l.dies("after sending "+key(m), prob) {
		if prob > 0.01 {
			l.s.count(&l.s.granted)
		}
		<-ctx.Done()
		return mess.Message{}, ctx.Err()
	}
	return answer, err
}

// asksToStart reports whether a message requests the start permission.
func asksToStart(m mess.Message) bool {
	for _, i := range m.Items {
		if s, ok := i.(*mess.Status); ok && s.Code == mess.InProgress && s.Instance != "" {
			return true
		}
	}
	return false
}

func (l *link) note(m mess.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.ID != "" {
		l.acked = append(l.acked, acked{m.ID, key(m)})
	}
}

// call runs f on the exchange, with network latency and faults.
func call[T any](ctx context.Context, l *link, what string, f func(*exchange.Exchange) (T, error), heard func()) (T, error) {
	type answer struct {
		v   T
		err error
	}
	c, r := l.s.chance, l.s.chance.at(l.who.ID+l.process, what)
	back := make(chan answer, 1)
	go func() {
		time.Sleep(latency(c, r))
		x, over := l.s.pick(r)
		if x == nil || l.isDown() || c.bad(r, 0.02) {
			l.s.count(&l.s.lost)
			time.Sleep(between(r, time.Second, 40*time.Second))
			back <- answer{err: errNet}
			return
		}
		v, err := f(x)
		if c.bad(r, 0.02) {
			l.s.count(&l.s.doubled)
			again := between(r, time.Millisecond, 2*time.Minute)
			go func() {
				time.Sleep(again)
				if x, _ := l.s.pick(c.at(l.who.ID+l.process, "again", what)); x != nil {
					_, _ = f(x)
				}
			}()
		}
		time.Sleep(latency(c, r))
		if over.Err() != nil || l.isDown() || c.bad(r, 0.02) {
			l.s.count(&l.s.lost)
			time.Sleep(between(r, time.Second, 40*time.Second))
			back <- answer{err: errNet}
			return
		}
		back <- answer{v, err}
	}()
	select {
	case a := <-back:
		if a.err == nil && ctx.Err() == nil {
			heard()
		}
		return a.v, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Receive passes the messages of the exchange to handle: each after its own latency, and some
// twice. After a lost message, the connection breaks after a while.
func (l *link) Receive(ctx context.Context, handle func(mess.Message)) error {
	c := l.s.chance
	r := c.at(l.who.ID+l.process, "receive")
	if !sleep(ctx, latency(c, r)) {
		return ctx.Err()
	}
	x, over := l.s.pick(r)
	if x == nil || l.isDown() {
		sleep(ctx, between(r, time.Second, 20*time.Second))
		return errNet
	}
	lctx, cut := context.WithCancel(ctx)
	defer cut()
	defer context.AfterFunc(over, cut)()
	broken := make(chan struct{})
	var once sync.Once
	base := l.lasting()
	base.mu.Lock()
	base.cut = func() { once.Do(func() { close(broken) }); cut() }
	base.mu.Unlock()
	var one sync.Mutex
	deliver := func(after time.Duration, m mess.Message) {
		t := time.NewTimer(after)
		defer t.Stop()
		select {
		case <-broken:
		case <-lctx.Done():
		case <-t.C:
			one.Lock()
			defer one.Unlock()
			handle(m)
		}
	}
	err := x.As(l.who, "sim").Receive(lctx, func(m mess.Message) {
		r := c.at(l.who.ID+l.process, "to", m.Ref, key(m))
		if c.bad(r, 0.01) {
			l.s.count(&l.s.lost)
			once.Do(func() { close(broken) })
			go func() {
				sleep(lctx, between(r, time.Second, time.Minute))
				cut()
			}()
			return
		}
		go deliver(latency(c, r), m)
		if c.bad(r, 0.03) {
			l.s.count(&l.s.doubled)
			go deliver(between(r, time.Second, 5*time.Minute), m)
		}
	})
	if ctx.Err() == nil {
		return errNet
	}
	return err
}

// Attach uploads an attachment to the exchange.
func (l *link) Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error) {
	all, err := io.ReadAll(data)
	if err != nil {
		return mess.Media{}, err
	}
	return call(ctx, l, "attach "+ref+name, func(x *exchange.Exchange) (mess.Media, error) {
		return x.As(l.who, "sim").Attach(context.Background(), ref, name, mime, bytes.NewReader(all))
	}, func() {})
}

// flap interrupts the network from time to time.
func (l *link) flap(ctx context.Context) {
	for n := 0; ; n++ {
		r := l.s.chance.of("flap", l.who.ID, n)
		if !sleep(ctx, between(r, time.Minute, 4*time.Hour)) {
			return
		}
		l.mu.Lock()
		l.down = !l.s.chance.healed.Load()
		hangUp := l.cut
		l.mu.Unlock()
		if hangUp != nil {
			hangUp()
		}
		sleep(ctx, between(r, time.Second, 4*time.Minute))
		l.mu.Lock()
		l.down = false
		l.mu.Unlock()
	}
}
