package port_test

import (
	"errors"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
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
			subscribed := make(chan *peer, 1)
			go func() {
				c := newPeer(t, address, hello{id: "x", version: version, clean: true})
				c.subscribe("t")
				subscribed <- c
			}()
			var second *peer
			select {
			case second = <-subscribed: // the broker did not delay it
			case <-time.After(200 * time.Millisecond):
			}
			close(goOn)
			if second == nil {
				second = await(t, subscribed, "the second connection is accepted")
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
						t.Errorf("message to the first client is %v, %v", last, err)
					case version == 4 && !errors.Is(err, io.EOF):
						t.Errorf("message to the first client is %v, %v", last, err)
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
		t.Errorf("error of the second client is %v, want EOF", err)
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
			t.Errorf("error of the second client is %v, want EOF", err)
		}
		if took := time.Since(began); took < time.Second || took > time.Minute {
			t.Errorf("the disconnect came after %v", took)
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
