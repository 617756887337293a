package mess

import "iter"

// ItemsOf iterates over the items of one type in messages, each with the message that contains
// it.
func ItemsOf[T Item](messages []Message) iter.Seq2[Message, T] {
	return func(yield func(Message, T) bool) {
		for i := range messages {
			for _, item := range messages[i].Items {
				if one, ok := item.(T); ok && !yield(messages[i], one) {
					return
				}
			}
		}
	}
}

// LastStatus returns the last status in messages, nil if there is none, and its message.
func LastStatus(messages []Message) (last *Status, in Message) {
	for m, s := range ItemsOf[*Status](messages) {
		last, in = s, m
	}
	return last, in
}

// FirstAck returns the first acknowledgement in a message, an empty one if there is none.
func FirstAck(m Message) Ack {
	for _, item := range m.Items {
		if ack, ok := item.(*Ack); ok {
			return *ack
		}
	}
	return Ack{}
}
