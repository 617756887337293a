package port_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/messkit/messkit/internal/broker/port"
)

// A client connects again while the broker still removes the state of its last connection. It
// stays on the broker's list, and receives its subscriptions.
func TestReconnectDuringCleanUp(t *testing.T) {
	for _, version := range []byte{4, 5} {
		t.Run(strconv.Itoa(int(version)), func(t *testing.T) {
			clearing, goOn := make(chan struct{}), make(chan struct{})
			var begun atomic.Bool
			s, address := serving(t, &hookGates{unsubscribed: func(*mochi.Client) {
				if !begun.Swap(true) {
					close(clearing)
					<-goOn // the broker deletes the client's id next
				}
			}})
			first := newPeer(t, address, hello{id: "x", version: version, clean: true})
			first.subscribe("t")
			_ = first.Close()
			await(t, clearing, "the first connection is cleared away")
			stands := make(chan *peer, 1)
			go func() {
				c := newPeer(t, address, hello{id: "x", version: version, clean: true})
				c.subscribe("t")
				stands <- c
			}()
			var second *peer
			select {
			case second = <-stands: // the broker did not delay it
			case <-time.After(200 * time.Millisecond):
			}
			close(goOn)
			if second == nil {
				second = await(t, stands, "the second connection stands")
			}
			wait(t, "only the second is left", func() bool { return atomic.LoadInt64(&s.Info.ClientsConnected) == 1 })
			if is, ok := s.Clients.Get("x"); !ok || is.Closed() {
				t.Fatal("the client is not on the broker's list")
			}
			publishTo(t, s, "t", "news")
			second.wantPacket("news")
		})
	}
}

// A connection with the id of an open one replaces it. The broker publishes the will of the first
// before it accepts the second, except a will with a delay. A persistent session remains.
func TestNewConnectionReplacesOldOne(t *testing.T) {
	for _, version := range []byte{4, 5} {
		for _, clean := range []bool{true, false} {
			for _, delay := range []uint32{0, 600} {
				if delay > 0 && (version == 4 || clean) {
					continue // the delay does not exist, or ends with the session
				}
				name := "version " + strconv.Itoa(int(version)) + ", clean " + strconv.FormatBool(clean) + ", delay " + strconv.Itoa(int(delay))
				t.Run(name, func(t *testing.T) {
					s, address := serving(t)
					witness := newPeer(t, address, hello{id: "witness", version: 4, clean: true})
					witness.subscribe("w")
					h := hello{id: "x", version: version, clean: clean, will: "w", delay: delay}
					first := newPeer(t, address, h)
					first.subscribe("t")
					second := newPeer(t, address, h)
					if second.present == clean {
						t.Errorf("a session is there: %v", second.present)
					}
					second.publish("w", "birth")
					if delay == 0 {
						witness.wantPacket("gone")
					}
					witness.wantPacket("birth")
					switch last, err := first.next(); {
					case version == 5 && (err != nil || last.FixedHeader.Type != packets.Disconnect || last.ReasonCode != packets.ErrSessionTakenOver.Code):
						t.Errorf("the first is told %v, %v", last, err)
					case version == 4 && !errors.Is(err, io.EOF):
						t.Errorf("the first is told %v, %v", last, err)
					}
					if clean {
						second.subscribe("t")
					}
					publishTo(t, s, "t", "news")
					second.wantPacket("news")
				})
			}
		}
	}
}

// Two clients connect with the id of a third, whose message the broker still processes. The
// broker accepts only the last one, after it has finished the message and published the will of
// the first.
func TestLastOfSeveralConnectionsIsAccepted(t *testing.T) {
	doing, goOn := make(chan struct{}), make(chan struct{})
	s, address := serving(t, &hookGates{published: func(_ *mochi.Client, pk packets.Packet) {
		if pk.TopicName == "work" {
			close(doing)
			<-goOn
		}
	}})
	witness := newPeer(t, address, hello{id: "witness", version: 4, clean: true})
	witness.subscribe("w", "work")
	first := newPeer(t, address, hello{id: "x", version: 4, clean: true, will: "w"})
	first.publish("work", "done")
	await(t, doing, "the first publishes")
	second := call(t, address, hello{id: "x", version: 4, clean: true})
	wait(t, "the second waits", func() bool { return atomic.LoadInt64(&s.Info.ClientsConnected) == 3 })
	third := call(t, address, hello{id: "x", version: 4, clean: true})
	if _, err := second.next(); !errors.Is(err, io.EOF) {
		t.Errorf("the second is told %v", err)
	}
	close(goOn)
	third.connect()
	witness.wantPacket("done")
	witness.wantPacket("gone")
	third.subscribe("t")
	publishTo(t, s, "t", "news")
	third.wantPacket("news")
	wait(t, "only the third is left", func() bool { return atomic.LoadInt64(&s.Info.ClientsConnected) == 2 })
}

// Eight ids connect and disconnect forty times each. Each accepted client receives its
// subscriptions.
func TestRepeatedReconnects(t *testing.T) {
	s, address := serving(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			id := "c" + strconv.Itoa(i)
			for k := range 40 {
				c := newPeer(t, address, hello{id: id, version: 4 + byte(k%2), clean: k%3 > 0, will: "w/" + id})
				if t.Failed() {
					return
				}
				c.subscribe("t/" + id)
				publishTo(t, s, "t/"+id, "n"+strconv.Itoa(k))
				c.wantPacket("n" + strconv.Itoa(k))
				if k%5 > 0 { // otherwise the next connection takes over
					_ = c.Close()
				}
			}
		})
	}
	group.Wait()
	wait(t, "each id has one connection at most", func() bool { return atomic.LoadInt64(&s.Info.ClientsConnected) <= 8 })
}

// The work for a client does not end, so the broker closes the next connection after a time. When
// the work ends, it accepts another one. The test uses a fake clock.
func TestHangingEarlierConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		s, address := inside(t, &hookGates{published: func(*mochi.Client, packets.Packet) { <-goOn }})
		first := newPeer(t, address, hello{id: "x", version: 5, clean: true})
		first.publish("work", "done")
		synctest.Wait()
		second := call(t, address, hello{id: "x", version: 5, clean: true})
		began := time.Now()
		if _, err := second.next(); !errors.Is(err, io.EOF) {
			t.Errorf("the second is told %v", err)
		}
		if took := time.Since(began); took < time.Second || took > time.Minute {
			t.Errorf("it is told after %v", took)
		}
		third := call(t, address, hello{id: "x", version: 5, clean: true})
		synctest.Wait()
		close(goOn)
		third.connect()
		third.subscribe("t")
		publishTo(t, s, "t", "news")
		third.wantPacket("news")
	})
}

// An expired session has no subscriptions left.
func TestExpiredSessionHasNoSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, address := inside(t)
		first := newPeer(t, address, hello{id: "x", version: 5})
		first.subscribe("old")
		_ = first.Close()
		time.Sleep(2 * time.Hour)
		if n := len(s.Topics.Subscribers("old").Subscriptions); n != 0 {
			t.Errorf("%d subscriptions are left", n)
		}
		if second := newPeer(t, address, hello{id: "x", version: 5}); second.present {
			t.Error("the session is still there")
		}
	})
}

// A session expires just when the client returns, and the broker removes the client's id from its
// list.
func TestReconnectAtExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expiring, goOn := make(chan struct{}), make(chan struct{})
		s, address := inside(t, &hookGates{expired: func() { close(expiring); <-goOn }})
		first := newPeer(t, address, hello{id: "x", version: 5})
		first.subscribe("t")
		_ = first.Close()
		<-expiring
		second := newPeer(t, address, hello{id: "x", version: 5})
		close(goOn)
		synctest.Wait()
		second.subscribe("t")
		publishTo(t, s, "t", "news")
		second.wantPacket("news")
	})
}

// hookGates is a hook that blocks the broker.
type hookGates struct {
	mochi.HookBase
	unsubscribed func(*mochi.Client)
	published    func(*mochi.Client, packets.Packet)
	expired      func()
}

func (*hookGates) ID() string { return "stage" }

func (st *hookGates) Provides(b byte) bool {
	return b == mochi.OnUnsubscribed && st.unsubscribed != nil || b == mochi.OnPublish && st.published != nil || b == mochi.OnClientExpired && st.expired != nil
}
func (st *hookGates) OnUnsubscribed(c *mochi.Client, _ packets.Packet) { st.unsubscribed(c) }
func (st *hookGates) OnClientExpired(*mochi.Client)                    { st.expired() }
func (st *hookGates) OnPublish(c *mochi.Client, pk packets.Packet) (packets.Packet, error) {
	st.published(c, pk)
	return pk, nil
}

// serving starts a broker with hooks, and returns a dialer for it.
func serving(t *testing.T, hooks ...mochi.Hook) (*mochi.Server, dialer) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return with(t, l, hooks), func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }
}

// inside is like serving, without a network.
func inside(t *testing.T, hooks ...mochi.Hook) (*mochi.Server, dialer) {
	t.Helper()
	l := &pipes{calls: make(chan net.Conn), over: make(chan struct{})}
	return with(t, l, hooks), func() (net.Conn, error) {
		near, far := net.Pipe()
		l.calls <- far
		return near, nil
	}
}

func with(t *testing.T, l net.Listener, hooks []mochi.Hook) *mochi.Server {
	t.Helper()
	c := mochi.NewDefaultServerCapabilities()
	c.MaximumSessionExpiryInterval = 3600
	s := mochi.New(&mochi.Options{InlineClient: true, Capabilities: c, Logger: slog.New(slog.DiscardHandler)})
	errs := []error{s.AddHook(new(auth.AllowHook), nil), s.AddListener(port.New(s, l, nil))}
	for _, h := range append(slices.Clone(hooks), port.NewRetained(s)) {
		errs = append(errs, s.AddHook(h, nil))
	}
	if err := errors.Join(append(errs, s.Serve())...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// pipes is a listener without a network.
type pipes struct {
	calls chan net.Conn
	once  sync.Once
	over  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error { p.once.Do(func() { close(p.over) }); return nil }
func (*pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

type dialer func() (net.Conn, error)

// hello has the fields of a CONNECT packet.
type hello struct {
	id      string
	version byte
	clean   bool
	will    string // the topic of "gone"
	delay   uint32 // of the will, in seconds
}

// peer is a client whose packets the test sends and reads one by one.
type peer struct {
	net.Conn
	t       *testing.T
	r       *bufio.Reader
	version byte
	present bool // the broker has its earlier session
}

// call dials, and sends CONNECT.
func call(t *testing.T, dial dialer, h hello) *peer {
	conn, err := dial()
	if err != nil {
		t.Error(err)
		return nil
	}
	c := &peer{Conn: conn, t: t, r: bufio.NewReader(conn), version: h.version}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	pk := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Connect}, Connect: packets.ConnectParams{
		ProtocolName: []byte("MQTT"), ClientIdentifier: h.id, Clean: h.clean, Keepalive: 60,
	}}
	if h.will != "" {
		pk.Connect.WillFlag, pk.Connect.WillTopic, pk.Connect.WillPayload = true, h.will, []byte("gone")
		pk.Connect.WillProperties.WillDelayInterval = h.delay
	}
	if !h.clean {
		pk.Properties.SessionExpiryInterval, pk.Properties.SessionExpiryIntervalFlag = 3600, true
	}
	c.send(pk)
	return c
}

// newPeer is like call, and waits for the CONNACK.
func newPeer(t *testing.T, dial dialer, h hello) *peer {
	c := call(t, dial, h)
	c.connect()
	return c
}

func (c *peer) connect() {
	pk := c.wantMessage(packets.Connack)
	if pk.ReasonCode != 0 {
		c.t.Errorf("the broker says %d", pk.ReasonCode)
	}
	c.present = pk.SessionPresent
}

func (c *peer) subscribe(filters ...string) {
	pk := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Subscribe, Qos: 1}, PacketID: 1}
	for _, f := range filters {
		pk.Filters = append(pk.Filters, packets.Subscription{Filter: f, Qos: 1})
	}
	c.send(pk)
	c.wantMessage(packets.Suback)
}

func (c *peer) publish(topic, payload string) {
	c.send(packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Publish}, TopicName: topic, Payload: []byte(payload)})
}

func (c *peer) wantPacket(payload string) {
	if got := string(c.wantMessage(packets.Publish).Payload); got != payload {
		c.t.Errorf("a client hears %q, want %q", got, payload)
	}
}

func (c *peer) send(pk packets.Packet) {
	pk.ProtocolVersion = c.version
	var b bytes.Buffer
	var err error
	switch pk.FixedHeader.Type {
	case packets.Connect:
		err = pk.ConnectEncode(&b)
	case packets.Subscribe:
		err = pk.SubscribeEncode(&b)
	case packets.Publish:
		err = pk.PublishEncode(&b)
	}
	if _, not := c.Write(b.Bytes()); err != nil || not != nil {
		c.t.Error(err, not)
	}
}

// wantMessage returns the next packet, which must have the kind.
func (c *peer) wantMessage(kind byte) packets.Packet {
	pk, err := c.next()
	if err != nil || pk.FixedHeader.Type != kind {
		c.t.Errorf("a client gets %v %v, want %s", pk.FixedHeader, err, packets.PacketNames[kind])
	}
	return pk
}

func (c *peer) next() (pk packets.Packet, err error) {
	first, err := c.r.ReadByte()
	if err != nil {
		return pk, err
	}
	pk.ProtocolVersion = c.version
	if err := pk.FixedHeader.Decode(first); err != nil {
		return pk, err
	}
	n, _, err := packets.DecodeLength(c.r)
	if err != nil {
		return pk, err
	}
	pk.FixedHeader.Remaining = n
	body := make([]byte, n)
	if _, err := io.ReadFull(c.r, body); err != nil {
		return pk, err
	}
	switch pk.FixedHeader.Type {
	case packets.Connack:
		err = pk.ConnackDecode(body)
	case packets.Suback:
		err = pk.SubackDecode(body)
	case packets.Publish:
		err = pk.PublishDecode(body)
	case packets.Disconnect:
		err = pk.DisconnectDecode(body)
	}
	return pk, err
}

func await[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		t.Fatalf("it does not come about: %s", what)
	}
	return v
}

// publishTo publishes something from inside the broker.
func publishTo(t *testing.T, s *mochi.Server, topic, payload string) {
	t.Helper()
	if err := s.Publish(topic, []byte(payload), false, 0); err != nil {
		t.Error(err)
	}
}
