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

// places are what a device said when it was last asked where it can work: rooms,
// spills, files. They are remembered, so that a request for something else never
// waits for a device that is slow to answer.
type places struct {
	index int    // in Home.places
	thing int    // in Home.things: whose they are
	name  string // of the thing
	of    drivers.Areas
	moved func() // called in the background when they have changed

	mu     sync.Mutex
	list   []capabilities.Spot
	known  bool          // it has answered once
	turn   int           // how often list has changed
	slow   bool          // it let areasWithin go by when it was last asked
	asking chan struct{} // closed when the answer is there; nil while it is not asked
	begun  time.Time     // when it was last asked
}

// How long a device may think about its places, and how old they may grow before they
// are asked for in the background.
const (
	areasWithin = 2 * time.Second
	areasFor    = 30 * time.Second
)

// now is what is known; list is nil where nothing is.
func (p *places) now() (list []capabilities.Spot, known bool, turn int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list, p.known, p.turn
}

// refresh asks in the background, unless that was done a short while ago.
func (p *places) refresh() {
	p.mu.Lock()
	old := p.begun.IsZero() || time.Since(p.begun) >= areasFor
	p.mu.Unlock()
	if old {
		p.ask()
	}
}

// ask asks, where nobody does yet, and gives what is closed when that is over.
func (p *places) ask() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asking == nil {
		p.asking, p.begun = make(chan struct{}), time.Now()
		go p.answer(p.asking)
	}
	return p.asking
}

// answer is one question to the device. One that does not heed its context is asked
// no more until it has answered.
func (p *places) answer(over chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), areasWithin)
	defer cancel()
	list, err := spots(ctx, p.of)
	if p.take(list, err, ctx.Err() != nil, over) {
		p.moved()
	}
}

// take ends a question with its answer, and reports whether the places have changed.
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

// wait waits for an answer that was asked for after it was called, and no longer than
// a device may think.
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

// over waits for the end of a question, and notes where that comes too late.
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

// settled resolves with the places that are remembered, and then, where the outcome
// may hang on places, once more with those that are so now.
func (h *Home) settled(resolve func(*interpret.Interpreter) capabilities.Outcome) capabilities.Outcome {
	before := h.turns()
	out := resolve(h.now())
	if !h.waits(out) || slices.Equal(before, h.turns()) {
		return out
	}
	return resolve(h.now())
}

// turns tells whether places have changed between two calls.
func (h *Home) turns() []int {
	list := make([]int, len(h.places))
	for i, p := range h.places {
		_, _, list[i] = p.now()
	}
	return list
}

// waits asks the devices whose places an outcome may hang on, all at once, and waits
// for them. That is each one, where the request is for one of them or for nothing that
// is known; but one that was slow the last time is waited for if it is meant alone.
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

// devicesOf are the devices of a plan and of its steps.
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
