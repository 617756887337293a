package broker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/broker/brokertest"
)

// testLink is a link to a broker for tests, in fake time.
type testLink struct {
	*broker.Link
	b    *brokertest.Broker
	got  chan broker.Message
	log  *strings.Builder
	mu   sync.Mutex
	born atomic.Int64
}

func (l *testLink) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

func (l *testLink) logText() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.String()
}

// over runs a scenario with a link that waits the full limit of each backoff.
func over(t *testing.T, first func(*brokertest.Behavior), story func(t *testing.T, l *testLink)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &testLink{b: &brokertest.Broker{}, got: make(chan broker.Message, 16), log: &strings.Builder{}}
		l.Link = broker.New(broker.Config{
			Address: broker.Address{URL: "mqtt://broker"}, ID: "me", Filters: []string{"to/me"}, Dial: l.b.Dial,
			Jitter: func(limit time.Duration) time.Duration { return limit },
			Handle: func(m broker.Message) { l.got <- m },
			Begin: func() (broker.Session, error) {
				n := l.born.Add(1)
				m := func(what string) broker.Message {
					return broker.Message{Topic: "status", Payload: fmt.Appendf(nil, "%s %d", what, n), Retain: true}
				}
				return broker.Session{Will: m("lost"), Birth: m("ready"), End: m("gone")}, nil
			},
		}, slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})))
		if first != nil {
			l.b.Set(first)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := l.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		story(t, l)
		cancel()
		wg.Wait()
		l.b.Cut()
		l.b.Wait()
	})
}

func gaps(dials []time.Time) []time.Duration {
	var list []time.Duration
	for i := 1; i < len(dials); i++ {
		list = append(list, dials[i].Sub(dials[i-1]))
	}
	return list
}

// While a broker is away for an hour, the link tries to connect about once a minute, and Publish
// fails. After its return the link publishes again.
func TestBrokerIsAwayForAnHour(t *testing.T) {
	over(t, nil, func(t *testing.T, l *testLink) {
		if _, err := l.Session(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.b.Set(func(b *brokertest.Behavior) { b.Gone = true })
		l.b.Cut()
		time.Sleep(time.Hour)
		if err := l.Publish(t.Context(), broker.Message{Topic: "x"}); !errors.Is(err, broker.ErrDown) {
			t.Errorf("Publish without a connection: %v, want ErrDown", err)
		}
		n := len(l.b.Dials())
		if n < 55 || n > 75 {
			t.Errorf("%d tries in an hour", n)
		}
		for i, gap := range gaps(l.b.Dials())[1:] {
			if gap > time.Minute+time.Second || gap < time.Second {
				t.Errorf("gap %d is %v", i, gap)
			}
		}
		received := make(chan string, 1)
		l.b.Set(func(b *brokertest.Behavior) {
			b.Gone = false
			b.Published = func(topic string, payload []byte, _ func(string, []byte, bool)) {
				if topic == "x" {
					received <- string(payload)
				}
			}
		})
		if _, err := l.Session(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.Publish(t.Context(), broker.Message{Topic: "x", Payload: []byte("now")}); err != nil || <-received != "now" {
			t.Errorf("the message did not arrive: %v", err)
		}
	})
}

// A long session resets the backoff. A session that the broker closes at once does not.
func TestOnlyLongSessionResetsBackoff(t *testing.T) {
	over(t, nil, func(t *testing.T, l *testLink) {
		if _, err := l.Session(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.b.Set(func(b *brokertest.Behavior) { b.Kick = true })
		time.Sleep(10 * time.Minute)
		l.b.Cut()
		time.Sleep(30 * time.Minute)
		all := gaps(l.b.Dials())[1:] // the first is the long session
		for i := 1; i < len(all); i++ {
			if all[i] < all[i-1] && all[i] < time.Minute {
				t.Errorf("delays decrease: %v", all)
			}
		}
		if len(all) > 40 {
			t.Errorf("%d tries in half an hour: %v", len(all), all)
		}
	})
}

// closeRepeatedly closes sessions soon after their begin, and returns the pauses of the link before each
// new one.
func (l *testLink) closeRepeatedly(t *testing.T, sessions int) []time.Duration {
	t.Helper()
	for range sessions {
		if _, err := l.Session(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		l.b.Cut()
		synctest.Wait()
	}
	return gaps(l.b.Dials())
}

// Two clients with one id close each other's sessions, and each finds the status of the other in
// its own topic. The link waits a minute, and logs the reason.
func TestTakenOverSessionIsDetected(t *testing.T) {
	n := 0
	other := func(b *brokertest.Behavior) {
		b.Subscribed = func(answer func(string, []byte, bool)) {
			n++
			answer("status", fmt.Appendf(nil, "ready other %d", n), true)
		}
	}
	over(t, other, func(t *testing.T, l *testLink) {
		d := l.closeRepeatedly(t, 5)
		if d[2] < time.Minute || d[3] < time.Minute {
			t.Errorf("delays are %v, want a minute at least", d)
		}
		if !strings.Contains(l.logText(), "another client may use the same id") {
			t.Errorf("the log does not contain the cause:\n%s", l.logText())
		}
	})
}

// A broker may close its connections gracefully, like mosquitto at a restart. The link does not
// take this for another client, and connects again within five seconds. It may find the status of
// an earlier run, and its own.
func TestGracefulBrokerEndIsNoTakeover(t *testing.T) {
	own := func(b *brokertest.Behavior) {
		last := "ready of an earlier run"
		var mu sync.Mutex
		b.Published = func(topic string, payload []byte, _ func(string, []byte, bool)) {
			mu.Lock()
			defer mu.Unlock()
			if topic == "status" {
				last = string(payload)
			}
		}
		b.Subscribed = func(answer func(string, []byte, bool)) {
			mu.Lock()
			defer mu.Unlock()
			answer("status", []byte(last), true)
		}
	}
	over(t, own, func(t *testing.T, l *testLink) {
		for i, gap := range l.closeRepeatedly(t, 20) {
			if gap > 5*time.Second {
				t.Errorf("after end %d it comes back after %v", i+1, gap)
			}
		}
		if strings.Contains(l.logText(), "another client") {
			t.Errorf("the log names another client:\n%s", l.logText())
		}
		if len(l.got) != 0 {
			t.Errorf("the link forwarded its own status: %q", (<-l.got).Payload)
		}
	})
}

// If the broker does not let a client read its own status, only many closed sessions in a row are
// a sign of another client.
func TestUnreadableStatusNeedsManyTakeovers(t *testing.T) {
	over(t, func(b *brokertest.Behavior) { b.Deny = "status" }, func(t *testing.T, l *testLink) {
		d := l.closeRepeatedly(t, 10)
		for i, gap := range d[:7] {
			if gap > 5*time.Second {
				t.Errorf("after end %d it comes back after %v", i+1, gap)
			}
		}
		if d[8] < time.Minute || !strings.Contains(l.logText(), "another client may use the same id") {
			t.Errorf("delays before the connections are %v, the log is\n%s", d, l.logText())
		}
	})
}

// Every session has its own birth message and will.
func TestBirthAndWill(t *testing.T) {
	over(t, nil, func(t *testing.T, l *testLink) {
		if _, err := l.Session(t.Context()); err != nil {
			t.Fatal(err)
		}
		received := make(chan string, 16)
		l.b.Set(func(b *brokertest.Behavior) {
			b.Published = func(_ string, payload []byte, _ func(string, []byte, bool)) { received <- string(payload) }
		})
		l.b.Cut()
		if got := <-received; got != "ready 2" {
			t.Errorf("birth %q", got)
		}
		if w := l.b.Wills(); len(w) != 2 || string(w[0]) != "lost 1" || string(w[1]) != "lost 2" {
			t.Errorf("wills %q", w)
		}
	})
}

// After a wrong password, Session returns ErrRefused with the first attempt.
func TestRejectedSessionReturnsErrRefused(t *testing.T) {
	refuses := func(b *brokertest.Behavior) { b.Refuse = 5 }
	over(t, refuses, func(t *testing.T, l *testLink) {
		if _, err := l.Session(t.Context()); !errors.Is(err, broker.ErrRefused) {
			t.Errorf("got %v", err)
		}
		if n := len(l.b.Dials()); n != 1 {
			t.Errorf("%d dials before the error, want 1", n)
		}
	})
}

// Publish returns with an error if the broker never acknowledges.
func TestPublishWithoutAckFails(t *testing.T) {
	over(t, nil, func(t *testing.T, l *testLink) {
		if _, err := l.Session(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.b.Set(func(b *brokertest.Behavior) { b.Swallow = true })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.Publish(ctx, broker.Message{Topic: "x", Payload: []byte("y")}); err == nil {
			t.Error("published, without a word of the broker")
		}
	})
}

func TestAddress(t *testing.T) {
	for _, c := range []struct {
		a    broker.Address
		want string // "": fine
	}{
		{broker.Address{URL: "mqtt://host"}, ""},
		{broker.Address{URL: "mqtts://host:1234", User: "me"}, ""},
		{broker.Address{}, "url: is missing"},
		{broker.Address{URL: "http://host"}, "is not the address of a broker"},
		{broker.Address{URL: "mqtt://me:secret@host"}, "holds a name or a password"},
		{broker.Address{URL: "mqtt://host/path"}, "more than a host and a port"},
		{broker.Address{URL: "mqtt://host", CA: "x"}, "certificates are for TLS"},
		{broker.Address{URL: "mqtts://host", Cert: "x"}, "cert: and key go together"},
		{broker.Address{URL: "mqtts://host", CA: "/nothing"}, "ca: "},
		{broker.Address{URL: "mqtt://host", User: "me", PasswordFile: "/nothing"}, "plain text"},
		{broker.Address{URL: "mqtt://127.0.0.1", User: "me", PasswordFile: "/nothing"}, "password_file: "},
		{broker.Address{URL: "mqtt://127.0.0.1", PasswordFile: "/nothing"}, "user: is missing"},
	} {
		err := c.a.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: got %v, want %q", c.a, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("a password is shown: %v", err)
		}
	}
	for url, want := range map[string]string{"mqtt://a": "a:1883", "mqtts://a": "a:8883", "mqtt://[::1]:7": "[::1]:7"} {
		if got := (broker.Address{URL: url}).Host(); got != want {
			t.Errorf("Host(%s) = %s", url, got)
		}
	}
}

// The link drops a message whose handler panics, logs it, and delivers the next one.
func TestPanicDropsMessage(t *testing.T) {
	b := &brokertest.Broker{}
	synctest.Test(t, func(t *testing.T) {
		got := make(chan string, 4)
		var log strings.Builder
		l := broker.New(broker.Config{
			Address: broker.Address{URL: "mqtt://broker"}, ID: "me", Filters: []string{"to/me"}, Dial: b.Dial, Manual: true,
			Begin: func() (broker.Session, error) { return broker.Session{}, nil },
			Handle: func(m broker.Message) {
				if string(m.Payload) == "bad" {
					panic("a mistake")
				}
				got <- string(m.Payload)
				m.Done()
			},
		}, slog.New(slog.NewTextHandler(&log, nil)))
		b.Set(func(b *brokertest.Behavior) {
			b.Subscribed = func(send func(string, []byte, bool)) {
				send("to/me", []byte("bad"), false)
				send("to/me", []byte("good"), false)
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = l.Run(ctx) })
		if next := <-got; next != "good" {
			t.Errorf("got %s", next)
		}
		cancel()
		wg.Wait()
		b.Cut()
		b.Wait()
		if !strings.Contains(log.String(), "mistake in the program") {
			t.Errorf("log is %s", log.String())
		}
	})
}
