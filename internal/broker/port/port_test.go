package port_test

import (
	"log/slog"
	"net"
	"strconv"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/messkit/messkit/internal/broker/port"
)

// The broker closes while its clients disconnect. A leaving client blocks neither the others nor
// the close.
func TestCloseDuringDisconnects(t *testing.T) {
	for range 20 {
		s := mochi.New(&mochi.Options{Logger: slog.New(slog.DiscardHandler)})
		if err := s.AddHook(new(auth.AllowHook), nil); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.AddListener(port.New(s, l, nil)); err != nil {
			t.Fatal(err)
		}
		if err := s.Serve(); err != nil {
			t.Fatal(err)
		}
		var conns []net.Conn
		for i := range 40 {
			conns = append(conns, connect(t, l.Addr().String(), "c"+strconv.Itoa(i)))
		}
		leave := make(chan struct{})
		for _, c := range conns {
			go func() { <-leave; _ = c.Close() }() // the test checks only the side of the broker
		}
		close(leave)
		done := make(chan error, 1)
		go func() { done <- s.Close() }()
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("the broker does not end")
		}
		if n := s.Clients.Len(); n != 0 {
			t.Fatalf("%d clients are still there", n)
		}
	}
}

// connect returns the connection of an MQTT 3.1.1 client with a clean session.
func connect(t *testing.T, address, id string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	hello := append([]byte{0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 60, 0, byte(len(id))}, id...)
	if _, err := c.Write(append([]byte{packets.Connect << 4, byte(len(hello))}, hello...)); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 4) // CONNACK
	if _, err := c.Read(answer); err != nil || answer[3] != 0 {
		t.Fatalf("the broker answers %v: %v", answer, err)
	}
	return c
}
