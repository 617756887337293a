package port_test

import (
	"bufio"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/messkit/messkit/internal/broker/port"
)

// The process itself, clients, wills, and packets that the broker rejects change retained
// messages, while other clients search them. No client blocks forever.
func TestConcurrentRetainedMessages(t *testing.T) {
	s, address := retaining(t)
	var group sync.WaitGroup
	for i := range 3 {
		n := strconv.Itoa(i)
		group.Go(func() { // the process
			for k := range 60 {
				if err := s.Publish("a/"+n, []byte("x"[:k%2]), true, 1); err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() { // a client
			c := raw(t, address, "w"+n, "", 0)
			for k := range 60 {
				c.send(publish("b/"+n+"/"+strconv.Itoa(k%7), "x"[:k%2]))
			}
			c.ping()
		})
		group.Go(func() { // wills, and an invalid subscription that ends the client
			for k := range 20 {
				c := raw(t, address, "d"+n, "c/"+n+"/"+strconv.Itoa(k), 0)
				c.send([]byte{packets.Subscribe<<4 | 2, 5, 0, 1, 0, 0, 1})
				c.ends()
			}
		})
		group.Go(func() { // a client that searches
			c := raw(t, address, "r"+n, "", 0)
			for range 60 {
				for _, f := range []string{"#", "+/+", "b/#", "c/+/+", "a/" + n} {
					c.send(subscribe(f))
				}
			}
			c.ping()
		})
	}
	over := make(chan struct{})
	go func() { group.Wait(); close(over) }()
	select {
	case <-over:
	case <-time.After(time.Minute):
		t.Fatal("a client waits without end")
	}
	wait(t, "the wills are retained", func() bool {
		_, ok := s.Topics.Retained.Get("c/2/19")
		return ok
	})
}

// The broker retains a will with a delay when it sends the will. It does not if the client
// returns earlier.
func TestDelayedWillIsRetained(t *testing.T) {
	s, address := retaining(t)
	for _, id := range []string{"gone", "back"} {
		delay := uint32(1)
		if id == "back" {
			delay = 600
		}
		c := raw(t, address, id, "will/"+id, delay)
		_ = c.Close() // without DISCONNECT
		wait(t, "the client is gone", func() bool {
			cl, ok := s.Clients.Get(id)
			return ok && cl.Closed()
		})
	}
	wait(t, "the will is retained", func() bool {
		_, ok := s.Topics.Retained.Get("will/gone")
		return ok
	})
	raw(t, address, "back", "", 0).ping()
	if _, ok := s.Topics.Retained.Get("will/back"); ok {
		t.Error("the will of a client that is back is retained")
	}
	if err := s.Publish("a", []byte("x"), true, 0); err != nil {
		t.Error(err)
	}
}

// retaining returns a broker with the hook, and its address.
func retaining(t *testing.T) (*mochi.Server, string) {
	t.Helper()
	s := mochi.New(&mochi.Options{InlineClient: true, Logger: slog.New(slog.DiscardHandler)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.AddHook(new(auth.AllowHook), nil), s.AddHook(port.NewRetained(s), nil), s.AddListener(port.New(s, l, nil)), s.Serve()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, l.Addr().String()
}

func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// client is a connection that sends raw bytes, and reads the answers.
type client struct {
	net.Conn
	t    *testing.T
	pong chan struct{}
	over chan struct{}
}

// raw connects a client of MQTT 5 whose session outlives its connection, with a retained will.
func raw(t *testing.T, address, id, will string, delay uint32) *client {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := &client{Conn: conn, t: t, pong: make(chan struct{}, 1), over: make(chan struct{})}
	flags := byte(0)
	if will != "" {
		flags = 0b00100100
	}
	body := []byte{0, 4, 'M', 'Q', 'T', 'T', 5, flags, 0, 60, 5, 17, 0, 0, 14, 16} // a session of an hour
	body = text(body, id)
	if will != "" {
		body = append(body, 5, 24, byte(delay>>24), byte(delay>>16), byte(delay>>8), byte(delay))
		body = text(text(body, will), "gone")
	}
	c.send(append([]byte{packets.Connect << 4, byte(len(body))}, body...))
	go c.reads()
	c.ping()
	return c
}

func text(b []byte, s string) []byte { return append(append(b, 0, byte(len(s))), s...) }

func publish(topic, payload string) []byte {
	body := append(append(text(nil, topic), 0), payload...)
	return append([]byte{packets.Publish<<4 | 1, byte(len(body))}, body...)
}

func subscribe(filter string) []byte {
	body := append(text([]byte{0, 1, 0}, filter), 1)
	return append([]byte{packets.Subscribe<<4 | 2, byte(len(body))}, body...)
}

func (c *client) send(b []byte) {
	if _, err := c.Write(b); err != nil {
		c.t.Error(err)
	}
}

// ping waits until the broker has processed all earlier packets.
func (c *client) ping() {
	c.send([]byte{packets.Pingreq << 4, 0})
	select {
	case <-c.pong:
	case <-c.over:
		c.t.Error("the broker has cut off a client")
	case <-time.After(time.Minute):
		c.t.Error("no answer")
	}
}

// ends waits for the broker to end the connection.
func (c *client) ends() {
	select {
	case <-c.over:
	case <-time.After(time.Minute):
		c.t.Error("the connection goes on")
	}
}

func (c *client) reads() {
	defer close(c.over)
	r := bufio.NewReader(c)
	for {
		kind, err := r.ReadByte()
		if err != nil {
			return
		}
		size := 0
		for shift := 0; ; shift += 7 {
			b, err := r.ReadByte()
			if err != nil {
				return
			}
			if size |= int(b&127) << shift; b < 128 {
				break
			}
		}
		if _, err := r.Discard(size); err != nil {
			return
		}
		if kind>>4 == packets.Pingresp {
			c.pong <- struct{}{}
		}
	}
}
