package mqtt

import (
	"bytes"
	"time"

	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// maxWaiting is how many messages may wait that the broker does not keep for us.
const maxWaiting = 4096

// senderQueues are messages that are to be taken, by sender: those of one sender in order, so
// that nobody waits for another.
type senderQueues struct{ keyed.Queues[func()] }

// open begins to take messages.
func (l *senderQueues) open() {
	l.Runner.Open(func(sender string) time.Duration {
		return l.Work(sender, func(take func()) time.Duration { take(); return keyed.Idle })
	})
}

// put adds a message of a sender. It reports false where too many wait, unless the message
// must be taken.
func (l *senderQueues) put(sender string, must bool, take func()) bool {
	if !must && l.Waiting() >= maxWaiting {
		return false
	}
	l.Add(sender, take)
	return true
}

// runAfter takes a message after those of its sender that wait, and returns when it is taken.
func (l *senderQueues) runAfter(sender string, take func()) {
	if !l.Runner.Busy(sender) { // whoever else adds something comes by the same connection
		take()
		return
	}
	done := make(chan struct{})
	l.Add(sender, func() { defer close(done); take() })
	<-done
}

// senderOf is the sender of a message. A stop has a sender of its own, because it must not wait
// until the store has taken the earlier messages.
func senderOf(t topic.Topic, payload []byte) string {
	sender := string(t.Kind[:1]) + "/" + t.ID
	if t.Kind == topic.AgentOut && isStopOnly(payload) {
		return sender + "/stop"
	}
	return sender
}

// maxStop is how long a message may be that is nothing but a stop, in bytes.
const maxStop = 4096

// isStopOnly reports whether a message is a stop and nothing else.
func isStopOnly(payload []byte) bool {
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
