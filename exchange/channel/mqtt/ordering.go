package mqtt

import (
	"bytes"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// maxWaiting bounds the waiting messages with QoS 0, which the broker does not keep.
const maxWaiting = 4096

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
