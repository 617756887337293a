package jetstream_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/test/natsserver"
)

// changesOf follows the feed of a store until the test ends.
func changesOf(t *testing.T, s *jetstream.Store) <-chan thread.Change {
	t.Helper()
	changes := make(chan thread.Change, 100)
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() {
		if err := s.Feed(ctx, "", func(c thread.Change) error {
			changes <- c
			return nil
		}); err != nil {
			t.Errorf("Feed: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		following.Wait()
	})
	return changes
}

// dropper passes connections to a server on, but for the messages of the server that drop chooses by
// their first line. It returns its address.
func dropper(t *testing.T, server *natsserver.Server, drop func(line string) bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close() // the test has ended
		running.Wait()
	})
	running.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server.Address())
			if err != nil {
				_ = near.Close() // the client tries again
				continue
			}
			running.Go(func() {
				_, _ = io.Copy(far, near)
				_ = far.Close() // the client has gone
			})
			running.Go(func() {
				passMessages(near, far, drop)
				_ = near.Close() // the server has gone
			})
		}
	})
	return l.Addr().String()
}

// passMessages passes what a server sends on until a connection ends.
func passMessages(client, server net.Conn, drop func(line string) bool) {
	for from := bufio.NewReader(server); ; {
		line, err := from.ReadString('\n')
		if err != nil {
			return
		}
		message := []byte(line)
		if strings.HasPrefix(line, "MSG ") || strings.HasPrefix(line, "HMSG ") {
			words := strings.Fields(line)
			size, err := strconv.Atoi(words[len(words)-1])
			if err != nil {
				return
			}
			message = append(message, make([]byte, size+len("\r\n"))...)
			if _, err := io.ReadFull(from, message[len(line):]); err != nil {
				return
			}
			if drop(line) {
				continue
			}
		}
		if _, err := client.Write(message); err != nil {
			return
		}
	}
}

// A feed whose consumer is alive and delivers nothing makes a new consumer.
func TestFeedLeavesSilentConsumer(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	var lose atomic.Bool // the messages of the consumer that delivers the next one
	silent, lost := "", make(chan struct{})
	address := dropper(t, server, func(line string) bool {
		_, ack, delivered := strings.Cut(line, " $JS.ACK.")
		consumer := ""
		if delivered {
			consumer = strings.Split(ack, ".")[1]
		}
		if lose.Load() && delivered && silent == "" {
			silent = consumer
			close(lost)
		}
		return delivered && consumer == silent
	})
	c := config(1, server)
	writer := opened(t, c)
	c.URLs = []string{"nats://" + address}
	follower := opened(t, c)
	changes := changesOf(t, follower)
	<-changes // the level of the empty store
	for n := 1; n <= 2; n++ {
		lose.Store(n == 2)
		rev, err := writer.Append(t.Context(), storetest.Step(ref(n), "agent", fmt.Sprint(n), storetest.Start))
		if err != nil {
			t.Fatal(err)
		}
		if n == 2 {
			<-lost
		}
		if got := <-changes; got.Rev != rev {
			t.Errorf("step %d: the feed has revision %q, want %q", n, got.Rev, rev)
		}
	}
}
