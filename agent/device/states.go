package device

import (
	"cmp"
	"context"
	"hash/maphash"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/poll"
	"github.com/messkit/messkit/agent/session"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

const (
	repeatInterval     = time.Minute            // interval for repeating unchanged states: the exchange may have lost them
	reportEvery        = 500 * time.Millisecond // average interval of reports while states change
	reportsAtOnce      = 5                      // reports that may follow each other at once
	gatherTime         = 20 * time.Millisecond  // time in which changes that come together reach one report
	sensorEvery        = 30 * time.Second       // interval of readings besides the state, unless the device has acted or changed
	maxAge             = 2 * time.Minute        // age from which a state is unknown, if longer than three heartbeats
	maxReadings        = 16                     // simultaneous readings
	maxReadingsPerHost = 2                      // simultaneous readings per host
)

// stateTable holds the last reported state of each device.
type stateTable struct {
	polls *poll.Scheduler

	followers []*follower

	mu   sync.Mutex
	seen map[string]*deviceState // by device
	left int                     // number of devices without a reading

	changes int // number of changed states so far
}

// deviceState is the state of one device.
type deviceState struct {
	poll     *poll.Task // nil for a device without a state to read
	follower *follower

	// The job of poll alone uses these.
	sensorsAt int64  // time of the last reading besides the state, in ns since 1970; 0 for never
	acts      uint64 // of the device until then

	// stateTable.mu guards these.
	state string
	color string    // that it shows; "" for unknown, or for a white
	sum   uint64    // of its last description
	at    time.Time // zero: never
	gone  bool      // the device is removed
}

// StateReports reports the states of the devices to the exchange, if it wants them. It is safe
// for concurrent use.
type StateReports struct {
	devices  *Set
	activity *Activity
	session  *session.Session
	every    time.Duration // interval of the readings
	now      func() time.Time
	log      *slog.Logger
	changed  chan struct{} // signals devices whose states may have changed
	places   func(device string) []string

	mu     sync.Mutex
	wanted bool        // the exchange wants the states of the devices
	table  *stateTable // nil before that
}

// NewStateReports returns the reports for devices. They read a device again after each change of
// its activity. places returns the rooms or files that a device has reported, without asking it.
func NewStateReports(devices *Set, activity *Activity, x *session.Session, places func(device string) []string) *StateReports {
	r := &StateReports{
		devices: devices, activity: activity, session: x, every: x.Config.Heartbeat, now: devices.now, log: devices.log, changed: make(chan struct{}, 1), places: places,
	}
	activity.changed = r.ReadSoon
	return r
}

// Run reports the states of the devices until ctx ends, from when the exchange wants them. It
// reads each device once per heartbeat and after each task.
func (r *StateReports) Run(ctx context.Context) error {
	for !r.isWanted() {
		select {
		case <-ctx.Done():
			return nil
		case <-r.changed:
		}
	}
	r.mu.Lock() // a device that the program adds meanwhile waits for the table
	b := r.newTable()
	r.table = b
	r.mu.Unlock()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.polls.Run(ctx) })
	g.Go(func() error { r.report(ctx, b); return nil })
	for _, f := range b.followers {
		g.Go(func() error { f.run(ctx, b.readSoon); return nil })
	}
	return g.Wait()
}

func (r *StateReports) newTable() *stateTable {
	b := &stateTable{polls: poll.New(maxReadings), seen: map[string]*deviceState{}, followers: []*follower{newFollower()}}
	for d := range r.devices.All() {
		if b.left > 0 && b.left%maxFollowed == 0 {
			b.followers = append(b.followers, newFollower())
		}
		r.addTo(b, d)
	}
	return b
}

// read reads a device. Only one goroutine at a time reads it.
func (r *StateReports) read(ctx context.Context, b *stateTable, d *Handle, s *deviceState) {
	s.follower.await(ctx, r.devices, d)
	state := cmp.Or(r.currentActivity(ctx, d), r.devices.State(ctx, d), mess.StateUnknown)
	_, notices := d.Driver.(drivers.Notifier)
	now, acts := r.now().UnixNano(), r.devices.Gate.ActCount(d.Name)
	if notices || !hasState(d.Driver) || acts != s.acts || now-s.sensorsAt >= int64(sensorEvery) {
		r.devices.readSensors(ctx, d)
		b.setColor(s, r.devices.readColor(ctx, d))
		s.sensorsAt, s.acts = now, acts
	}
	if ctx.Err() == nil && b.set(s, state, sumOf(r.describe(d, state, b.color(d.Name))), r.now()) {
		wait.Notify(r.changed)
	}
}

// describe returns what the executor knows of a device, without reading it. A report adds the name,
// the area, the class and the limits, which change with the configuration alone.
func (r *StateReports) describe(d *Handle, state, color string) mess.DeviceState {
	s := mess.DeviceState{Device: d.Name, State: state}
	if s.Doing, _ = r.activity.Of(d.Name); s.Doing != "" && state == "paused" {
		s.Doing = state
	}
	var newest time.Time
	for _, known := range r.devices.Gate.LastStates(d.Name) {
		if known.Quantity == "" {
			continue // unknown since an act
		}
		one := mess.StateReading{Quantity: known.Quantity, Value: known.Value, Unit: known.Unit, AsOf: mess.TimeOf(known.At)}
		if known.Commanded {
			one.Commanded = new(true)
		}
		if known.Estimated {
			one.Estimated = new(true)
		}
		if s.Readings = append(s.Readings, one); known.At.After(newest) {
			newest = known.At
		}
	}
	s.AsOf = mess.TimeOf(newest)
	if f := d.LastFailure(r.devices.Gate); f.Reason != "" {
		s.Failing = &mess.DeviceFailing{Since: mess.TimeOf(f.At), Reason: f.Reason}
	}
	s.Locked = r.devices.Gate.Lockout(d.Name)
	if places := r.places(d.Name); len(places) > 0 {
		s.Extra = mess.Object{{Key: mess.PlacesField, Value: wording.AnyList(places[:min(len(places), maxPlaces)])}}
	}
	if color != "" {
		s.Extra = s.Extra.Set(mess.ColourField, color)
	}
	return s
}

// maxPlaces limits the reported rooms or files of a device.
const maxPlaces = 100

// limitsObject returns the limits of a device as a report has them, nil for none.
func limitsObject(d drivers.Device) mess.Object {
	limits, _ := Limits(d)
	var o mess.Object
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		o = o.Set(name, mess.Object{{Key: "min", Value: limits[name].Min}, {Key: "max", Value: limits[name].Max}})
	}
	return o
}

// hostOf returns the host of a device, and the limit of simultaneous readings on it.
func hostOf(d *Handle) (host string, atOnce int) {
	shared, ok := d.Driver.(drivers.Connected)
	if !ok || shared.Connection().Name() == "" {
		return d.Name, 1
	}
	if shared.Connection().IsHub() {
		return shared.Connection().Name(), maxReadings / 2
	}
	return shared.Connection().Name(), maxReadingsPerHost
}

// set stores the state of a device and reports whether there is a change to report.
func (b *stateTable) set(s *deviceState, state string, sum uint64, at time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.gone {
		return false
	}
	fresh := s.at.IsZero()
	if fresh {
		b.left--
	}
	changed := s.sum != sum
	s.state, s.sum, s.at = state, sum, at
	if changed {
		b.changes++
	}
	return changed || fresh && b.left == 0
}

// readSoon reads a device at once, because its state may have changed.
func (b *stateTable) readSoon(name string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	s := b.seen[name]
	b.mu.Unlock()
	if s != nil && s.poll != nil {
		b.polls.Soon(s.poll)
	}
}

// current returns the table, nil before the exchange wants the states.
func (r *StateReports) current() *stateTable {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.table
}

// ReadSoon reads a device at once, because its state may have changed.
func (r *StateReports) ReadSoon(name string) { r.current().readSoon(name) }

// ReadAllSoon reads all devices as soon as possible.
func (r *StateReports) ReadAllSoon() {
	b := r.current()
	if b == nil {
		return
	}
	for d := range r.devices.All() {
		b.readSoon(d.Name)
	}
}

// report sends the states after changes, and at intervals.
func (r *StateReports) report(ctx context.Context, b *stateTable) {
	reported := version{changes: -1}
	var at time.Time
	old := max(maxAge, 3*r.every)
	began, pace := r.now(), rate.NewLimiter(rate.Every(reportEvery), reportsAtOnce)
	for waitOrSignal(ctx, r.every, r.changed) && waitOrSignal(ctx, gatherTime, nil) {
		now := r.now()
		is, whole := b.version(now, old)
		if !whole && now.Sub(began) < r.every || is == reported && now.Sub(at) < repeatInterval {
			continue
		}
		states := []mess.DeviceState{}
		for d := range r.devices.All() {
			s := r.describe(d, b.state(d.Name, now, old), b.color(d.Name))
			s.Name, s.Area, s.Class, s.Limits = d.Label, d.Area, d.Class, limitsObject(d.Driver)
			if d.Hidden {
				s.Extra = s.Extra.Set(mess.HiddenField, true)
			}
			states = append(states, s)
		}
		_, err := r.session.Send(ctx, mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{ID: r.session.Config.ID, States: states}}}})
		if err != nil {
			r.log.Debug("the exchange has not received the states of the devices", "err", err)
			continue
		}
		reported, at = is, now
		if pace.Wait(ctx) != nil { // ctx has ended
			return
		}
	}
}

// waitOrSignal waits for a time, or for a signal; it returns false after ctx has ended.
func waitOrSignal(ctx context.Context, d time.Duration, rung <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-rung:
	case <-t.C:
	}
	return ctx.Err() == nil
}

// version is the version of a table. Two lists of one version differ at most in the times of readings.
type version struct{ changes, old int }

// version returns the version of the table at a time, from states younger than old. whole reports
// whether every device has a reading.
func (b *stateTable) version(now time.Time, old time.Duration) (is version, whole bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	is.changes = b.changes
	for _, s := range b.seen {
		if s.isOld(now, old) {
			is.old++
		}
	}
	return is, b.left == 0
}

// isOld reports whether nothing has read the state for a time. The caller holds stateTable.mu.
func (s *deviceState) isOld(now time.Time, old time.Duration) bool { return now.Sub(s.at) > old }

// state returns the state of a device in one word. A state that the device does not report is unknown,
// even after a known command.
func (b *stateTable) state(device string, now time.Time, old time.Duration) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.seen[device]; s != nil && !s.isOld(now, old) {
		return s.state
	}
	return mess.StateUnknown
}

// seed makes sums of this process.
var seed = maphash.MakeSeed()

// sumOf returns a sum of a description that does not depend on the times of readings.
func sumOf(s mess.DeviceState) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	text := func(list ...string) {
		for _, one := range list {
			maphash.WriteComparable(&h, one)
		}
	}
	text(s.State, s.Doing, s.Locked, s.Extra.Text(mess.ColourField))
	places, _ := s.Extra.Get(mess.PlacesField)
	list, _ := places.([]any)
	for _, one := range list {
		maphash.WriteComparable(&h, one)
	}
	if s.Failing != nil {
		text(string(s.Failing.Since), s.Failing.Reason)
	}
	for _, r := range s.Readings {
		text(r.Quantity, r.Unit)
		maphash.WriteComparable(&h, [...]any{r.Value, r.Commanded != nil, r.Estimated != nil})
	}
	return h.Sum64()
}

// Apply applies what an acknowledgment says about the states: whether the exchange wants them.
func (r *StateReports) Apply(ack mess.Ack) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if is := ack.States != nil && *ack.States; is && !r.wanted {
		r.wanted = true
		wait.Notify(r.changed)
	}
}

func (r *StateReports) isWanted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wanted
}

// currentActivity returns the current activity of a device, "" if that is no state. A paused device
// that can report it determines whether it stands still.
func (r *StateReports) currentActivity(ctx context.Context, d *Handle) string {
	is, paused := r.activity.Of(d.Name)
	if is == "" || !paused {
		return is
	}
	if rest, reads := d.Driver.(drivers.RestReader); reads {
		still, known := ReadState(ctx, r.devices, d, func(ctx context.Context, p *policy.Pass) (bool, error) { return p.AtRest(ctx, rest) })
		if known && !still {
			return is
		}
	}
	return "paused"
}
