package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/drivers"
)

// places holds the last answer of a device about the places where it can work: rooms, spills,
// files. The stored answer lets other requests proceed without waiting for a slow device.
type places struct {
	index int    // in Home.places
	thing int    // index of the device in Home.things
	name  string // of the device
	of    drivers.Areas
	moved func() // called in the background after a change

	mu     sync.Mutex
	list   []capabilities.Spot
	known  bool          // it has answered once
	turn   int           // number of changes of list
	slow   bool          // its last answer came after areasWithin
	asking chan struct{} // closed at the answer; nil without an open question
	begun  time.Time     // time of the last question
}

// Time limit for a device's answer about its places, and the age from which the agent asks
// again in the background.
const (
	areasWithin = 2 * time.Second
	areasFor    = 30 * time.Second
)

// now returns the stored places; list is nil if there are none.
func (p *places) now() (list []capabilities.Spot, known bool, turn int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list, p.known, p.turn
}

// refresh asks in the background, unless a recent question exists.
func (p *places) refresh() {
	p.mu.Lock()
	old := p.begun.IsZero() || time.Since(p.begun) >= areasFor
	p.mu.Unlock()
	if old {
		p.ask()
	}
}

// ask asks the device unless a question is open, and returns a channel that closes with the
// answer.
func (p *places) ask() <-chan struct{} {
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
func (p *places) answer(over chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), areasWithin)
	defer cancel()
	list, err := spots(ctx, p.of)
	if p.take(list, err, ctx.Err() != nil, over) {
		p.moved()
	}
}

// take stores an answer and reports whether the places have changed.
func (p *places) take(list []capabilities.Spot, err error, slow bool, over chan struct{}) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow = slow
	if err == nil {
		if changed = !p.known || !slices.Equal(p.list, list); changed {
			p.turn++
		}
		p.list, p.known = list, true
	}
	p.asking = nil
	close(over)
	return changed
}

// wait waits for an answer to a question from after the call, up to the time limit.
func (p *places) wait() {
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
func (p *places) over(asked <-chan struct{}, late *time.Timer) bool {
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

func (p *places) isSlow() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.slow }

func spots(ctx context.Context, a drivers.Areas) ([]capabilities.Spot, error) {
	areas, err := a.Areas(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]capabilities.Spot, len(areas))
	for i, one := range areas {
		list[i] = capabilities.Spot{Name: one.Name, Room: one.Room, Note: one.Note}
	}
	return list, nil
}

// settled resolves with the stored places. If the outcome may depend on places, it resolves
// again with current ones.
func (h *Home) settled(resolve func(*interpret.Interpreter) capabilities.Outcome) capabilities.Outcome {
	before := h.turns()
	out := resolve(h.now())
	if !h.waits(out) || slices.Equal(before, h.turns()) {
		return out
	}
	return resolve(h.now())
}

// turns returns the change numbers of all places, for a comparison between two calls.
func (h *Home) turns() []int {
	list := make([]int, len(h.places))
	for i, p := range h.places {
		_, _, list[i] = p.now()
	}
	return list
}

// waits asks all devices on whose places an outcome may depend, and waits for the answers. It
// asks all devices if no device matches the request. It waits for a device that was slow last
// time only if the request names that device alone.
func (h *Home) waits(out capabilities.Outcome) bool {
	meant := devicesOf(out.Plan)
	any := out.Plan == nil || slices.ContainsFunc(h.places, func(p *places) bool { return meant[p.name] })
	var all sync.WaitGroup
	waited := false
	for _, p := range h.places {
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
