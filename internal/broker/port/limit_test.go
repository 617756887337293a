package port_test

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/messkit/messkit/internal/broker/port"
)

// A client beyond the limit gets the answer that the broker is busy. The port closes connections
// beyond nine eighths of the limit.
func TestClientsAreLimited(t *testing.T) {
	s := mochi.New(&mochi.Options{Logger: slog.New(slog.DiscardHandler)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := port.New(s, l, nil)
	p.Limit(8)
	if err := errors.Join(s.AddHook(new(auth.AllowHook), nil), s.AddListener(p), s.Serve()); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var in []net.Conn
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		in = append(in, connect(t, p.Address(), id))
	}
	answer := firstWords(t, p.Address(), "late")
	if len(answer) != 4 || answer[3] != 3 { // MQTT 3.1.1 section 3.2.2.3
		t.Errorf("answer to a ninth client is %v, want server unavailable", answer)
	}
	until(t, func() bool { u := p.Use(); return u.Now == 8 && u.Refused == 1 && !u.Last.IsZero() && u.Limit == 8 })
	for range 2 { // clients without a CONNECT packet
		c, err := net.Dial("tcp", p.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	until(t, func() bool { return p.Use().Now == 10 })
	if answer := firstWords(t, p.Address(), "later"); len(answer) != 0 {
		t.Errorf("answer to the next client is %v, want a closed connection", answer)
	}
	until(t, func() bool { return p.Use().Refused == 2 })
	for _, c := range in {
		_ = c.Close()
	}
	until(t, func() bool { return p.Use().Now == 2 })
	_ = connect(t, p.Address(), "again").Close()
}

// firstWords returns the answer of the broker to a CONNECT packet, or nothing if it closes the
// connection.
func firstWords(t *testing.T, address, id string) []byte {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute)) // a connection of TCP has deadlines
	connect := append([]byte{0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 60, 0, byte(len(id))}, id...)
	_, _ = c.Write(append([]byte{packets.Connect << 4, byte(len(connect))}, connect...)) // the port may have closed it already
	answer, _ := io.ReadAll(c)
	return answer
}

// until waits until another goroutine has done something.
func until(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); {
		if time.Now().After(end) {
			t.Fatal("not within a minute")
		}
		time.Sleep(time.Millisecond)
	}
}
