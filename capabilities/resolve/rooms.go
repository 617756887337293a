package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// severalRooms are the rooms of an order that names more than one. They are taken as
// they stand: it is not asked what of each is meant. ok is false where device d does
// not know one of them.
func (x *Request) severalRooms(m *lexicon.SlotValue, d int) ([]string, capabilities.Outcome, bool) {
	spots := x.Resolver.Site.Devices[d].Spots
	for _, room := range m.Rooms {
		if !slices.ContainsFunc(spots, func(s capabilities.Spot) bool {
			return strings.EqualFold(s.Name, room) || strings.EqualFold(s.Room, room)
		}) {
			return nil, x.unreachable(d, room), false
		}
	}
	return m.Rooms, capabilities.Outcome{}, true
}

// unreachable refuses a room that a cleaner does not know.
func (x *Request) unreachable(d int, room string) capabilities.Outcome {
	known := entity.Rooms(x.Resolver.Site.Devices[d].Spots)
	return x.Reject(fmt.Sprintf("the %s does not know the way to the %s; it knows %s", x.Resolver.Label(d), room, oneOfMany(known)), known)
}

// Sweeping is the cleaner that is told to clean something; -1 where nothing is told
// so. "The vacuum" is one's name, and "is it clean" no order.
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

// knowsRooms says which rooms a cleaner knows, for a room that nobody knows.
func (x *Request) knowsRooms(d int) string {
	if known := entity.Rooms(x.Resolver.Site.Devices[d].Spots); len(known) > 0 {
		return fmt.Sprintf("the %s knows these rooms: %s", x.Resolver.Label(d), strings.Join(known, ", "))
	}
	if !x.Resolver.Site.Devices[d].Places {
		return fmt.Sprintf("the %s knows no rooms: it cleans everything", x.Resolver.Label(d))
	}
	return fmt.Sprintf("no rooms of the %s are known; look whether it answers, and whether it has a map with rooms", x.Resolver.Label(d))
}
