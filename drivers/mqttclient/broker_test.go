package mqttclient_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/messkit/messkit/drivers/mqttclient"
	"github.com/messkit/messkit/internal/broker/port"
)

// patience limits each wait on a busy host.
const patience = time.Minute

// broker is a real broker that records the packets of its clients.
type broker struct {
	mochi.HookBase
	*mochi.Server
	address string

	mu         sync.Mutex
	subscribes [][]string // filters of each packet
	unsubs     []string
	sent       []string // topics of messages
	connects   int
	most       int             // the broker disconnects a client that sends more filters in a packet; 0: no limit
	cuts       map[string]bool // filters and topics for which the broker disconnects a client
}

func (b *broker) ID() string { return "judge" }

func (b *broker) Provides(what byte) bool {
	return bytes.Contains([]byte{mochi.OnSubscribe, mochi.OnUnsubscribed, mochi.OnPublish, mochi.OnSessionEstablished}, []byte{what})
}

func (b *broker) OnSessionEstablished(*mochi.Client, packets.Packet) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.connects++
}

func (b *broker) OnSubscribe(cl *mochi.Client, pk packets.Packet) packets.Packet {
	b.mu.Lock()
	defer b.mu.Unlock()
	var filters []string
	cut := b.most > 0 && len(pk.Filters) > b.most
	for _, f := range pk.Filters {
		filters = append(filters, f.Filter)
		cut = cut || b.cuts[f.Filter]
	}
	b.subscribes = append(b.subscribes, filters)
	if cut {
		cl.Stop(io.EOF)
	}
	return pk
}

func (b *broker) OnUnsubscribed(_ *mochi.Client, pk packets.Packet) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range pk.Filters {
		b.unsubs = append(b.unsubs, f.Filter)
	}
}

func (b *broker) OnPublish(cl *mochi.Client, pk packets.Packet) (packets.Packet, error) {
	if cl.Net.Inline {
		return pk, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cuts[pk.TopicName] {
		cl.Stop(io.EOF)
		return pk, packets.ErrRejectPacket
	}
	b.sent = append(b.sent, pk.TopicName)
	return pk, nil
}

// noted returns a record of the broker.
func noted[T any](b *broker, what func() T) T { b.mu.Lock(); defer b.mu.Unlock(); return what() }

func newBroker(t *testing.T) *broker {
	t.Helper()
	options := &mochi.Options{InlineClient: true, Logger: slog.New(slog.DiscardHandler)}
	b := &broker{Server: mochi.New(options), cuts: map[string]bool{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.address = "tcp://" + l.Addr().String()
	for _, err := range []error{
		b.AddHook(new(auth.AllowHook), nil), b.AddHook(b, nil), b.AddHook(port.NewRetained(b.Server), nil), b.AddListener(port.New(b.Server, l, nil)), b.Serve(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// send publishes a message of a device.
func (b *broker) send(t *testing.T, topic, payload string, retain bool) {
	t.Helper()
	if err := b.Publish(topic, []byte(payload), retain, 1); err != nil {
		t.Fatal(err)
	}
}

// clients returns the connected clients.
func (b *broker) clients() (list []*mochi.Client) {
	for _, c := range b.Clients.GetAll() {
		if !c.Net.Inline && !c.Closed() {
			list = append(list, c)
		}
	}
	return list
}

func newClient(address string, timeout time.Duration) *mqttclient.Client {
	return mqttclient.New(mqttclient.Options{Address: address, Timeout: timeout}, slog.New(slog.DiscardHandler), time.Now)
}

// join adds a member until the end of the test.
func join(t *testing.T, c *mqttclient.Client, filters ...string) *mqttclient.Member {
	t.Helper()
	m := mqttclient.NewMember(filters)
	if err := c.Join(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Leave(m) })
	return m
}

// waitFor waits until payload is the last message of a topic.
func waitFor(t *testing.T, m *mqttclient.Member, topic, payload string) mqttclient.Received {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	h, ok := m.Await(ctx, topic, func(h mqttclient.Received) bool { return string(h.Payload) == payload })
	if !ok {
		t.Fatalf("on %s came %q last, want %q", topic, h.Payload, payload)
	}
	return h
}

// back waits until the client has a connection to the broker.
func back(t *testing.T, c *mqttclient.Client) {
	t.Helper()
	is, _, _ := c.Disconnected()
	if is == nil {
		return
	}
	select {
	case <-is:
	case <-time.After(patience):
		t.Fatal("the broker is not reached again")
	}
}

// until waits until is returns true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

func newMember(filters ...string) *mqttclient.Member { return mqttclient.NewMember(filters) }
