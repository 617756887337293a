package roombaoi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
)

// How long it may take to set out, and stand before it counts as over. The robot
// does not say what it is doing: its wheels and its dock do.
const (
	setOutLooks = 40
	standLooks  = 15
	silentLooks = 10
	leastCharge = 15 // %
)

// Clean cleans everything: it knows no rooms.
func (r *Robot) Clean(ctx context.Context, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	left := drivers.Outcome{Remaining: areas}
	if len(areas) > 0 {
		if _, done, err := r.Begin(ctx); err != nil {
			return left, err
		} else {
			done()
		}
		return left, r.Named(drivers.NotDone(fmt.Errorf("it knows no rooms, so not %s; ask it to clean everything", strings.Join(areas, ", "))))
	}
	if err := r.run(ctx, "cleaning", opClean, progress); err != nil {
		return drivers.Outcome{Remaining: []string{"everything"}}, err
	}
	return drivers.Outcome{}, nil
}

// Spot cleans the spot where it stands.
func (r *Robot) Spot(ctx context.Context, progress func(drivers.Progress)) error {
	return r.run(ctx, "cleaning the spot", opSpot, progress)
}

// Dock sends it home; what it is at ends with that.
func (r *Robot) Dock(ctx context.Context) error {
	inner, done, err := r.Begin(ctx)
	if err != nil {
		return err
	}
	if _, err = r.look(inner); err != nil { // what it is at goes on
		err = drivers.NotDone(err)
	} else {
		err = r.errand.End(inner)
	}
	done()
	if err != nil {
		return r.Named(err)
	}
	return r.run(ctx, homeward, opDock, nil)
}

const homeward = "driving to its dock"

// run sends the robot and follows it to the end. What ends it early has the robot
// stop.
func (r *Robot) run(ctx context.Context, what string, op byte, progress func(drivers.Progress)) error {
	ctx, done, err := r.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	ctx, release, err := r.errand.Take(ctx, what)
	if err != nil {
		return r.Named(err)
	}
	defer release()
	defer r.trouble.Over()
	if progress == nil {
		progress = func(drivers.Progress) {}
	} else {
		r.trouble.Await(func(ctx context.Context) error { return r.tell(ctx, opStart, op) })
	}
	s, err := r.free(ctx, op)
	switch {
	case err != nil:
		return r.Told(ctx, err)
	case op == opDock && s.docked:
		return nil
	}
	r.setPaused(false)
	progress(drivers.Progress{Doing: what})
	if err = r.tell(ctx, opStart, op); err != nil {
		if !errors.Is(err, drivers.ErrNothingDone) {
			r.brake(ctx) // it may have heard
		}
		return r.Told(ctx, err)
	}
	j := journey{what: what, op: op, fromDock: s.docked, last: s, progress: progress, trouble: &r.trouble, now: r.now}
	if err = r.follow(ctx, &j); err != nil {
		r.brake(ctx)
	} else {
		r.setLoose(false)
	}
	return r.Told(ctx, err)
}

// free is the robot's state if it can be sent.
func (r *Robot) free(ctx context.Context, op byte) (state, error) {
	s, moves, err := r.moves(ctx)
	switch {
	case err != nil:
		return s, drivers.NotDone(err)
	case s.trouble() != nil:
		return s, drivers.NotDone(s.trouble())
	case moves && op != opDock:
		// Its button is a toggle: it would stop now.
		return s, fmt.Errorf("%w: somebody else has sent it; stop it, or wait", drivers.ErrBusy)
	case op != opDock && s.battery >= 0 && s.battery < leastCharge:
		return s, drivers.NotDone(&drivers.HelpError{
			Problem: fmt.Sprintf("its battery has %.0f %%", s.battery), Help: "let it charge in its dock, then ask again",
		})
	}
	if moves { // towards the dock: stop what it is at first, for the same reason
		return s, r.stop(ctx)
	}
	return s, nil
}

// journey is one task as the robot's sensors show it.
type journey struct {
	what     string
	op       byte
	fromDock bool
	out      bool // it has set out
	looks    int
	stands   int // looks in a row
	last     state
	progress func(drivers.Progress)
	trouble  *drivers.Trouble
	now      func() time.Time
}

// step takes in how the robot is now. over is the task's end.
func (j *journey) step(s state, paused bool) (over bool, err error) {
	moved := s.moved(j.last)
	j.last = s
	help, err := j.trouble.Meets(j.now(), s.trouble(), moved)
	if err != nil {
		return false, err
	}
	if help != nil {
		j.stands = 0
		j.progress(drivers.Progress{Doing: j.what + ", waiting for a person", Help: help})
		return false, nil
	}
	doing := j.what
	if paused {
		doing += ", paused"
	}
	if s.battery >= 0 {
		doing += fmt.Sprintf("; its battery has %.0f %%", s.battery)
	}
	j.progress(drivers.Progress{Doing: doing})
	j.looks++
	switch {
	case paused:
		j.stands = 0
		return false, nil
	case moved:
		j.out, j.stands = true, 0
		return false, nil
	case !j.out && j.looks > setOutLooks:
		return false, errors.New("it took the task, and has not set out; look at it")
	case !j.out:
		return false, nil
	case s.docked: // it is home: cleaning ends there too
		return true, nil
	}
	if j.stands++; j.stands < standLooks {
		return false, nil
	}
	if j.op == opDock || j.op == opClean && j.fromDock {
		return false, &drivers.HelpError{Problem: "it stands still away from its dock", Help: "free it, set it near its dock, then ask again"}
	}
	return true, nil
}

// follow looks until the task is over.
func (r *Robot) follow(ctx context.Context, j *journey) error {
	silent := 0
	for {
		if err := r.wait(ctx, r.cfg.Poll); err != nil {
			return err
		}
		s, err := r.look(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			if silent++; silent >= silentLooks {
				return fmt.Errorf("it has not answered %d times, and may still be at it: %v", silent, err) // not wrapped: it has begun
			}
			continue
		}
		silent = 0
		if over, err := j.step(s, r.isPaused()); over || err != nil {
			if r.errand.Interrupted(ctx) {
				return drivers.ErrStopped
			}
			if err == nil {
				j.progress(drivers.Progress{Percent: 100, Doing: j.what})
			}
			return err
		}
	}
}

// brake stops the robot though ctx has ended. It was told to begin, and its wheels
// may not turn yet: it is stopped whatever they do.
func (r *Robot) brake(ctx context.Context) {
	r.setLoose(drivers.Brake(ctx, r.log, r.end) != nil)
}

// stop takes control, which ends whatever the robot is at, waits until its wheels
// stand, and gives the control back: in safe mode it would neither charge nor sleep.
func (r *Robot) stop(ctx context.Context) error {
	if _, moves, err := r.moves(ctx); err == nil && !moves && !r.isLoose() {
		return nil
	}
	if err := r.end(ctx); err != nil {
		return err
	}
	r.setLoose(false)
	return nil
}

// end is stop for a robot that may be at something, whatever its wheels do.
func (r *Robot) end(ctx context.Context) error {
	if err := r.tell(ctx, opStart, opSafe); err != nil {
		return err
	}
	for {
		_, moves, err := r.moves(ctx)
		switch {
		case ctx.Err() != nil:
			return errors.New("it was told to stop, and its wheels still turn, or nobody knows")
		case err == nil && !moves:
			return r.tell(ctx, opStart)
		}
	}
}

// Pause has it stand. Its button starts it anew afterwards, so Resume does.
func (r *Robot) Pause(ctx context.Context) error {
	_, err := drivers.During(ctx, &r.Life, func(ctx context.Context) (struct{}, error) {
		_, moves, err := r.moves(ctx)
		switch {
		case err != nil:
			return struct{}{}, drivers.NotDone(err)
		case !moves && r.isPaused():
			return struct{}{}, nil
		case !moves:
			return struct{}{}, drivers.NotDone(errors.New("it is at nothing that could pause"))
		}
		r.setPaused(true)
		if err := r.stop(ctx); err != nil {
			r.setPaused(false)
			return struct{}{}, err
		}
		return struct{}{}, nil
	})
	return err
}

// Resume has it go on, also after a trouble that a person has seen to.
func (r *Robot) Resume(ctx context.Context) error {
	_, err := drivers.During(ctx, &r.Life, func(ctx context.Context) (struct{}, error) {
		again := r.trouble.Again()
		switch {
		case again != nil:
		case r.isPaused():
			again = func(ctx context.Context) error { return r.tell(ctx, opStart, opClean) }
		default:
			return struct{}{}, drivers.NotDone(errors.New("it was not paused from here"))
		}
		if s, err := r.free(ctx, opClean); err != nil {
			return struct{}{}, fmt.Errorf("%w (battery %.0f %%)", err, s.battery)
		}
		if err := again(ctx); err != nil {
			return struct{}{}, err
		}
		r.setPaused(false)
		for {
			if _, moves, err := r.moves(ctx); err == nil && moves || ctx.Err() != nil {
				return struct{}{}, ctx.Err()
			}
		}
	})
	return err
}

// Stop ends what it is at. Of one that cannot be told the task goes on, and is
// followed.
func (r *Robot) Stop(ctx context.Context) (left string, err error) {
	return drivers.During(ctx, &r.Life, func(ctx context.Context) (string, error) {
		return "", r.errand.Interrupt(ctx, func(ctx context.Context) error {
			if err := r.stop(ctx); err != nil {
				return err
			}
			r.setPaused(false)
			return nil
		})
	})
}

func (r *Robot) isPaused() bool { r.state.Lock(); defer r.state.Unlock(); return r.paused }

func (r *Robot) setPaused(so bool) { r.state.Lock(); defer r.state.Unlock(); r.paused = so }

func (r *Robot) isLoose() bool { r.state.Lock(); defer r.state.Unlock(); return r.loose }

func (r *Robot) setLoose(so bool) { r.state.Lock(); defer r.state.Unlock(); r.loose = so }
