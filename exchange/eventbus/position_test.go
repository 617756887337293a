package eventbus_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/eventbus"
)

// stepOf returns the nth step of a feed: a step of one of three threads.
func stepOf(n int) eventbus.Step {
	return eventbus.Step{Ref: fmt.Sprint("thread", n%3), Ver: uint64(n/3 + 1), Op: fmt.Sprint("op", n)}
}

// eventsOf returns the texts of the events of a step: none, one or two.
func eventsOf(n int) []string {
	return slices.Repeat([]string{fmt.Sprint(n, "x"), fmt.Sprint(n, "y")}, 1)[:[]int{1, 1, 2, 1, 0}[n%5]]
}

// node is a bus of a process that follows a feed of steps with the positions 10, 20, 30 and so on.
type node struct {
	*eventbus.Bus[string]
	published map[int]bool
	passed    int // steps that the feed has delivered
}

func newNode() *node {
	n := &node{Bus: eventbus.New[string](), published: map[int]bool{}}
	n.Begin("home")
	n.Live()
	return n
}

// publish publishes a step, as its own process or its feed does.
func (n *node) publish(step int) {
	for _, text := range eventsOf(step) {
		if !n.published[step] {
			n.PublishStep(&text, eventbus.Audience{Actors: []string{"ann"}, All: true}, len(text), stepOf(step))
		}
	}
	n.published[step] = true
}

// pass delivers the next step of the feed.
func (n *node) pass() {
	n.publish(n.passed)
	n.Pass(uint64(n.passed+1)*10, stepOf(n.passed))
	n.passed++
}

// A client that moves among processes at any moment gets each event once, and those of a thread in order.
// Processes publish their own steps before earlier ones of others.
func TestClientMovesAmongBuses(t *testing.T) {
	const steps = 60
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		nodes := []*node{newNode(), newNode(), newNode()}
		var got []string
		last, at := "", nodes[0]
		s, _, _ := subscribe(at.Bus, eventbus.Options{Actor: "ann"})
		last = at.StartID(s)
		read := func(events []eventbus.Entry[string], limit int) (whole bool) {
			for i, e := range events {
				if i == limit {
					return false // the connection breaks
				}
				got, last = append(got, *e.Event), at.ID(s, e)
			}
			return true
		}
		move := func(to *node) {
			at.Leave(s)
			for to.Behind(last) != nil {
				to.pass()
			}
			at = to
			var start eventbus.Start[string]
			if s, start = at.Subscribe(eventbus.Options{Actor: "ann", After: last, Wake: func() {}}); !start.Resumed {
				t.Fatalf("seed %d: no resume after %s", seed, last)
			}
			for !read(start.Missed, r.IntN(6)) {
				at.Leave(s)
				if s, start = at.Subscribe(eventbus.Options{Actor: "ann", After: last, Wake: func() {}}); !start.Resumed {
					t.Fatalf("seed %d: no second resume after %s", seed, last)
				}
			}
		}
		for done := 0; done < steps; {
			switch one := nodes[r.IntN(len(nodes))]; r.IntN(4) {
			case 0: // a process makes up to three steps before its feed delivers them; a thread has one step at a time
				for own := range 3 {
					if n := one.passed + 2 - own; n < steps && r.IntN(2) == 0 {
						one.publish(n)
					}
				}
			case 1:
				if one.passed < steps {
					one.pass()
				}
			case 2:
				move(one)
			default:
				events, _ := at.Take(s)
				if !read(events, r.IntN(4)) {
					move(nodes[r.IntN(len(nodes))])
				}
			}
			done = min(nodes[0].passed, nodes[1].passed, nodes[2].passed)
		}
		move(nodes[1])
		events, _ := at.Take(s)
		read(events, len(events))
		check(t, seed, got, steps)
	}
}

// check checks that a client has each event of some steps once, and those of a thread in order.
func check(t *testing.T, seed uint64, got []string, steps int) {
	t.Helper()
	byThread := map[int][]string{}
	for _, text := range got {
		var n int
		var event string
		if _, err := fmt.Sscanf(text, "%d%s", &n, &event); err != nil {
			t.Fatal(err)
		}
		byThread[n%3] = append(byThread[n%3], text)
	}
	for thread := range 3 {
		var want []string
		for n := thread; n < steps; n += 3 {
			want = append(want, eventsOf(n)...)
		}
		if !slices.Equal(byThread[thread], want) {
			t.Fatalf("seed %d: thread %d has the events\n%s, want\n%s", seed, thread, byThread[thread], want)
		}
	}
}

// A bus does not resume after an id that it cannot place.
func TestNoResumeElsewhere(t *testing.T) {
	fill := func(home string, steps int) (*node, string) {
		n := &node{Bus: eventbus.New[string](), published: map[int]bool{}}
		n.Begin(home)
		n.Live()
		for range steps {
			n.pass()
		}
		s, _, _ := subscribe(n.Bus, eventbus.Options{Actor: "eve"})
		return n, n.StartID(s)
	}
	bus, _ := fill("home", 20)
	resumes := func(id string, works bool) bool {
		s, _, ok := subscribe(bus.Bus, eventbus.Options{Actor: "ann", After: id, Works: works})
		bus.Leave(s)
		return ok
	}
	_, same := fill("home", 10)
	_, beginning := fill("home", 0)
	_, future := fill("home", 30)
	other := &node{Bus: eventbus.New[string](), published: map[int]bool{}}
	other.Begin("home")
	for n := range 10 {
		other.Pass(uint64(n+1)*10, eventbus.Step{Ref: "other", Ver: uint64(n + 1), Op: "x"})
	}
	s, _, _ := subscribe(other.Bus, eventbus.Options{Actor: "eve"})
	otherStore := other.StartID(s)
	_, otherHome := fill("away", 0)
	if !resumes(same, false) || !resumes(same, true) || !resumes(beginning, false) {
		t.Errorf("no resume after %s and %s", same, beginning)
	}
	for name, id := range map[string]string{
		"the future": future, "another store": otherStore, "another home": otherHome, "garbage": "now", "more garbage": same + "-", "a long id": same + strings.Repeat("-a", 20000),
		"another form of a number": strings.Replace(same, ".", ".0", 1), "no tag": same[:strings.Index(same, ".")],
	} {
		if resumes(id, false) {
			t.Errorf("%s: resumes after %.80s", name, id)
		}
	}
	for range eventbus.KeptEvents {
		text := "more"
		bus.PublishStep(&text, eventbus.Audience{}, 1, stepOf(bus.passed))
		bus.Pass(uint64(bus.passed+1)*10, stepOf(bus.passed))
		bus.passed++
	}
	if resumes(same, false) {
		t.Error("resumes after an event that is too old")
	}
}

// One that works resumes elsewhere only over events that came at the time of their causes. It gets those
// of no step again.
func TestWorkerResumesElsewhere(t *testing.T) {
	a, b := newNode(), &node{Bus: eventbus.New[string](), published: map[int]bool{}}
	a.pass()
	s, _, _ := subscribe(a.Bus, eventbus.Options{Actor: "ann"})
	before := a.StartID(s)
	a.pass()
	s, _, _ = subscribe(a.Bus, eventbus.Options{Actor: "ann"})
	during := a.StartID(s)
	b.Begin("home")
	b.pass()
	b.Live()
	publish(b.Bus, "withdrawn", false, "ann")
	b.publish(1)
	publish(b.Bus, "withdrawn too", false, "ann")
	b.pass()
	for _, c := range []struct {
		after string
		works bool
		want  string
		ok    bool
	}{{before, false, "1x", true}, {before, true, "", false}, {during, true, "", true}} {
		s, missed, ok := subscribe(b.Bus, eventbus.Options{Actor: "ann", Works: c.works, After: c.after})
		b.Leave(s)
		if got := texts(missed); got != c.want || ok != c.ok {
			t.Errorf("after %s, works %v: %q, %v; want %q, %v", c.after, c.works, got, ok, c.want, c.ok)
		}
	}
	publish(b.Bus, "withdrawn", false, "ann")
	b.publish(2)
	b.pass()
	if _, missed, ok := subscribe(b.Bus, eventbus.Options{Actor: "ann", Works: true, After: during}); !ok || texts(missed) != "withdrawn 2x 2y" {
		t.Errorf("%q, %v", texts(missed), ok)
	}
}

// A bus that lacks events of a step does not resume before it.
func TestNoResumeOverLostStep(t *testing.T) {
	a, b := newNode(), newNode()
	s, _, _ := subscribe(a.Bus, eventbus.Options{Actor: "ann"})
	first := a.StartID(s)
	a.pass()
	s, _, _ = subscribe(a.Bus, eventbus.Options{Actor: "ann"})
	second := a.StartID(s)
	b.Lose(10, stepOf(0))
	for id, want := range map[string]bool{first: false, second: true} {
		if _, _, ok := subscribe(b.Bus, eventbus.Options{Actor: "ann", After: id}); ok != want {
			t.Errorf("after %s: %v, want %v", id, ok, want)
		}
	}
	b.Lose(10, stepOf(7)) // the store is an older copy of its former state
	if _, _, ok := subscribe(b.Bus, eventbus.Options{Actor: "ann", After: second}); ok {
		t.Error("resumes after a step that the store does not have any more")
	}
}

// Any text is an id that resumes or not; it never breaks the bus.
func FuzzAfter(f *testing.F) {
	n := newNode()
	for range 10 {
		n.pass()
	}
	n.publish(11)
	s, _, _ := subscribe(n.Bus, eventbus.Options{Actor: "ann"})
	f.Add(n.StartID(s))
	f.Add("x" + n.StartID(s))
	f.Add("a-1-b.c-d.e")
	f.Add("a-1-0.0")
	f.Fuzz(func(t *testing.T, id string) {
		s, start := n.Subscribe(eventbus.Options{Actor: "ann", After: id, Wake: func() {}})
		defer n.Leave(s)
		for _, e := range start.Missed {
			if next := n.ID(s, e); len(next) > 32<<10 {
				t.Errorf("an id has %d bytes", len(next))
			}
		}
	})
}

// The cost of a step does not depend on how many steps the feed has yet to deliver.
func BenchmarkSteps(b *testing.B) {
	for _, behind := range []int{1, 64} {
		b.Run(fmt.Sprintf("behind=%d", behind), func(b *testing.B) {
			bus := eventbus.New[int]()
			bus.Begin("store")
			step := func(n int) eventbus.Step { return eventbus.Step{Ref: fmt.Sprint(n % 1000), Ver: uint64(n/1000 + 1)} }
			for n := 0; b.Loop(); n++ {
				bus.PublishStep(&n, eventbus.Audience{}, 1, step(n))
				if n >= behind {
					bus.Pass(uint64(n-behind+1), step(n-behind))
				}
			}
		})
	}
}
