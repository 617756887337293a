package home

import (
	"reflect"
	"slices"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// deviceCache has the devices of each executor as they were at the last build, so that a build makes
// only those anew that have changed. It is not safe for concurrent use.
type deviceCache struct {
	executors map[string]*cachedExecutor // by id
	content   uint64                     // last number of a content
}

// cachedExecutor is an executor with its devices, which have neither tasks nor results.
type cachedExecutor struct {
	info    exchange.ExecutorInfo
	devices []*cachedDevice // sorted by name
}

// cachedDevice is a device that does not change.
type cachedDevice struct {
	Device

	key     string // of the item of a feed
	content uint64 // a new number if more than times has changed
}

func newDeviceCache() *deviceCache { return &deviceCache{executors: map[string]*cachedExecutor{}} }

// devices returns the devices of an executor, as Devices does. Those without a change are the same as
// before.
func (c *deviceCache) devices(e *exchange.ExecutorInfo) []*cachedDevice {
	old := c.executors[e.ID]
	one := &cachedExecutor{info: *e}
	switch {
	case old == nil || !isSameRegistration(&old.info, e):
		one.devices = c.newDevices(e)
	case isSameList(old.info.States, e.States):
		one.devices = old.devices
	default:
		one.devices = c.changed(old, e)
	}
	c.executors[e.ID] = one
	return one.devices
}

// newDevices makes all devices of an executor.
func (c *deviceCache) newDevices(e *exchange.ExecutorInfo) []*cachedDevice {
	all := Devices(e)
	list := make([]*cachedDevice, len(all))
	for i := range all {
		c.content++
		list[i] = &cachedDevice{all[i], "device " + all[i].ID, c.content}
	}
	return list
}

// changed makes the devices anew whose reports have changed.
func (c *deviceCache) changed(old *cachedExecutor, e *exchange.ExecutorInfo) []*cachedDevice {
	if len(old.info.States) != len(e.States) {
		return c.newDevices(e)
	}
	list, byName := slices.Clone(old.devices), map[string]int{}
	for i, d := range list {
		byName[d.Device.Device] = i
	}
	for i := range e.States {
		was, is := &old.info.States[i], &e.States[i]
		at, known := byName[is.Device]
		switch {
		case !known || !isSameDescription(was, is):
			return c.newDevices(e)
		case isSameState(was, is, true):
			continue
		}
		next := &cachedDevice{list[at].Device, list[at].key, list[at].content}
		next.Readings, next.Reachable, next.Unreachable = nil, true, nil
		class := next.Class // a capability may have added it
		next.setState(is)
		if next.Class = class; !isSameState(was, is, false) {
			c.content++
			next.content = c.content
		}
		list[at] = next
	}
	return list
}

// forget drops the executors that are gone.
func (c *deviceCache) forget(isThere func(id string) bool) {
	for id := range c.executors {
		if !isThere(id) {
			delete(c.executors, id)
		}
	}
}

// isSameRegistration reports whether nothing of an executor has changed that its devices show, except
// their states.
func isSameRegistration(a, b *exchange.ExecutorInfo) bool {
	isSilent := !b.Live && a.LastSeen.Equal(b.LastSeen) && isSameList(a.States, b.States)
	return a.Live == b.Live && (b.Live || isSilent) && isSameList(a.Capabilities, b.Capabilities) && stopReason(a) == stopReason(b) && a.DrainReason == b.DrainReason
}

// isSameList reports whether two lists are the same one. The registry replaces lists, and never
// changes one.
func isSameList[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// isSameDescription reports whether two reports about a device differ at most in its state.
func isSameDescription(a, b *mess.DeviceState) bool {
	return a.Device == b.Device && a.Name == b.Name && a.Area == b.Area && a.Class == b.Class && reflect.DeepEqual(a.Extra, b.Extra)
}

// isSameState reports whether two reports about a device have the same state, with or without times.
func isSameState(a, b *mess.DeviceState, withTimes bool) bool {
	isSameReading := func(x, y mess.StateReading) bool {
		return x.Quantity == y.Quantity && x.Value == y.Value && x.Unit == y.Unit && is(x.Commanded) == is(y.Commanded) && is(x.Estimated) == is(y.Estimated) && (!withTimes || x.AsOf == y.AsOf)
	}
	return a.State == b.State && a.Doing == b.Doing && a.Locked == b.Locked && (!withTimes || a.AsOf == b.AsOf) && slices.EqualFunc(a.Readings, b.Readings, isSameReading) &&
		(a.Failing == nil) == (b.Failing == nil) && (a.Failing == nil || a.Failing.Reason == b.Failing.Reason && (!withTimes || a.Failing.Since == b.Failing.Since)) &&
		(len(a.Limits) == 0 && len(b.Limits) == 0 || reflect.DeepEqual(a.Limits, b.Limits))
}

func is(b *bool) bool { return b != nil && *b }
