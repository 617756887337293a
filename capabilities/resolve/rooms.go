package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// namedRooms returns the rooms of an order that names more than one. It does not ask about
// the spots in each. ok is false if device d does not know one of them.
func (x *Request) namedRooms(m *lexicon.SlotValue, d int) ([]string, capabilities.Outcome, bool) {
	spots := x.Resolver.Site.Devices[d].Spots
	for _, room := range m.Rooms {
		if !slices.ContainsFunc(spots, func(s capabilities.Spot) bool {
			return strings.EqualFold(s.Name, room) || strings.EqualFold(s.Room, room)
		}) {
			return nil, x.rejectRoom(d, room), false
		}
	}
	return m.Rooms, capabilities.Outcome{}, true
}

// rejectRoom refuses a room that a cleaner does not know.
func (x *Request) rejectRoom(d int, room string) capabilities.Outcome {
	known := entity.Rooms(x.Resolver.Site.Devices[d].Spots)
	return x.Reject(fmt.Sprintf("the %s does not know the way to the %s; it knows %s", x.Resolver.Label(d), room, listPlaces(known)), known)
}

// Sweeping returns the cleaner that the text orders to clean, or -1 if it orders none. "The
// vacuum" is a name, and "is it clean" is no order.
func (x *Request) Sweeping() int {
	politely := slices.ContainsFunc(x.Tokens, func(t lexicon.Token) bool { return t.Folded == "you" })
	for i, t := range x.Tokens {
		switch t.Folded {
		case "vacuum":
			if i > 0 && !slices.Contains([]string{"please", "you", "to", "and", "then"}, x.Tokens[i-1].Folded) {
				continue
			}
		case "send":
			if i > 0 {
				continue
			}
		case "hoover", "clean", "sweep", "vacuuming", "hoovering", "cleaning", "sweeping":
		default:
			continue
		}
		if x.IsQuestion && !politely {
			return -1
		}
		return x.Resolver.Index.First(func(d int) bool { return slices.Contains(x.Resolver.Site.Devices[d].Commands, capabilities.Clean) })
	}
	return -1
}

// roomsText says which rooms a cleaner knows, for a room that it does not know.
func (x *Request) roomsText(d int) string {
	if known := entity.Rooms(x.Resolver.Site.Devices[d].Spots); len(known) > 0 {
		return fmt.Sprintf("the %s knows these rooms: %s", x.Resolver.Label(d), strings.Join(known, ", "))
	}
	if !x.Resolver.Site.Devices[d].Places {
		return fmt.Sprintf("the %s knows no rooms: it cleans everything", x.Resolver.Label(d))
	}
	return fmt.Sprintf("the %s has no known rooms; check whether it answers, and whether it has a map with rooms", x.Resolver.Label(d))
}
