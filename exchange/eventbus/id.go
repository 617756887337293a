package eventbus

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// The id of an event has two parts. The first one is the number of the event at this bus:
//
//	RUN-NUMBER
//
// A bus of another process does not know it. The second part names the steps that the client has. The
// feed of the store gives each step the same position at each process:
//
//	-POSITION.TAG          all steps up to this position, and the tag of its step
//	-TAG or -TAG.EVENTS    each later step: its tag, and the number of its first events
//
// A bus publishes its own steps before the feed delivers them, so it can have later steps without
// earlier ones.

const maxID = 16 << 10 // bytes

// StartID returns the id of the last event before s subscribed.
func (b *Bus[E]) StartID(s *Subscriber[E]) string { return b.ID(s, s.start) }

// ID returns the id of an event for a subscriber, after which it resumes here or at another bus.
func (b *Bus[E]) ID(s *Subscriber[E], e Entry[E]) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := []byte(b.run + "-" + strconv.FormatUint(e.Number, 10))
	at := *e.at
	if !at.known {
		return string(text)
	}
	if s.pos > at.pos {
		at.pos, at.tag = s.pos, s.tag
	}
	text = append(text, '-')
	text = append(strconv.AppendUint(text, at.pos, 36), '.')
	text = strconv.AppendUint(text, at.tag, 36)
	for _, one := range at.ahead {
		text = one.append(text)
	}
	more := false
	for _, h := range s.had {
		if h.pos != 0 && h.pos <= at.pos {
			continue
		}
		more = true
		if !slices.ContainsFunc(at.ahead, func(p part) bool { return p.tag == h.tag }) {
			text = h.append(text)
		}
	}
	if !more && s.pos <= e.at.pos {
		s.pos, s.tag, s.had = 0, 0, nil
	}
	return string(text)
}

func (p part) append(text []byte) []byte {
	text = strconv.AppendUint(append(text, '-'), p.tag, 36)
	if p.events != 1 {
		text = strconv.AppendUint(append(text, '.'), uint64(p.events), 36)
	}
	return text
}

// eventID is the id of an event.
type eventID struct {
	run    string
	number uint64
	place
}

// parseID parses the id of an event. ok is false for any other text.
func parseID(id string) (i eventID, ok bool) {
	if len(id) > maxID {
		return i, false
	}
	parts := strings.Split(id, "-")
	if len(parts) < 2 || parts[0] == "" {
		return i, false
	}
	i.run = parts[0]
	if i.number, ok = number(parts[1], 10); !ok || len(parts) == 2 {
		return i, ok
	}
	pos, tag, has := strings.Cut(parts[2], ".")
	i.pos, ok = number(pos, 36)
	if !ok || !has {
		return i, false
	}
	if i.tag, i.known = number(tag, 36); !i.known {
		return i, false
	}
	for _, text := range parts[3:] {
		tag, events, several := strings.Cut(text, ".")
		one := part{events: 1}
		if one.tag, ok = number(tag, 36); !ok {
			return i, false
		}
		if several {
			n, ok := number(events, 36)
			if !ok || n > math.MaxInt32 || n == 1 {
				return i, false
			}
			one.events = int(n)
		}
		i.ahead = append(i.ahead, one)
	}
	return i, len(i.ahead) <= 2*maxAhead
}

// number parses a number as strconv writes it.
func number(text string, base int) (uint64, bool) {
	n, err := strconv.ParseUint(text, base, 64)
	return n, err == nil && strconv.FormatUint(n, base) == text
}
