package mqtt

import (
	"bytes"
	"sync"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// maxLanes is how many messages may wait that the broker does not keep for us.
const maxLanes = 4096

// lanes take what several say beside each other, and what one says in order:
// nobody waits for another.
type lanes struct {
	mu    sync.Mutex
	open  bool                // what waits is taken
	queue map[string][]func() // what waits, by who has sent it
	runs  map[string]bool     // lanes that are driven now
	wait  int
	group sync.WaitGroup
}

func newLanes() *lanes { return &lanes{queue: map[string][]func(){}, runs: map[string]bool{}} }

// opened begins or ceases to take what waits.
func (l *lanes) opened(open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = open
	for lane := range l.queue {
		l.begin(lane)
	}
}

// put puts something into a lane. It reports false where too much waits, unless
// it must be taken.
func (l *lanes) put(lane string, must bool, f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wait >= maxLanes && !must {
		return false
	}
	l.wait++
	l.queue[lane] = append(l.queue[lane], f)
	l.begin(lane)
	return true
}

// after runs f behind what waits in a lane, and returns when it has run.
func (l *lanes) after(lane string, f func()) {
	l.mu.Lock()
	idle := !l.runs[lane] && len(l.queue[lane]) == 0
	l.mu.Unlock()
	if idle { // whoever else puts something there comes by the same connection
		f()
		return
	}
	done := make(chan struct{})
	l.put(lane, true, func() { defer close(done); f() })
	<-done
}

// begin drives a lane, if it is not driven already. l.mu is held.
func (l *lanes) begin(lane string) {
	if l.open && !l.runs[lane] {
		l.runs[lane] = true
		l.group.Go(func() { l.drive(lane) })
	}
}

// drive takes what waits in a lane until nothing does, or the lanes are closed.
func (l *lanes) drive(lane string) {
	for {
		l.mu.Lock()
		if len(l.queue[lane]) == 0 {
			delete(l.queue, lane)
		}
		if !l.open || len(l.queue[lane]) == 0 {
			delete(l.runs, lane)
			l.mu.Unlock()
			return
		}
		next := l.queue[lane][0]
		l.queue[lane] = l.queue[lane][1:]
		l.wait--
		l.mu.Unlock()
		next()
	}
}

// laneOf is the lane of a message: its sender's, and for a stop one of its own.
// Whoever stops must not wait until the store has taken what he has said before.
func laneOf(t topic.Topic, payload []byte) string {
	lane := string(t.Kind[:1]) + "/" + t.ID
	if t.Kind == topic.AgentOut && stops(payload) {
		return lane + "/stop"
	}
	return lane
}

// maxStop is how long a message may be that is nothing but a stop, in bytes.
const maxStop = 4096

// stops reports whether a message is a stop and nothing else.
func stops(payload []byte) bool {
	if len(payload) > maxStop || !bytes.Contains(payload, []byte("stop")) {
		return false
	}
	all, err := mess.Parse(payload)
	if err != nil || len(all.Items) == 0 {
		return false
	}
	for _, item := range all.Items {
		if c, ok := item.(*mess.Config); !ok || c.Stop == nil || c.Executor != nil || c.Routing != nil {
			return false
		}
	}
	return true
}
