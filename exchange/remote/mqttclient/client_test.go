package mqttclient_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/remote/mqttclient"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/broker/brokertest"
	"github.com/messkit/messkit/mess"
)

var quiet = slog.New(slog.DiscardHandler)

const top = "mess/1/home/"

// overPipe runs a story with an executor at a test broker, in fake time.
func overPipe(t *testing.T, first func(*brokertest.Behavior), story func(t *testing.T, c *mqttclient.Client, b *brokertest.Broker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &brokertest.Broker{}
		b.Set(first)
		c, err := mqttclient.New(mqttclient.Config{
			Address: broker.Address{URL: "mqtt://broker"}, Exchange: "home", Executor: "pi", Dial: b.Dial,
			Jitter: func(limit time.Duration) time.Duration { return limit },
		}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := c.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		story(t, c, b)
		cancel()
		wg.Wait()
		b.Cut()
		b.Wait()
	})
}

// taken answers every published message with an ack.
func taken(b *brokertest.Behavior) {
	b.Swallow = false
	b.Published = func(topic string, payload []byte, answer func(string, []byte, bool)) {
		if m, err := mess.Parse(payload); err == nil && topic == top+"e/pi/out" {
			answer(top+"e/pi/in", fmt.Appendf(nil, `{"from":"exchange","re":%q,"MESS":[{"ack":{"ref":"x"}}]}`, m.ID), false)
		}
	}
}

// The client resends a message to a broker that loses it without an acknowledgment.
func TestUnacknowledgedMessageIsResent(t *testing.T) {
	overPipe(t, taken, func(t *testing.T, c *mqttclient.Client, b *brokertest.Broker) {
		if _, err := c.Send(t.Context(), mess.Message{Items: []mess.Item{&mess.Query{Type: "status"}}}); err != nil {
			t.Fatal(err)
		}
		b.Set(func(b *brokertest.Behavior) { b.Swallow = true })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := c.Send(ctx, mess.Message{Items: []mess.Item{&mess.Query{Type: "status"}}}); !errors.Is(err, mess.Unavailable) {
			t.Errorf("without an answer: %v", err)
		}
		go func() { time.Sleep(5 * time.Minute); b.Set(taken) }()
		if _, err := c.Send(t.Context(), mess.Message{Items: []mess.Item{&mess.Query{Type: "status"}}}); err != nil {
			t.Errorf("when it is well again: %v", err)
		}
	})
}

// The client sends a message from an outage of the broker after the outage, once.
func TestMessageDuringOutageIsSentOnce(t *testing.T) {
	overPipe(t, taken, func(t *testing.T, c *mqttclient.Client, b *brokertest.Broker) {
		if _, err := c.Send(t.Context(), mess.Message{Items: []mess.Item{&mess.Query{Type: "status"}}}); err != nil {
			t.Fatal(err)
		}
		b.Set(func(b *brokertest.Behavior) { b.Gone = true })
		b.Cut()
		go func() { time.Sleep(time.Hour); b.Set(func(b *brokertest.Behavior) { b.Gone = false }) }()
		began := time.Now()
		if _, err := c.Send(t.Context(), mess.Message{Items: []mess.Item{&mess.Query{Type: "status"}}}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < time.Hour || took > time.Hour+2*time.Minute {
			t.Errorf("the delivery took %v, want about an hour", took)
		}
	})
}

// The topic "now" carries orders only: another item next to a stop overtakes no message.
func TestOnlyOrdersOvertakeMessages(t *testing.T) {
	beside := func(b *brokertest.Behavior) {
		taken(b)
		b.Subscribed = func(send func(string, []byte, bool)) {
			send(top+"e/pi/in", []byte(`{"re":"r1","MESS":[{"request":{"intent":"look"}}]}`), false)
			send(top+"e/pi/now", []byte(`{"re":"r1","MESS":[{"cancel":{}}]}`), false)
			send(top+"e/pi/now", []byte(`{"MESS":[{"request":{"intent":"turn on the lamp"}},{"config":{"stop":{"id":"s","why":"smoke"},"executor":{"id":"pi"}}},{"reply":{"confirm":true}}]}`), false)
		}
	}
	overPipe(t, beside, func(t *testing.T, c *mqttclient.Client, _ *brokertest.Broker) {
		if _, err := c.Send(t.Context(), mess.Message{Items: []mess.Item{&mess.Query{Type: "status"}}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var got []mess.Message
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Receive(ctx, func(m mess.Message) { got = append(got, m) }); err != nil {
			t.Fatal(err)
		}
		want := []mess.Item{&mess.Config{Stop: &mess.Stop{ID: "s", Reason: "smoke"}}}
		if len(got) != 2 || !reflect.DeepEqual(got[0].Items, want) || !slices.Equal(got[1].Re, mess.Refs{"r1"}) {
			t.Errorf("%+v", got)
		}
		if n := c.Discarded(); n != 3 {
			t.Errorf("%d discarded", n)
		}
	})
}

// A stop and a drain overtake queued messages. The client discards retained orders and invalid
// payloads. The latch leads to a stop with the same id each time.
func TestIncomingOrders(t *testing.T) {
	all := func(b *brokertest.Behavior) {
		taken(b)
		b.Subscribed = func(send func(string, []byte, bool)) {
			send(top+"e/pi/in", []byte(`{"re":"old","MESS":[{"cancel":{}}]}`), true)
			send(top+"e/pi/in", []byte(`nonsense`), false)
			send(top+"e/pi/now", []byte(`{"MESS":[{"config":{"hold":true}}]}`), false)
			send(top+"e/pi/in", []byte(`{"from":"me","re":"r1","MESS":[{"request":{"intent":"look"}}]}`), false)
			send(top+"e/pi/in", []byte(`{"re":"r2","MESS":[{"cancel":{}}]}`), false)
			send(top+"stop", []byte(`{"latched":true,"by":"anna"}`), true)
			send(top+"e/pi/now", []byte(`{"MESS":[{"config":{"stop":{"id":"s","why":"smoke"}}}]}`), false)
		}
	}
	overPipe(t, all, func(t *testing.T, c *mqttclient.Client, _ *brokertest.Broker) {
		if _, err := c.Send(t.Context(), mess.Message{Items: []mess.Item{&mess.Query{Type: "status"}}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var got []string
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Receive(ctx, func(m mess.Message) {
			text, _ := m.JSON()
			got = append(got, string(text))
		}); err != nil {
			t.Fatal(err)
		}
		if len(got) != 5 || !strings.Contains(got[0], `"hold":true`) || !strings.Contains(got[1], "latch-") || !strings.Contains(got[2], "smoke") ||
			!strings.Contains(got[3], "r1") || !strings.Contains(got[4], "r2") {
			t.Errorf("%q", got)
		}
		if n := c.Discarded(); n != 2 {
			t.Errorf("%d discarded", n)
		}
	})
}
