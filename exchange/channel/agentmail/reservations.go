package agentmail

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/mess"
)

// zones are the reservations of devices by mail agents.
type zones struct {
	*shared
	tasks *tasks
}

// reserved is Adapter.Reserved.
func (z *zones) reserved(device, by string) (holder string, until time.Time, changed <-chan struct{}, ok bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	now := z.now()
	for _, r := range z.s.Zones {
		if r.Exclusive && r.Actor != by && !now.Before(r.From) && now.Before(r.Until) && slices.Contains(r.Devices, device) {
			return r.By, r.Until, z.news, true
		}
	}
	return "", time.Time{}, nil, false
}

// devicesOf returns the devices that match patterns: zone/NAME, zone/NAME/**, zone/NAME/DEVICE and
// device/NAME, with * and ** as in file names.
func (c Config) devicesOf(patterns []string) (devices, unknown []string) {
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

// reserve reserves zones for a peer. The error names the holder if another agent has reserved one.
func (z *zones) reserve(ctx context.Context, from peer, m format.Message, f *format.FileReservation) (receipt, error) {
	want := []format.Alternative{}
	for _, p := range f.Request.FilePatterns {
		want = append(want, format.Alternative{Pattern: p, Mode: f.Request.Mode})
	}
	minutes := min(f.Request.Minutes, z.cfg.MaxZone.Minutes())
	until := z.now().Add(time.Duration(minutes * float64(time.Minute)))
	as := Reservation{Message: m.MessageID, Task: f.TaskID, From: z.now(), Until: until, Reason: short(f.Request.Reason)}
	note, err := z.reserveAll(from, as, want)
	if err != nil && len(f.Alternatives) > 0 {
		other, err2 := z.reserveAll(from, as, f.Alternatives)
		if err2 == nil {
			note, err = "alternative: "+other, nil
		}
	}
	if err != nil {
		return receipt{}, err
	}
	update := &format.StatusUpdate{
		TaskID: f.TaskID, UpdateType: "milestone", Summary: note, Blockers: []any{},
		Metadata: mess.Object{{Key: "in_reply_to", Value: m.MessageID}, {Key: "expires", Value: string(mess.TimeOf(until.UTC()))}},
	}
	z.tasks.noteReservations(ctx, from, f.TaskID)
	return receipt{TaskID: f.TaskID, Note: note}, z.queue(from, f.TaskID, z.wrap(newID(), z.now(), update))
}

// share reserves the zones in a coordination request for all participants.
func (z *zones) share(ctx context.Context, from peer, m format.Message, c *format.CoordinationRequest) (receipt, error) {
	var want []format.Alternative
	for _, r := range c.SharedResources {
		o, _ := r.(mess.Object)
		list, _ := o.Get("patterns")
		patterns, _ := list.([]any)
		mode := format.SharedWrite
		if access, _ := o.Get("access_mode"); access == "read_only" {
			mode = format.SharedRead
		}
		for _, p := range patterns {
			if text, ok := p.(string); ok {
				want = append(want, format.Alternative{Pattern: text, Mode: mode})
			}
		}
	}
	if len(want) == 0 {
		return receipt{}, reject(codeUnsupported, "shared_resources: only zones can be shared here: {type: zone, patterns: [zone/NAME/**], access_mode: read_write}")
	}
	begin, err := z.startOf(c)
	if err != nil {
		return receipt{}, err
	}
	long := z.cfg.MaxZone
	if v, ok := c.Schedule.Get("duration_minutes"); ok {
		n, _ := v.(mess.Number)
		if minutes, err := n.Float64(); err == nil && minutes > 0 {
			long = min(time.Duration(minutes*float64(time.Minute)), z.cfg.MaxZone)
		}
	}
	note, err := z.reserveAll(from, Reservation{Message: m.MessageID, Task: format.TaskOf(c), From: begin, Until: begin.Add(long), Reason: short(c.Topic)}, want)
	if err != nil {
		return receipt{}, err
	}
	z.tasks.noteReservations(ctx, from, format.TaskOf(c))
	note += notUsed(c)
	return receipt{Note: note}, z.answerCoordination(from, m, note)
}

// maxAhead is the longest time before the start of a reservation.
const maxAhead = 7 * 24 * time.Hour

// startOf returns the start of a coordination: the time in its schedule, or now.
func (z *zones) startOf(c *format.CoordinationRequest) (time.Time, error) {
	text := c.Schedule.Text("start_time")
	at, err := mess.Time(text).Time()
	switch now := z.now(); {
	case err != nil || at.Before(now): // the parser has checked it
		return now, nil
	case at.After(now.Add(maxAhead)):
		return time.Time{}, reject(codeUnsupported, "schedule.start_time: %s is more than 7 days ahead; ask later", text)
	}
	return at, nil
}

// notUsed returns a note with the fields of a coordination request that the exchange ignores.
func notUsed(c *format.CoordinationRequest) string {
	if list := c.Unused(); len(list) > 0 {
		return "; not used: " + strings.Join(list, ", ")
	}
	return ""
}

// maxZones is the largest number of reservations of one actor.
const maxZones = 64

// reserveAll stores all of some reservations, or none. An actor that may request nothing may
// reserve nothing either.
func (z *zones) reserveAll(from peer, r Reservation, want []format.Alternative) (note string, err error) {
	if from.actor.Roles&(exchange.Requester|exchange.Operator) == 0 {
		return "", reject(codeForbidden, "%s may not ask for anything here, and so reserve nothing", from.name)
	}
	byMode := map[bool][]string{}
	for _, w := range want {
		byMode[w.Mode == format.Exclusive] = append(byMode[w.Mode == format.Exclusive], w.Pattern)
	}
	var rows []Reservation
	for _, exclusive := range []bool{true, false} {
		patterns := byMode[exclusive]
		if len(patterns) == 0 {
			continue
		}
		devices, unknown := z.cfg.devicesOf(patterns)
		if len(unknown) > 0 {
			return "", reject(codeUnknownZone, "%s: there is no such zone or device; zones: %s", strings.Join(unknown, ", "), z.zoneNames())
		}
		r.Actor, r.By, r.Patterns, r.Devices, r.Exclusive = from.actor.ID, from.name, patterns, devices, exclusive
		rows = append(rows, r)
	}
	var conflicts []string
	change := func(s *state) {
		if n := s.others(from.actor.ID, r.Message); n+len(rows) > maxZones {
			conflicts = []string{fmt.Sprintf("%s has %d reservations already; end some with a task_completion", from.name, n)}
			return
		}
		for _, one := range rows {
			conflicts = append(conflicts, s.conflicts(one, z.now())...)
		}
		if len(conflicts) > 0 {
			return
		}
		s.Zones = slices.DeleteFunc(s.Zones, func(old Reservation) bool { return old.Actor == from.actor.ID && old.Message == r.Message })
		s.Zones = append(s.Zones, rows...)
	}
	if err := z.change(change); err != nil {
		return "", err
	}
	if len(conflicts) > 0 {
		return "", reject(codeConflict, "%s", strings.Join(conflicts, "; "))
	}
	var words []string
	for _, one := range rows {
		words = append(words, fmt.Sprintf("%s: %s (%s)", one.mode(), strings.Join(one.Patterns, ", "), strings.Join(one.Devices, ", ")))
	}
	reserved := "reserved "
	if r.From.After(z.now()) {
		reserved += "from " + r.From.UTC().Format(time.RFC3339) + " "
	}
	return reserved + "until " + r.Until.UTC().Format(time.RFC3339) + ", " + strings.Join(words, "; "), nil
}

func (z *zones) zoneNames() string {
	names := slices.Sorted(maps.Keys(z.cfg.Zones))
	if len(names) == 0 {
		return "none are configured"
	}
	return strings.Join(names, ", ")
}

// conflicts returns a text for each reservation of another agent that excludes this one.
func (s *state) conflicts(want Reservation, now time.Time) (list []string) {
	for _, r := range s.Zones {
		if r.Actor == want.Actor || !now.Before(r.Until) || !r.Exclusive && !want.Exclusive || !want.From.Before(r.Until) || !r.From.Before(want.Until) {
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

// others counts the reservations of an actor from other messages.
func (s *state) others(actor, message string) (n int) {
	for _, r := range s.Zones {
		if r.Actor == actor && r.Message != message {
			n++
		}
	}
	return n
}

// release ends the reservations of an actor for a task.
func (s *state) release(actor, task string) int {
	n := len(s.Zones)
	s.Zones = slices.DeleteFunc(s.Zones, func(r Reservation) bool { return r.Actor == actor && r.Task == task })
	return n - len(s.Zones)
}

// releaseDevice is Adapter.Release.
func (z *zones) releaseDevice(device string) (by []string, err error) {
	err = z.change(func(s *state) {
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

// completed ends the reservations for a task that its agent reports as completed.
func (z *zones) completed(from peer, c *format.TaskCompletion) (receipt, error) {
	n := 0
	err := z.change(func(s *state) { n = s.release(from.actor.ID, c.TaskID) })
	if err == nil && n == 0 {
		err = reject(codeUnknownTask, "%s has no task %q from here, and no reservation for it", from.name, c.TaskID)
	}
	return receipt{TaskID: c.TaskID, Note: "its reservations have ended"}, err
}
