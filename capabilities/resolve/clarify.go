package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/reply"
	"github.com/messkit/messkit/mess"
)

// WithoutKey returns a copy of o without the key.
func WithoutKey(o mess.Object, key string) mess.Object {
	return slices.DeleteFunc(slices.Clone(o), func(f mess.Field) bool { return f.Key == key })
}

// AskClarification returns the answer to a question if the request has one. Otherwise ok is
// false and out is the question.
func (x *Request) AskClarification(q capabilities.Clarification) (picked []string, out capabilities.Outcome, ok bool) {
	q.Given = x.Given
	if lost := x.DroppedText(); !strings.HasPrefix(q.Text, lost) {
		q.Text = lost + q.Text
	}
	raw, answered := x.Given.Get(q.Field)
	if !answered {
		return nil, capabilities.Outcome{Question: &q}, false
	}
	if picked = reply.NewMatcher(&x.Resolver.Home, q, x.Message).Pick(raw); len(picked) == 0 {
		return nil, capabilities.Outcome{Question: &q}, false
	}
	return picked, capabilities.Outcome{}, true
}

// chooseDevices chooses the device of a hypothesis, or several of them. It asks if that is not
// clear.
func (x *Request) chooseDevices(rd *Hypothesis) ([]int, capabilities.Outcome, bool) {
	if rd.lacksKind() && !rd.IsWholeArea() && rd.Capability.Effect != capabilities.Query && len(rd.Capability.Classes) != 1 {
		return nil, x.Reject("\"all\" of what? name a kind of device, like lights", nil), false
	}
	if len(rd.Devices) == 1 {
		return rd.Devices, capabilities.Outcome{}, true
	}
	options := x.Resolver.Labels(rd.Devices)
	if rd.All {
		reason := fmt.Sprintf("that is %d devices: %s; make a request for each", len(options), strings.Join(options, ", "))
		return nil, x.Reject(reason, options), false
	}
	text := "which one: " + lexicon.OrList(options) + "?"
	picked, out, ok := x.AskClarification(capabilities.Clarification{Field: "device", Text: text, Options: options})
	if !ok {
		return nil, out, false
	}
	if len(picked) > 1 && rd.Capability.Command.IsWait() {
		text := "one request watches one thing; which one: " + lexicon.OrList(options) + "?"
		return nil, capabilities.Outcome{Question: &capabilities.Clarification{Field: "device", Text: text, Options: options, Given: WithoutKey(x.Given, "device")}}, false
	}
	devices := make([]int, len(picked))
	for i, one := range picked {
		devices[i] = rd.Devices[slices.Index(options, one)]
	}
	return devices, capabilities.Outcome{}, true
}

// namedAreas returns the places that a hypothesis names, or nil for all places.
func (x *Request) namedAreas(rd *Hypothesis) []string {
	if rd.Capability.Command == capabilities.Print {
		if m := rd.Slot("spot"); m != nil {
			return []string{m.Value}
		}
	}
	if rd.Capability.Command != capabilities.Clean {
		return nil
	}
	if w := x.Demand.of(rd.Capability); w != nil && len(w.Areas) > 0 {
		return w.Areas
	}
	if m := rd.Slot("spot"); m != nil {
		if len(m.Rooms) > 0 {
			return m.Rooms
		}
		return []string{m.Value}
	}
	if m := rd.Slot("area"); m != nil {
		return []string{m.Value}
	}
	if x.Demand.location != "" {
		return []string{x.Demand.location}
	}
	return nil
}

// chooseAreas chooses where device d shall work. It asks about a room with more than one
// spot. The areas in requires count as they are.
func (x *Request) chooseAreas(rd *Hypothesis, d int) ([]string, capabilities.Outcome, bool) {
	areas := x.namedAreas(rd)
	if x.Exclusion != nil && rd.Capability.Command == capabilities.Clean {
		if len(areas) > 0 || rd.unreachableArea != "" {
			return nil, x.Reject(fmt.Sprintf("%q excludes something from one place; name the places that you mean", x.Exclusion.Phrase), nil), false
		}
		return x.otherRooms(d)
	}
	if rd.unreachableArea != "" && !slices.Contains(areas, rd.unreachableArea) {
		return nil, x.rejectRoom(d, rd.unreachableArea), false
	}
	if rd.Capability.Command == capabilities.Print && len(areas) == 0 {
		return x.askFile(d)
	}
	if rd.areaUnspecified && len(areas) == 0 {
		return x.askRoom(d)
	}
	m := rd.Slot("spot")
	if m != nil && len(m.Rooms) > 1 && !x.hasRequiredAreas(rd) {
		return x.namedRooms(m, d)
	}
	if m == nil || len(areas) != 1 || x.hasRequiredAreas(rd) {
		return areas, capabilities.Outcome{}, true
	}
	var spots []capabilities.WorkArea
	for _, s := range x.Resolver.Site.Devices[d].WorkAreas {
		room := slices.Contains(m.Spots, capabilities.WorkArea{Name: s.Room, Room: s.Room})
		if s.Name != s.Room && (room || slices.Contains(m.Spots, s)) {
			spots = append(spots, s)
		}
	}
	if len(spots) < 2 {
		return areas, capabilities.Outcome{}, true
	}
	return x.askSpots(spots)
}

// askRoom asks for the room if the text says "the room".
func (x *Request) askRoom(d int) ([]string, capabilities.Outcome, bool) {
	options := entity.Rooms(x.Resolver.Site.Devices[d].WorkAreas)
	if len(options) < 2 {
		return options, capabilities.Outcome{}, true
	}
	picked, out, ok := x.AskClarification(capabilities.Clarification{Field: "area", Text: "which room: " + lexicon.OrList(options) + "?", Options: options})
	return picked, out, ok
}

// maxFiles is the largest number of files in a question.
const maxFiles = 12

// askFile asks for the file if the text names none.
func (x *Request) askFile(d int) ([]string, capabilities.Outcome, bool) {
	var options []string
	for _, s := range x.Resolver.Site.Devices[d].WorkAreas {
		options = append(options, s.Name)
	}
	switch {
	case len(options) == 0:
		return nil, x.Reject(x.noFiles(d), nil), false
	case len(options) > maxFiles:
		return nil, x.Reject(fmt.Sprintf("there are %d files on the %s; say which to print", len(options), x.Resolver.Label(d)), options[:maxFiles]), false
	}
	picked, out, ok := x.AskClarification(capabilities.Clarification{Field: "file", Text: "which file: " + lexicon.OrList(options) + "?", Options: options})
	if ok && len(picked) > 1 {
		text := "one request prints one file; which one: " + lexicon.OrList(options) + "?"
		return nil, capabilities.Outcome{Question: &capabilities.Clarification{Field: "file", Text: text, Options: options, Given: WithoutKey(x.Given, "file")}}, false
	}
	return picked, out, ok
}

// printerOf returns the printer that the text orders to print, or -1 if it orders none. The
// refusal of such a text does not mention a vacuum of the same home.
func (x *Request) printerOf() int {
	if !slices.ContainsFunc(x.Tokens, func(t lexicon.Token) bool { return t.Folded == "print" || t.Folded == "printing" }) {
		return -1
	}
	return x.Resolver.Index.First(func(d int) bool { return x.Resolver.Site.Devices[d].Prints() })
}

// rejectUnknownFile refuses a file that the printer does not have.
func (x *Request) rejectUnknownFile(d int, leftover []string) capabilities.Outcome {
	var names []string
	for _, s := range x.Resolver.Site.Devices[d].WorkAreas {
		names = append(names, s.Name)
	}
	names = names[:min(len(names), maxFiles)]
	files := x.noFiles(d)
	if len(names) > 0 {
		files = fmt.Sprintf("the %s has %s", x.Resolver.Label(d), strings.Join(names, ", "))
	}
	return x.Reject("not understood: "+lexicon.QuoteList(leftover)+"; "+files, names)
}

// noFiles returns the reason for a refusal if printer d has no known file.
func (x *Request) noFiles(d int) string {
	return fmt.Sprintf("the %s has no known file; put one on it, and check whether it answers", x.Resolver.Label(d))
}

// hasRequiredAreas reports whether requires names the areas of the hypothesis.
func (x *Request) hasRequiredAreas(rd *Hypothesis) bool {
	w := x.Demand.of(rd.Capability)
	return w != nil && len(w.Areas) > 0
}

// askSpots asks which of the spots of a room the requester means.
func (x *Request) askSpots(spots []capabilities.WorkArea) ([]string, capabilities.Outcome, bool) {
	var options, labels []string
	for _, s := range spots {
		if slices.Contains(options, s.Name) {
			continue
		}
		options = append(options, s.Name)
		labels = append(labels, strings.TrimSpace(s.Note+" "+s.Name))
	}
	if len(options) == 1 {
		return options, capabilities.Outcome{}, true
	}
	text := lexicon.UpperFirst(strings.Join(labels, " and ")) + ": which?"
	picked, out, ok := x.AskClarification(capabilities.Clarification{Field: "area", Text: text, Options: append(slices.Clone(options), lexicon.BothOrAll(len(options)))})
	if !ok {
		return nil, out, false
	}
	if slices.Contains(picked, lexicon.BothOrAll(len(options))) {
		return options, capabilities.Outcome{}, true
	}
	return picked, capabilities.Outcome{}, true
}

// AskConfirmation turns a plan into a question for a confirmation; The question begins with the
// text because. The outcome is the plan if the request has the confirmation.
func (x *Request) AskConfirmation(p capabilities.Plan, because string) capabilities.Outcome {
	q := capabilities.Clarification{Field: "go_ahead", Text: because + "shall I " + p.Summary + "?", Options: []string{"yes", "no"}}
	picked, out, ok := x.AskClarification(q)
	if !ok {
		return out
	}
	if picked[0] != "yes" {
		return x.Reject("the answer was no; nothing happens", nil)
	}
	return capabilities.Outcome{Plan: &p}
}

// namedRooms returns the rooms of an order that names more than one. It does not ask about
// the spots in each. ok is false if device d does not know one of them.
func (x *Request) namedRooms(m *lexicon.SlotValue, d int) ([]string, capabilities.Outcome, bool) {
	spots := x.Resolver.Site.Devices[d].WorkAreas
	for _, room := range m.Rooms {
		if !slices.ContainsFunc(spots, func(s capabilities.WorkArea) bool {
			return strings.EqualFold(s.Name, room) || strings.EqualFold(s.Room, room)
		}) {
			return nil, x.rejectRoom(d, room), false
		}
	}
	return m.Rooms, capabilities.Outcome{}, true
}

// rejectRoom refuses a room that a cleaner does not know.
func (x *Request) rejectRoom(d int, room string) capabilities.Outcome {
	known := entity.Rooms(x.Resolver.Site.Devices[d].WorkAreas)
	return x.Reject(fmt.Sprintf("the %s does not know the way to the %s; it knows %s", x.Resolver.Label(d), room, listPlaces(known)), known)
}

// OrderedCleaner returns the cleaner that the text orders to clean, or -1 if it orders none.
// "The vacuum" is a name, and "is it clean" is no order.
func (x *Request) OrderedCleaner() int {
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
	if known := entity.Rooms(x.Resolver.Site.Devices[d].WorkAreas); len(known) > 0 {
		return fmt.Sprintf("the %s knows these rooms: %s", x.Resolver.Label(d), strings.Join(known, ", "))
	}
	if !x.Resolver.Site.Devices[d].ReportsAreas {
		return fmt.Sprintf("the %s knows no rooms: it cleans everything", x.Resolver.Label(d))
	}
	return fmt.Sprintf("the %s has no known rooms; check whether it answers, and whether it has a map with rooms", x.Resolver.Label(d))
}
