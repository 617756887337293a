package exchange

import (
	"errors"

	"github.com/messkit/messkit/exchange/eventbus"
	"github.com/messkit/messkit/mess"
)

// ErrSlow says that a follower did not keep up. It can resume after the last
// event that it has seen.
var ErrSlow = errors.New("the events came faster than they were read; resume from the last one")

// publish passes an event to one actor.
func (x *Exchange) publish(e Event, to string) {
	x.events.Publish(&e, eventbus.Audience{Actors: []string{to}}, roughSize(e.Message))
}

// publishToAll passes an event to all who may see its thread.
func (x *Exchange) publishToAll(e Event) {
	x.events.Publish(&e, eventbus.Audience{Actors: e.Thread.Parties(), All: true}, roughSize(e.Message))
}

// roughSize estimates the bytes that a message keeps in memory.
func roughSize(m mess.Message) int {
	n := 512
	for _, item := range m.Items {
		switch i := item.(type) {
		case *mess.Response:
			n += entriesSize(i.Content)
		case *mess.Request:
			n += len(i.Intent) + entriesSize(i.Context)
		case *mess.Reply:
			n += entriesSize(i.Context)
		}
	}
	return n
}

func entriesSize(entries []mess.Entry) int {
	n := 0
	for _, e := range entries {
		n += valueSize(e.Value) + valueSize(e.Extra)
	}
	return n
}

func valueSize(v any) int {
	n := 16
	switch v := v.(type) {
	case string:
		n += len(v)
	case mess.Object:
		for _, f := range v {
			n += len(f.Key) + valueSize(f.Value)
		}
	case []any:
		for _, e := range v {
			n += valueSize(e)
		}
	}
	return n
}
