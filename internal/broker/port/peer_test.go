package port_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/messkit/messkit/internal/broker/port"
)

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

func (st *hookGates) OnClientExpired(*mochi.Client) { st.expired() }

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
		c.t.Errorf("reason code of the broker is %d, want 0", pk.ReasonCode)
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
		c.t.Errorf("message to the client is %q, want %q", got, payload)
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
		t.Fatalf("not within a minute: %s", what)
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
