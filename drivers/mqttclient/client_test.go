package mqttclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
)

func TestMembersShareOneConnection(t *testing.T) {
	b := newBroker(t)
	c := newClient(b.address, patience)
	one, two := join(t, c, "a/state"), join(t, c, "b/state", "bridge")
	all := join(t, c, "+/state")
	b.send(t, "a/state", "on", false)
	b.send(t, "b/state", "off", false)
	waitFor(t, one, "a/state", "on")
	waitFor(t, two, "b/state", "off")
	waitFor(t, all, "a/state", "on")
	waitFor(t, all, "b/state", "off")
	if len(one.All()) != 1 || len(two.All()) != 1 {
		t.Errorf("messages of others: %v, %v", one.All(), two.All())
	}
	if n := noted(b, func() int { return b.connects }); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	c.Leave(two)
	until(t, "the topics of the member are still subscribed", func() bool {
		gone := noted(b, func() []string { return slices.Clone(b.unsubs) })
		slices.Sort(gone)
		return slices.Equal(gone, []string{"b/state", "bridge"})
	})
	c.Leave(one)
	c.Leave(all)
	until(t, "a connection without members is open", func() bool { return len(b.clients()) == 0 })
	again := join(t, c, "a/state")
	b.send(t, "a/state", "again", false)
	waitFor(t, again, "a/state", "again")
}

// A member that joins late gets the retained messages. Earlier members do not get them
// again, because they may have newer messages.
func TestRetainedMessagesReachLateMember(t *testing.T) {
	b := newBroker(t)
	c := newClient(b.address, patience)
	b.send(t, "bridge", "old", true)
	first := join(t, c, "bridge")
	if h := waitFor(t, first, "bridge", "old"); !h.Retained {
		t.Error("the message is not marked as retained")
	}
	b.send(t, "bridge", "new", false)
	waitFor(t, first, "bridge", "new")
	late := join(t, c, "bridge", "late")
	if h := waitFor(t, late, "bridge", "old"); !h.Retained {
		t.Error("the message is not marked as retained")
	}
	if h := waitFor(t, first, "bridge", "new"); h.Retained || h.Number != 2 {
		t.Errorf("the earlier member received %+v, want message 2, not retained", h)
	}
	if err := c.Resubscribe(t.Context(), first, "bridge"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, first, "bridge", "old")
}

// The client subscribes with few packets, and repeats all subscriptions on the next
// connection.
func TestSubscribeInBatches(t *testing.T) {
	b := newBroker(t)
	c := newClient(b.address, patience)
	var filters []string
	for i := range 1000 {
		filters = append(filters, fmt.Sprintf("%s/%d", strings.Repeat("long", i%200), i))
	}
	m := join(t, c, filters...)
	check := func() {
		t.Helper()
		packets := noted(b, func() [][]string { return slices.Clone(b.subscribes) })
		var all []string
		for _, p := range packets {
			all = append(all, p...)
			if size := len(strings.Join(p, "")); len(p) > 64 || size > 16<<10 {
				t.Errorf("a packet with %d filters of %d bytes", len(p), size)
			}
		}
		if slices.Sort(all); len(slices.Compact(all)) != len(filters) || len(packets) > 60 {
			t.Errorf("%d filters in %d packets", len(all), len(packets))
		}
	}
	check()
	noted(b, func() any { b.subscribes = nil; return nil })
	for _, cl := range b.clients() {
		cl.Stop(io.EOF)
	}
	until(t, "the end is not noticed", func() bool { is, _, _ := c.Disconnected(); return is != nil })
	back(t, c)
	check()
	b.send(t, "long/1", "on", false)
	waitFor(t, m, "long/1", "on")
}

// The client sends fewer filters in a packet to a broker that disconnects on too many, and
// omits a filter on which the broker always disconnects.
func TestBrokerThatDisconnects(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.most, b.cuts = 20, map[string]bool{"t/forbidden": true}
	c := newClient(b.address, patience)
	filters := []string{"t/forbidden"}
	for i := range 60 {
		filters = append(filters, "t/"+strconv.Itoa(i))
	}
	m := join(t, c, filters...)
	if !c.Refuses("t/forbidden") || c.Refuses("t/1") {
		t.Error("the wrong filter is refused")
	}
	b.send(t, "t/59", "on", false)
	waitFor(t, m, "t/59", "on")
}

// A broker that disconnects a client on a forbidden topic does not disconnect the other
// members each time.
func TestForbiddenTopicGetsItsOwnConnection(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.cuts = map[string]bool{"forbidden": true}
	c := newClient(b.address, patience)
	join(t, c, "state")
	for range 2 {
		back(t, c)
		if err := c.Publish(t.Context(), "forbidden", nil, nil); err == nil || errors.Is(err, drivers.ErrNothingDone) {
			t.Fatal(err)
		}
	}
	back(t, c)
	before := noted(b, func() int { return b.connects })
	for range 2 {
		if err := c.Publish(t.Context(), "forbidden", nil, nil); err == nil || errors.Is(err, drivers.ErrNothingDone) {
			t.Fatal(err)
		}
		if is, _, _ := c.Disconnected(); is != nil {
			t.Error("the connection of all has ended")
		}
		if err := c.Publish(t.Context(), "allowed", nil, nil); err != nil {
			t.Error(err)
		}
	}
	if n := noted(b, func() int { return b.connects }) - before; n != 2 {
		t.Errorf("%d connections for 2 messages", n)
	}
	noted(b, func() any { b.cuts = nil; return nil })
	for range 2 {
		if err := c.Publish(t.Context(), "forbidden", nil, nil); err != nil {
			t.Error(err)
		}
	}
	if n := noted(b, func() int { return b.connects }) - before; n != 3 {
		t.Errorf("%d connections, want 3: the last message goes by that of all", n)
	}
}

// After its sender has given up, a message on a stalled link never arrives, and neither do
// the other messages of that connection.
func TestAbandonedMessageNeverArrives(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	link := drivertest.NewProxy(t, strings.TrimPrefix(b.address, "tcp://"))
	c := newClient("tcp://"+link.Addr().String(), time.Second)
	m := join(t, c, "state")
	goOn := link.Stall()
	lost := make(chan string, 10)
	send := func(ctx context.Context, topic string) error {
		return c.Publish(ctx, topic, []byte("on"), func() { lost <- topic })
	}
	gone, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 3)
	for _, topic := range []string{"first", "second"} {
		go func() { errs <- send(t.Context(), topic) }()
	}
	go func() { errs <- send(gone, "canceled") }()
	cancel() // the sender stops, and the client still waits for the acknowledgment
	for range 3 {
		if err := <-errs; err == nil || errors.Is(err, drivers.ErrNothingDone) && !errors.Is(err, context.Canceled) {
			t.Errorf("a message that may have arrived: %v", err)
		}
	}
	until(t, "the connection stays", func() bool { is, _, _ := c.Disconnected(); return is != nil })
	if err := send(t.Context(), "later"); !errors.Is(err, drivers.ErrNothingDone) {
		t.Errorf("a message without a connection: %v", err)
	}
	goOn()
	back(t, c)
	if err := send(t.Context(), "after"); err != nil {
		t.Error(err)
	}
	if err := c.Resubscribe(t.Context(), m, "state"); err != nil {
		t.Error(err)
	}
	if sent := noted(b, func() []string { return b.sent }); !slices.Equal(sent, []string{"after"}) {
		t.Errorf("%q arrived", sent)
	}
	if n := len(lost); n < 2 || n > 3 { // the client may not have sent the message of the stopped sender
		t.Errorf("%d messages are known to be lost, want 2 or 3", n)
	}
}

// A member that never reads does not delay the others and uses bounded memory, because only
// the newest message of each topic counts.
func TestSlowMember(t *testing.T) {
	b := newBroker(t)
	c := newClient(b.address, patience)
	slow, quick := join(t, c, "many"), join(t, c, "many", "end")
	const n = 2000
	for i := range n {
		b.send(t, "many", strconv.Itoa(i), false)
	}
	b.send(t, "end", "end", false)
	waitFor(t, quick, "end", "end")
	waitFor(t, quick, "many", strconv.Itoa(n-1))
	if h := waitFor(t, slow, "many", strconv.Itoa(n-1)); h.Number != n || len(slow.All()) != 1 {
		t.Errorf("%d messages came, and %d are kept", h.Number, len(slow.All()))
	}
}

// Each member that waits for a connection gets the error of the attempt.
func TestNoBroker(t *testing.T) {
	c := newClient("tcp://127.0.0.1:1", patience)
	errs := make(chan error, 20)
	for i := range cap(errs) {
		go func() { errs <- c.Join(t.Context(), newMember("a/"+strconv.Itoa(i))) }()
	}
	for range cap(errs) {
		if err := <-errs; err == nil || !strings.Contains(err.Error(), "check that the broker runs") {
			t.Error(err)
		}
	}
}
