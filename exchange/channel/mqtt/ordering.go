package mqtt

import (
	"bytes"
	"time"

	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// maxWaiting bounds the waiting messages with QoS 0, which the broker does not keep.
const maxWaiting = 4096

// senderQueues takes the messages of one sender in order, and those of different senders
// concurrently.
type senderQueues struct{ keyed.Queues[func()] }

// open begins to take messages.
func (l *senderQueues) open() {
	l.Runner.Open(func(sender string) time.Duration {
		return l.Work(sender, func(take func()) time.Duration { take(); return keyed.Idle })
	})
}

// put adds a message of a sender. It returns false if too many wait, unless must is true.
func (l *senderQueues) put(sender string, must bool, take func()) bool {
	if !must && l.Waiting() >= maxWaiting {
		return false
	}
	l.Add(sender, take)
	return true
}

// runAfter calls take after the waiting messages of the sender, and returns when take has
// returned.
func (l *senderQueues) runAfter(sender string, take func()) {
	if !l.Runner.Busy(sender) { // all messages of a sender come over this connection
		take()
		return
	}
	done := make(chan struct{})
	l.Add(sender, func() { defer close(done); take() })
	<-done
}

// senderOf returns the queue of a message. A stop has its own queue, because it must not wait
// until the store has taken earlier messages.
func senderOf(t topic.Topic, payload []byte) string {
	sender := string(t.Kind[:1]) + "/" + t.ID
	if t.Kind == topic.AgentOut && isStopOnly(payload) {
		return sender + "/stop"
	}
	return sender
}

// maxStop is the limit of a message that is only a stop, in bytes.
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
