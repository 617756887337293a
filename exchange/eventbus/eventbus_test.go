package eventbus_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/eventbus"
)

// taken returns the events that wait for a subscriber.
func taken(b *eventbus.Bus[string], s *eventbus.Subscriber[string]) string {
	events, _ := b.Take(s)
	return texts(events)
}

func subscribe(b *eventbus.Bus[string], o eventbus.Options) (*eventbus.Subscriber[string], []eventbus.Entry[string], bool) {
	if o.Wake == nil {
		o.Wake = func() {}
	}
	s, start := b.Subscribe(o)
	return s, start.Missed, start.Resumed
}

// The bus wakes a subscriber once for all waiting events, and again after Take has found none.
func TestSubscriberIsWokenOnce(t *testing.T) {
	b, woken := eventbus.New[string](), 0
	s, _ := b.Subscribe(eventbus.Options{Actor: "ann", Wake: func() { woken++ }})
	publish(b, "one", false, "ann")
	publish(b, "two", false, "ann")
	if got := taken(b, s); got != "one two" || woken != 1 {
		t.Errorf("got %q, woken %d times", got, woken)
	}
	publish(b, "three", false, "ann")
	if got := taken(b, s); got != "three" || woken != 1 {
		t.Errorf("got %q, woken %d times while it takes", got, woken)
	}
	if got := taken(b, s); got != "" {
		t.Errorf("got %q", got)
	}
	if publish(b, "four", false, "ann"); woken != 2 {
		t.Errorf("woken %d times", woken)
	}
}

func texts(events []eventbus.Entry[string]) string {
	var list []string
	for _, e := range events {
		list = append(list, *e.Event)
	}
	return strings.Join(list, " ")
}

func publish(b *eventbus.Bus[string], text string, all bool, to ...string) {
	b.Publish(&text, eventbus.Audience{Actors: to, All: all}, len(text))
}

// An event reaches its audience, each subscriber once, and no other subscribers.
func TestAudience(t *testing.T) {
	b := eventbus.New[string]()
	ann, _, _ := subscribe(b, eventbus.Options{Actor: "ann"})
	twin, _, _ := subscribe(b, eventbus.Options{Actor: "ann"})
	bob, _, _ := subscribe(b, eventbus.Options{Actor: "bob"})
	all, _, _ := subscribe(b, eventbus.Options{Actor: "ann", SeesAll: true})
	publish(b, "offer", false, "ann")
	publish(b, "message", true, "bob", "bob", "ann")
	publish(b, "other", true, "eve")
	b.Leave(twin)
	publish(b, "last", true, "ann")
	b.Leave(twin) // once more changes nothing
	for _, c := range []struct {
		who  *eventbus.Subscriber[string]
		want string
	}{{ann, "offer message last"}, {twin, "offer message"}, {bob, "message"}, {all, "offer message other last"}} {
		if got := taken(b, c.who); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A subscriber that resumes gets its events since then. It cannot resume after an event
// that the bus has forgotten, or one of another run.
func TestResume(t *testing.T) {
	b := eventbus.New[string]()
	var ids []string
	note := func() {
		s, _, _ := subscribe(b, eventbus.Options{Actor: "eve"})
		ids = append(ids, b.StartID(s))
		b.Leave(s)
	}
	note()
	publish(b, "one", false, "ann")
	note()
	publish(b, "two", false, "bob")
	note()
	publish(b, "three", true, "bob")
	note()
	after := func(id string, all bool) (string, bool) {
		s, missed, ok := subscribe(b, eventbus.Options{Actor: "ann", SeesAll: all, After: id})
		b.Leave(s)
		return texts(missed), ok
	}
	if got, ok := after(ids[0], false); got != "one" || !ok {
		t.Errorf("got %q, %v", got, ok)
	}
	if got, ok := after(ids[1], false); got != "" || !ok {
		t.Errorf("got %q, %v", got, ok)
	}
	if got, ok := after(ids[1], true); got != "three" || !ok {
		t.Errorf("got %q, %v", got, ok)
	}
	for _, id := range []string{"", "otherrun-1", strings.Replace(ids[3], "-3", "-4", 1), ids[1] + "x"} {
		if _, ok := after(id, false); ok {
			t.Errorf("resumed after %q", id)
		}
	}
	for range eventbus.KeptEvents {
		publish(b, "more", false, "bob")
	}
	if _, ok := after(ids[1], false); ok {
		t.Error("resumed after an event that the bus has dropped")
	}
	if got, ok := after(ids[3], false); got != "" || !ok {
		t.Errorf("got %q, %v", got, ok)
	}
}

// The bus drops a subscriber that does not read. It delays neither other subscribers of its actor
// nor the publisher, and can still take its waiting events.
func TestSlowSubscriberIsDropped(t *testing.T) {
	b := eventbus.New[string]()
	slow, _, _ := subscribe(b, eventbus.Options{Actor: "ann", Works: true})
	fast, _, _ := subscribe(b, eventbus.Options{Actor: "ann"})
	for i := range 1000 {
		publish(b, fmt.Sprint(i), false, "ann")
		if got := taken(b, fast); got != fmt.Sprint(i) {
			t.Fatalf("got %q, want %d", got, i)
		}
	}
	events, last := b.Take(slow)
	if !last || len(events) == 0 || events[0].Number != 1 || events[len(events)-1].Number != uint64(len(events)) {
		t.Errorf("%d events, last %v", len(events), last)
	}
	if b.Present("ann") {
		t.Error("a disconnected subscriber counts as present")
	}
}

// An actor is present while a subscriber of it works.
func TestActorIsPresentWithSubscriber(t *testing.T) {
	b := eventbus.New[string]()
	looks, _, _ := subscribe(b, eventbus.Options{Actor: "pi"})
	if b.Present("pi") {
		t.Error("an observer counts as present")
	}
	one, _, _ := subscribe(b, eventbus.Options{Actor: "pi", Works: true})
	two, _, _ := subscribe(b, eventbus.Options{Actor: "pi", Works: true})
	b.Leave(one)
	b.Leave(looks)
	if !b.Present("pi") {
		t.Error("an executor does not count as present")
	}
	if b.Leave(two); b.Present("pi") {
		t.Error("an executor counts as present after Leave")
	}
}

// The cost of an event does not depend on subscribers outside its audience.
func BenchmarkPublish(b *testing.B) {
	for _, n := range []int{1, 1000, 10_000} {
		b.Run(fmt.Sprintf("subscribers=%d", n), func(b *testing.B) {
			bus := eventbus.New[string]()
			for i := range n {
				subscribe(bus, eventbus.Options{Actor: fmt.Sprint(i)})
			}
			to, _, _ := subscribe(bus, eventbus.Options{Actor: "to"})
			for b.Loop() {
				publish(bus, "x", true, "to")
				bus.Take(to)
			}
		})
	}
}

// Each name is due once, at its last time, the earliest name first.
func TestDeadlinesAreDueOnce(t *testing.T) {
	d, now := eventbus.NewDeadlines(), time.Unix(0, 0)
	at := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
	for i, name := range []string{"c", "a", "b", "d", "e"} {
		d.Set(name, at(100-i))
	}
	d.Set("c", at(3))
	d.Set("a", at(1))
	d.Set("b", at(2))
	d.Drop("d")
	d.Drop("d")
	if got := d.Due(at(50)); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("due %s, want a b c", got)
	}
	if got := d.Due(at(200)); !slices.Equal(got, []string{"e"}) || d.Len() != 0 {
		t.Errorf("due %s, want e; %d are left", got, d.Len())
	}
}
