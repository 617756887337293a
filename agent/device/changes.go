package device

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
)

const (
	maxFollowed = 2048                   // devices of one follower, which is one goroutine
	followEvery = 100 * time.Millisecond // shortest interval of two looks of a follower
)

// follower waits for the changes that devices notice themselves, such as a message or an edge of
// a line. It serves many devices with one goroutine.
type follower struct {
	added chan struct{} // signals a new channel

	mu       sync.Mutex
	channels map[string]<-chan struct{} // by device; each closes at the next change
}

func newFollower() *follower {
	return &follower{added: make(chan struct{}, 1), channels: map[string]<-chan struct{}{}}
}

// await has run report the next change of a device, if the device notices changes. The caller reads
// the state afterwards, so it misses no change.
func (f *follower) await(ctx context.Context, s *Set, d *Handle) {
	n, is := d.Driver.(drivers.Notifier)
	if !is {
		return
	}
	c, known := ReadState(ctx, s, d, func(ctx context.Context, p *policy.Pass) (<-chan struct{}, error) { return p.Changes(ctx, n) })
	if !known || c == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.channels[d.Name] != c {
		f.channels[d.Name] = c
		wait.Notify(f.added)
	}
}

// drop ends the wait for the changes of a device.
func (f *follower) drop(device string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.channels, device)
	wait.Notify(f.added)
}

// run calls changed for each device that notices a change, until ctx ends. Then await must arrange
// the next one.
func (f *follower) run(ctx context.Context, changed func(device string)) {
	for {
		chosen, _, _ := reflect.Select(f.cases(ctx))
		if chosen == 0 {
			return
		}
		for _, name := range f.takeClosed() {
			changed(name)
		}
		if chosen > 1 && !waitOrSignal(ctx, followEvery, nil) {
			return
		}
	}
}

// cases returns what run waits for: the end of ctx, a new channel, and the channels.
func (f *follower) cases(ctx context.Context) []reflect.SelectCase {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())}, {Dir: reflect.SelectRecv, Chan: reflect.ValueOf(f.added)}}
	for _, c := range f.channels {
		list = append(list, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)})
	}
	return list
}

// takeClosed removes the devices with a change, and returns their names in order.
func (f *follower) takeClosed() (names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(f.channels)) {
		select {
		case <-f.channels[name]:
			delete(f.channels, name)
			names = append(names, name)
		default:
		}
	}
	return names
}
