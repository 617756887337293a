package resolver

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/drivers"
)

// spotCache holds the last answer of a device about the places where it can work: rooms, spills,
// files. The stored answer lets other requests proceed without waiting for a slow device.
type spotCache struct {
	index  int    // in Resolver.spots
	device int    // index in Resolver.devices
	name   string // of the device
	of     drivers.AreaLister
	moved  func() // called in the background after a change

	mu       sync.Mutex
	list     []capabilities.WorkArea
	known    bool          // it has answered once
	revision int           // number of changes of list
	slow     bool          // its last answer came after areasWithin
	asking   chan struct{} // closed at the answer; nil without an open question
	begun    time.Time     // time of the last question
}

// Time limit for a device's answer about its places, and the age from which the agent asks
// again in the background.
const (
	areasWithin = 2 * time.Second
	areasFor    = 30 * time.Second
)

// now returns the stored places; list is nil if there are none.
func (p *spotCache) now() (list []capabilities.WorkArea, known bool, turn int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list, p.known, p.revision
}

// refresh asks in the background, unless a recent question exists.
func (p *spotCache) refresh() {
	p.mu.Lock()
	old := p.begun.IsZero() || time.Since(p.begun) >= areasFor
	p.mu.Unlock()
	if old {
		p.ask()
	}
}

// ask asks the device unless a question is open, and returns a channel that closes with the
// answer.
func (p *spotCache) ask() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asking == nil {
		p.asking, p.begun = make(chan struct{}), time.Now()
		go p.answer(p.asking)
	}
	return p.asking
}

// answer asks the device once. A device that ignores its context gets no further question until
// it has answered.
func (p *spotCache) answer(over chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), areasWithin)
	defer cancel()
	list, err := readSpots(ctx, p.of)
	if p.take(list, err, ctx.Err() != nil, over) {
		p.moved()
	}
}

// take stores an answer and reports whether the places have changed.
func (p *spotCache) take(list []capabilities.WorkArea, err error, slow bool, over chan struct{}) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow = slow
	if err == nil {
		if changed = !p.known || !slices.Equal(p.list, list); changed {
			p.revision++
		}
		p.list, p.known = list, true
	}
	p.asking = nil
	close(over)
	return changed
}

// wait waits for an answer to a question from after the call, up to the time limit.
func (p *spotCache) wait() {
	late := time.NewTimer(areasWithin)
	defer late.Stop()
	p.mu.Lock()
	earlier := p.asking
	p.mu.Unlock()
	if earlier == nil || p.over(earlier, late) {
		p.over(p.ask(), late)
	}
}

// over waits for the answer and records whether it is late.
func (p *spotCache) over(asked <-chan struct{}, late *time.Timer) bool {
	select {
	case <-asked:
		return true
	case <-late.C:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.slow = time.Since(p.begun) >= areasWithin
		return false
	}
}

func (p *spotCache) isSlow() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.slow }

func readSpots(ctx context.Context, a drivers.AreaLister) ([]capabilities.WorkArea, error) {
	areas, err := a.Areas(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]capabilities.WorkArea, len(areas))
	for i, one := range areas {
		list[i] = capabilities.WorkArea{Name: one.Name, Room: one.Room, Note: one.Note}
	}
	return list, nil
}

// resolveCurrent resolves with the stored places. If the outcome may depend on places, it
// resolves again with current ones.
func (r *Resolver) resolveCurrent(resolve func(*interpret.Interpreter) capabilities.Outcome) capabilities.Outcome {
	before := r.spotRevisions()
	out := resolve(r.current())
	if !r.refreshSpots(out) || slices.Equal(before, r.spotRevisions()) {
		return out
	}
	return resolve(r.current())
}

// spotRevisions returns the change numbers of all places, for a comparison between two calls.
func (r *Resolver) spotRevisions() []int {
	list := make([]int, len(r.spots))
	for i, p := range r.spots {
		_, _, list[i] = p.now()
	}
	return list
}

// refreshSpots asks all devices on whose places an outcome may depend, and waits for the
// answers. It asks all devices if no device matches the request. It waits for a device that
// was slow last time only if the request names that device alone.
func (r *Resolver) refreshSpots(out capabilities.Outcome) bool {
	meant := devicesOf(out.Plan)
	any := out.Plan == nil || slices.ContainsFunc(r.spots, func(p *spotCache) bool { return meant[p.name] })
	var all sync.WaitGroup
	waited := false
	for _, p := range r.spots {
		if any && (meant[p.name] || !p.isSlow()) {
			waited = true
			all.Go(p.wait)
		} else {
			p.refresh()
		}
	}
	all.Wait()
	return waited
}

// devicesOf returns the devices of a plan and of its steps.
func devicesOf(plan *capabilities.Plan) map[string]bool {
	set := map[string]bool{}
	if plan == nil {
		return set
	}
	set[plan.Device] = true
	for i := range plan.Steps {
		for name := range devicesOf(&plan.Steps[i]) {
			set[name] = true
		}
	}
	return set
}

// Places returns the names of the rooms or files that a device has reported last, without asking it;
// nil for a device that reports none.
func (r *Resolver) Places(device string) (names []string) {
	for _, p := range r.spots {
		if p.name != device {
			continue
		}
		list, _, _ := p.now()
		for _, one := range list {
			names = append(names, one.Name)
		}
	}
	return names
}
