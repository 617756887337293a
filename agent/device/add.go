package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/messkit/messkit/agent/poll"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// Add starts a device and adds it. It returns the device for the agent's other users. If the start
// fails, the set stays as it is, and the safety policy keeps the device only if it may be active.
func (s *Set) Add(ctx context.Context, d Device) (Device, error) {
	if d.Label == "" {
		d.Label = d.Name
	}
	h := newHandle(d)
	d.opened = h
	if s.Get(d.Name) != nil {
		return d, fmt.Errorf("%s: exists already; choose another name", d.Name)
	}
	s.Cameras.SetPlaceholders(d.Name, d.Placeholders)
	if err := h.Open(ctx, s.Gate); err != nil {
		err = errors.Join(err, s.Gate.Halt(context.WithoutCancel(ctx), d.Driver, d.Name))
		s.Gate.Forget(d.Name)
		return d, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byName[d.Name] = h
	return d, nil
}

// Restore adds a device that Remove has removed, even if it does not start: the next task that needs it
// tries again.
func (s *Set) Restore(ctx context.Context, d Device) Device {
	if d.Label == "" {
		d.Label = d.Name
	}
	h := newHandle(d)
	d.opened = h
	if err := h.Open(ctx, s.Gate); err != nil {
		s.log.Warn("device not started", "device", d.Name, "err", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byName[d.Name] = h
	return d
}

// Remove takes a device to its safe state and removes it. The caller has made sure that no task uses
// it. If the error is not nil, the device stays.
func (s *Set) Remove(ctx context.Context, name string) error {
	h := s.Get(name)
	if h == nil {
		return fmt.Errorf("there is no device %q here", name)
	}
	if err := h.opening.Acquire(ctx, 1); err != nil { // nothing starts it meanwhile
		return fmt.Errorf("%s: a task starts it now: %w", name, err)
	}
	defer h.opening.Release(1)
	if err := s.Gate.Retire(ctx, h.Driver, name); err != nil {
		return err
	}
	h.mu.Lock()
	h.started, h.failed, h.failure = 0, nil, Failure{}
	h.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byName, name)
	s.FailuresChanged()
	return nil
}

// Describe gives a device the label, the area and the Hidden of d. Its state and its running task stay.
func (s *Set) Describe(d Device) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.byName[d.Name]
	if old == nil {
		return fmt.Errorf("there is no device %q here", d.Name)
	}
	next := *old
	next.Label, next.Area, next.Hidden = cmp.Or(d.Label, d.Name), d.Area, d.Hidden
	s.byName[d.Name] = &next
	return nil
}

// addTo adds a device to a table that does not have it yet.
func (r *StateReports) addTo(b *stateTable, d *Handle) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen[d.Name] != nil {
		return
	}
	one := &deviceState{state: mess.StateUnknown}
	b.seen[d.Name] = one
	b.changes++
	if !hasState(d.Driver) && !IsReadable(d.Driver) {
		return
	}
	b.left++
	one.follower = b.followers[len(b.followers)-1]
	host, atOnce := hostOf(d)
	one.poll = b.polls.Add(poll.Job{Host: host, AtOnce: atOnce, Every: r.every, Do: func(ctx context.Context) { r.read(ctx, b, d, one) }})
}

// Changed reports the devices of the Set, among which are new ones, or ones with another label or
// area.
func (r *StateReports) Changed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.table
	if b == nil {
		return // Run makes it from all devices
	}
	for d := range r.devices.All() {
		r.addTo(b, d)
	}
	b.mu.Lock()
	b.changes++
	b.mu.Unlock()
	wait.Notify(r.changed)
}

// Removed removes a device that the Set no longer has. A reading that runs has no result.
func (r *StateReports) Removed(name string) {
	b := r.current()
	if b == nil {
		return
	}
	b.mu.Lock()
	one := b.seen[name]
	delete(b.seen, name)
	if one != nil {
		if one.poll != nil && one.at.IsZero() {
			b.left--
		}
		one.gone = true
		b.changes++
	}
	b.mu.Unlock()
	if one != nil && one.poll != nil {
		b.polls.Remove(one.poll)
		one.follower.drop(name)
	}
	wait.Notify(r.changed)
}
