package mqtt

import (
	"bytes"
	"sync"
	"time"

	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// maxWaiting is how many messages may wait that the broker does not keep for us.
const maxWaiting = 4096

// incomings are messages that are to be taken: those of one sender in order, and those of
// different senders at the same time, so that nobody waits for another.
type incomings struct {
	runner keyed.Runner // by sender

	mu    sync.Mutex
	queue map[string][]func() // by sender
	wait  int
}

func newIncomings() *incomings { return &incomings{queue: map[string][]func(){}} }

// open begins to take what waits.
func (l *incomings) open() { l.runner.Open(l.takeOne) }

// put adds a message of a sender. It reports false where too many wait, unless the message
// must be taken.
func (l *incomings) put(sender string, must bool, f func()) bool {
	l.mu.Lock()
	if l.wait >= maxWaiting && !must {
		l.mu.Unlock()
		return false
	}
	l.wait++
	l.queue[sender] = append(l.queue[sender], f)
	l.mu.Unlock()
	l.runner.Wake(sender)
	return true
}

// after runs f after what waits of a sender, and returns when it has run.
func (l *incomings) after(sender string, f func()) {
	if !l.runner.Busy(sender) { // whoever else adds something comes by the same connection
		f()
		return
	}
	done := make(chan struct{})
	l.put(sender, true, func() { defer close(done); f() })
	<-done
}

// takeOne takes the first message of a sender.
func (l *incomings) takeOne(sender string) (again time.Duration) {
	l.mu.Lock()
	queue := l.queue[sender]
	if len(queue) == 0 {
		delete(l.queue, sender)
		l.mu.Unlock()
		return keyed.Idle
	}
	l.queue[sender] = queue[1:]
	l.wait--
	l.mu.Unlock()
	queue[0]()
	return 0
}

// senderOf is the sender of a message. A stop has a sender of its own, because it must not wait
// until the store has taken the earlier messages.
func senderOf(t topic.Topic, payload []byte) string {
	sender := string(t.Kind[:1]) + "/" + t.ID
	if t.Kind == topic.AgentOut && stops(payload) {
		return sender + "/stop"
	}
	return sender
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
