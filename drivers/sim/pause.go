package sim

import (
	"context"
	"errors"
	"sync"

	"github.com/messkit/messkit/drivers"
)

// pause is one pause of a task.
type pause struct {
	stood, over chan struct{}
	stands      func() // closes stood, once
}

// Pause stops the vacuum where it is, until Resume.
func (v *Vacuum) Pause(ctx context.Context) error {
	ctx, done, err := v.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	v.taskMu.Lock()
	if v.task == "" {
		v.taskMu.Unlock()
		return v.WithName(drivers.MarkNothingDone(errors.New("the vacuum has no task that it could pause")))
	}
	if v.pause == nil {
		p := &pause{stood: make(chan struct{}), over: make(chan struct{})}
		p.stands = sync.OnceFunc(func() { close(p.stood) })
		v.pause = p
	}
	p := v.pause
	v.taskMu.Unlock()
	select {
	case <-p.stood:
		return nil
	case <-ctx.Done():
		return v.EndReason(ctx)
	}
}

// Resume continues the task.
func (v *Vacuum) Resume(ctx context.Context) error {
	return v.Do(ctx, func(context.Context) error {
		v.taskMu.Lock()
		defer v.taskMu.Unlock()
		if v.pause == nil {
			return drivers.MarkNothingDone(errors.New("the vacuum has not paused"))
		}
		v.world.setOut(v.Name(), "continues")
		close(v.pause.over)
		v.pause = nil
		return nil
	})
}

// rest waits for the end of a pause.
func (v *Vacuum) rest(ctx context.Context) {
	v.taskMu.Lock()
	p := v.pause
	v.taskMu.Unlock()
	if p == nil {
		return
	}
	v.world.standStill(v.Name())
	p.stands()
	select {
	case <-p.over:
	case <-ctx.Done():
	}
}

// Stop terminates the task where the vacuum is.
func (v *Vacuum) Stop(ctx context.Context) (left string, err error) {
	return drivers.DoValue(ctx, &v.Base, func(ctx context.Context) (string, error) { return "", v.errand.End(ctx) })
}
