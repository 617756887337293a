package door

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/agentmail"
	"github.com/messkit/messkit/mess"
)

// Reservation is the use of zones by one agent for some time.
type Reservation struct {
	Actor     string    `json:"actor"` // as whom it speaks to the exchange
	By        string    `json:"by"`
	Task      string    `json:"task"`
	Message   string    `json:"message"` // the message_id that asked for it
	Patterns  []string  `json:"patterns"`
	Devices   []string  `json:"devices"` // that it binds
	Exclusive bool      `json:"exclusive"`
	Until     time.Time `json:"until"`
	Reason    string    `json:"reason,omitempty"`
}

// Reserved tells who has reserved a device for himself, and until when, for one who
// asks for something there in the name of by; ok is false if nobody else has.
// changed is closed when that may have changed.
func (d *Door) Reserved(device, by string) (holder string, until time.Time, changed <-chan struct{}, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	for _, r := range d.s.Zones {
		if r.Exclusive && r.Actor != by && now.Before(r.Until) && slices.Contains(r.Devices, device) {
			return r.By, r.Until, d.news, true
		}
	}
	return "", time.Time{}, nil, false
}

// bound are the devices that patterns name: zone/NAME, zone/NAME/**, zone/NAME/DEVICE
// and device/NAME, with * and ** as in the names of files.
func (c Config) bound(patterns []string) (devices, unknown []string) {
	for _, p := range patterns {
		found := false
		for _, zone := range slices.Sorted(maps.Keys(c.Zones)) {
			for _, device := range c.Zones[zone] {
				if matches(p, zone, device) {
					found = true
					if !slices.Contains(devices, device) {
						devices = append(devices, device)
					}
				}
			}
		}
		if !found {
			unknown = append(unknown, p)
		}
	}
	return devices, unknown
}

func matches(pattern, zone, device string) bool {
	pattern = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(pattern, "/"), "/**"), "/")
	for _, name := range []string{"zone/" + zone, "zone/" + zone + "/" + device, "device/" + device} {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			return true
		}
	}
	return pattern == "zone" || pattern == "device"
}

// reserve reserves zones for a peer, or says who has.
func (d *Door) reserve(from peer, m agentmail.Message, f *agentmail.FileReservation) (receipt, error) {
	want := []agentmail.Alternative{}
	for _, p := range f.Request.FilePatterns {
		want = append(want, agentmail.Alternative{Pattern: p, Mode: f.Request.Mode})
	}
	minutes := min(f.Request.Minutes, d.cfg.MaxZone.Minutes())
	until := d.now().Add(time.Duration(minutes * float64(time.Minute)))
	note, err := d.hold(from, m.MessageID, f.TaskID, want, until, f.Request.Reason)
	if err != nil && len(f.Alternatives) > 0 {
		other, err2 := d.hold(from, m.MessageID, f.TaskID, f.Alternatives, until, f.Request.Reason)
		if err2 == nil {
			note, err = "instead of what was asked for: "+other, nil
		}
	}
	if err != nil {
		return receipt{}, err
	}
	update := &agentmail.StatusUpdate{
		TaskID: f.TaskID, UpdateType: "milestone", Summary: note, Blockers: []any{},
		Metadata: mess.Object{{Key: "in_reply_to", Value: m.MessageID}, {Key: "expires", Value: string(mess.TimeOf(until.UTC()))}},
	}
	return receipt{TaskID: f.TaskID, Note: note}, d.queue(from, f.TaskID, d.wrap(newID(), d.now(), update))
}

// share reserves the zones that a coordination request names for all who take part.
func (d *Door) share(from peer, m agentmail.Message, c *agentmail.CoordinationRequest) (receipt, error) {
	var want []agentmail.Alternative
	for _, r := range c.SharedResources {
		o, _ := r.(mess.Object)
		list, _ := o.Get("patterns")
		patterns, _ := list.([]any)
		mode := agentmail.SharedWrite
		if access, _ := o.Get("access_mode"); access == "read_only" {
			mode = agentmail.SharedRead
		}
		for _, p := range patterns {
			if text, ok := p.(string); ok {
				want = append(want, agentmail.Alternative{Pattern: text, Mode: mode})
			}
		}
	}
	if len(want) == 0 {
		return receipt{}, no(codeUnsupported, "shared_resources: only zones can be shared here: {type: zone, patterns: [zone/NAME/**], access_mode: read_write}")
	}
	until := d.now().Add(d.cfg.MaxZone)
	if v, ok := c.Schedule.Get("duration_minutes"); ok {
		n, _ := v.(mess.Number)
		if minutes, err := n.Float64(); err == nil && minutes > 0 {
			until = d.now().Add(min(time.Duration(minutes*float64(time.Minute)), d.cfg.MaxZone))
		}
	}
	note, err := d.hold(from, m.MessageID, agentmail.TaskOf(c), want, until, c.Topic)
	if err != nil {
		return receipt{}, err
	}
	return receipt{Note: note}, d.answer(from, m, note)
}

// maxZones is how many reservations one actor may have at a time.
const maxZones = 64

// hold writes reservations down, all or none of them. Whoever may ask for nothing
// may keep nobody from it either.
func (d *Door) hold(from peer, message, task string, want []agentmail.Alternative, until time.Time, reason string) (note string, err error) {
	if from.who.Roles&(exchange.Requester|exchange.Operator) == 0 {
		return "", no(codeForbidden, "%s may not ask for anything here, and so reserve nothing", from.name)
	}
	byMode := map[bool][]string{}
	for _, w := range want {
		byMode[w.Mode == agentmail.Exclusive] = append(byMode[w.Mode == agentmail.Exclusive], w.Pattern)
	}
	var rows []Reservation
	for _, exclusive := range []bool{true, false} {
		patterns := byMode[exclusive]
		if len(patterns) == 0 {
			continue
		}
		devices, unknown := d.cfg.bound(patterns)
		if len(unknown) > 0 {
			return "", no(codeUnknownZone, "%s: there is no such zone or device; zones: %s", strings.Join(unknown, ", "), d.zoneNames())
		}
		rows = append(rows, Reservation{
			Actor: from.who.ID, By: from.name, Task: task, Message: message, Patterns: patterns, Devices: devices, Exclusive: exclusive, Until: until, Reason: short(reason),
		})
	}
	var conflicts []string
	change := func(s *state) {
		if n := s.others(from.who.ID, message); n+len(rows) > maxZones {
			conflicts = []string{fmt.Sprintf("%s has %d reservations already; end some with a task_completion", from.name, n)}
			return
		}
		for _, r := range rows {
			conflicts = append(conflicts, s.conflicts(r, d.now())...)
		}
		if len(conflicts) > 0 {
			return
		}
		s.Zones = slices.DeleteFunc(s.Zones, func(r Reservation) bool { return r.Actor == from.who.ID && r.Message == message })
		s.Zones = append(s.Zones, rows...)
	}
	if err := d.change(change); err != nil {
		return "", err
	}
	if len(conflicts) > 0 {
		return "", no(codeConflict, "%s", strings.Join(conflicts, "; "))
	}
	var words []string
	for _, r := range rows {
		how := "shared"
		if r.Exclusive {
			how = "exclusive"
		}
		words = append(words, fmt.Sprintf("%s: %s (%s)", how, strings.Join(r.Patterns, ", "), strings.Join(r.Devices, ", ")))
	}
	return "reserved until " + until.UTC().Format(time.RFC3339) + ", " + strings.Join(words, "; "), nil
}

func (d *Door) zoneNames() string {
	names := slices.Sorted(maps.Keys(d.cfg.Zones))
	if len(names) == 0 {
		return "none are configured"
	}
	return strings.Join(names, ", ")
}

// conflicts are the reservations of others that one does not go with.
func (s *state) conflicts(want Reservation, now time.Time) (list []string) {
	for _, r := range s.Zones {
		if r.Actor == want.Actor || !now.Before(r.Until) || !r.Exclusive && !want.Exclusive {
			continue
		}
		for _, device := range r.Devices {
			if slices.Contains(want.Devices, device) {
				list = append(list, fmt.Sprintf("%s is reserved by %s until %s", device, r.By, r.Until.UTC().Format(time.RFC3339)))
			}
		}
	}
	return list
}

// others counts the reservations of an actor that another message has asked for.
func (s *state) others(actor, message string) (n int) {
	for _, r := range s.Zones {
		if r.Actor == actor && r.Message != message {
			n++
		}
	}
	return n
}

// release frees what an actor has reserved for a task.
func (s *state) release(actor, task string) int {
	n := len(s.Zones)
	s.Zones = slices.DeleteFunc(s.Zones, func(r Reservation) bool { return r.Actor == actor && r.Task == task })
	return n - len(s.Zones)
}

// Release frees a device that is reserved, for a person who runs the place, and
// returns who had reserved it.
func (d *Door) Release(device string) (by []string, err error) {
	err = d.change(func(s *state) {
		s.Zones = slices.DeleteFunc(s.Zones, func(r Reservation) bool {
			is := slices.Contains(r.Devices, device)
			if is {
				by = append(by, r.By)
			}
			return is
		})
	})
	return by, err
}
