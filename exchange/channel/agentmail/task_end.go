package agentmail

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// endOf returns the index of the message that has ended a thread, -1 if none has. Only the status
// of the thread shows its end: an executor may decline, delegate, or report the end of an earlier
// claim while another one works on the task.
func endOf(th exchange.Thread) int {
	if !th.Status.Terminal() {
		return -1
	}
	for _, h := range slices.Backward(th.History) {
		if h.Action == string(th.Status) {
			i := slices.IndexFunc(th.Messages, func(m mess.Message) bool { return m.Ref == h.Ref && h.Ref != "" })
			if i >= 0 {
				return i
			}
			break
		}
	}
	return len(th.Messages) - 1
}

// bodies returns the messages that report one message of a thread to the agent of its task.
func bodies(th exchange.Thread, t *task, i int) []format.Body {
	m := th.Messages[i]
	say := updateContext(th, t, i)
	if i == endOf(th) {
		return say.Bodies(atEnd(th, i))
	}
	if messeaf.IsAck(m) || messeaf.IsRequest(m) || m.From == t.Actor {
		return nil
	}
	for _, item := range m.Items {
		if s, ok := item.(*mess.Status); ok && s.Code.Terminal() {
			return []format.Body{say.ExecutorStopped(m.From, m.Ref, s)}
		}
	}
	return say.Bodies(m)
}

// atEnd returns the message that has ended a thread, with one status. A status of the exchange in
// the same step replaces it, because it sums up all executors. A cancel has no status, and gets
// one.
func atEnd(th exchange.Thread, i int) mess.Message {
	m := th.Messages[i]
	end := &mess.Status{Code: th.Status}
	var rest []mess.Item
	for _, item := range m.Items {
		switch one := item.(type) {
		case *mess.Status:
			if one.Code == th.Status {
				end = one
			}
		case *mess.Cancel:
			end.Reason = &mess.Reason{Detail: strings.TrimSuffix("cancelled by "+m.From+": "+one.Reason, ": "), Effect: mess.EffectNone}
		case *mess.Reply, *mess.Answer, *mess.Ack: // the requester knows its own messages
		default:
			rest = append(rest, item)
		}
	}
	for _, next := range th.Messages[i+1:] {
		if next.From != exchange.Self {
			break
		}
		for _, item := range next.Items {
			if s, ok := item.(*mess.Status); ok && s.Code == th.Status {
				end = s
			}
		}
	}
	m.Items = append([]mess.Item{end}, rest...)
	return m
}
