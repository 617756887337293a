package roombaoi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
)

// Limits in numbers of readings. The robot does not report its task, so the driver derives
// it from wheels and dock.
const (
	maxStartReadings = 40
	maxStillReadings = 15
	silentLooks      = 10
	leastCharge      = 15 // %
)

// Clean cleans everything, because the robot has no rooms.
func (r *Robot) Clean(ctx context.Context, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	left := drivers.Outcome{Remaining: areas}
	if len(areas) > 0 {
		_, done, err := r.Begin(ctx)
		if err != nil {
			return left, err
		}
		done()
		return left, r.WithName(drivers.MarkNothingDone(fmt.Errorf("the robot has no rooms, so it cannot clean %s; ask it to clean everything", strings.Join(areas, ", "))))
	}
	if err := r.run(ctx, "cleaning", opClean, progress); err != nil {
		return drivers.Outcome{Remaining: []string{"everything"}}, err
	}
	return drivers.Outcome{}, nil
}

// CleanSpot cleans the spot on which the robot stands.
func (r *Robot) CleanSpot(ctx context.Context, progress func(drivers.Progress)) error {
	return r.run(ctx, "cleaning the spot", opSpot, progress)
}

// Dock terminates the present task and sends the robot to its dock.
func (r *Robot) Dock(ctx context.Context) error {
	err := r.Do(ctx, func(ctx context.Context) error {
		if _, err := r.look(ctx); err != nil { // without a reading, the present task continues
			return drivers.MarkNothingDone(err)
		}
		return r.exclusive.End(ctx)
	})
	if err != nil {
		return err
	}
	return r.run(ctx, homeward, opDock, nil)
}

const homeward = "driving to its dock"

// run starts a task and follows it to its end. If the task ends early, run stops the robot.
func (r *Robot) run(ctx context.Context, what string, op byte, progress func(drivers.Progress)) error {
	return r.exclusive.Run(ctx, &r.Base, what, func(ctx context.Context) error {
		defer r.helpWait.End()
		if progress == nil {
			progress = func(drivers.Progress) {}
		} else {
			r.helpWait.Begin(func(ctx context.Context) error { return r.sendCommands(ctx, opStart, op) })
		}
		s, err := r.free(ctx, op)
		switch {
		case err != nil:
			return err
		case op == opDock && s.docked:
			return nil
		}
		r.setPaused(false)
		progress(drivers.Progress{Activity: what})
		if err = r.sendCommands(ctx, opStart, op); err != nil {
			if !errors.Is(err, drivers.ErrNothingDone) {
				r.brake(ctx) // the robot may have received the command
			}
			return err
		}
		j := cleanProgress{what: what, op: op, fromDock: s.docked, last: s, progress: progress, helpWait: &r.helpWait, now: r.now}
		if err = r.follow(ctx, &j); err != nil {
			r.brake(ctx)
		} else {
			r.setLoose(false)
		}
		return err
	})
}

// free returns the state of the robot, and an error if it cannot accept a task.
func (r *Robot) free(ctx context.Context, op byte) (state, error) {
	s, moves, err := r.moves(ctx)
	switch {
	case err != nil:
		return s, drivers.MarkNothingDone(err)
	case s.neededHelp() != nil:
		return s, drivers.MarkNothingDone(s.neededHelp())
	case moves && op != opDock:
		// The clean command toggles: it would stop a moving robot.
		return s, fmt.Errorf("%w: another client has started it; stop it, or wait", drivers.ErrBusy)
	case op != opDock && s.battery >= 0 && s.battery < leastCharge:
		return s, drivers.MarkNothingDone(&drivers.HelpError{
			Problem: fmt.Sprintf("its battery level is %.0f %%", s.battery), Help: "let it charge in its dock, then ask again",
		})
	}
	if moves { // the dock command also toggles, so stop the robot first
		return s, r.stop(ctx)
	}
	return s, nil
}

// cleanProgress is the progress of one task, derived from the sensors.
type cleanProgress struct {
	what          string
	op            byte
	fromDock      bool
	out           bool // the robot has set out
	looks         int
	stillReadings int // successive readings without movement
	last          state
	progress      func(drivers.Progress)
	helpWait      *drivers.HelpWait
	now           func() time.Time
}

// step evaluates the present state. over reports the end of the task.
func (j *cleanProgress) step(s state, paused bool) (over bool, err error) {
	moved := s.moved(j.last)
	j.last = s
	help, err := j.helpWait.Update(j.now(), s.neededHelp(), moved)
	if err != nil {
		return false, err
	}
	if help != nil {
		j.stillReadings = 0
		j.progress(drivers.Progress{Activity: j.what + ", waiting for a person", Help: help})
		return false, nil
	}
	doing := j.what
	if paused {
		doing += ", paused"
	}
	if s.battery >= 0 {
		doing += fmt.Sprintf("; its battery level is %.0f %%", s.battery)
	}
	j.progress(drivers.Progress{Activity: doing})
	j.looks++
	switch {
	case paused:
		j.stillReadings = 0
		return false, nil
	case moved:
		j.out, j.stillReadings = true, 0
		return false, nil
	case !j.out && j.looks > maxStartReadings:
		return false, errors.New("the robot has accepted the task, and has not set out; inspect it")
	case !j.out:
		return false, nil
	case s.docked: // the robot has docked, where a cleaning task also ends
		return true, nil
	}
	if j.stillReadings++; j.stillReadings < maxStillReadings {
		return false, nil
	}
	if j.op == opDock || j.op == opClean && j.fromDock {
		return false, &drivers.HelpError{Problem: "the robot stands still away from its dock", Help: "free it, set it near its dock, then ask again"}
	}
	return true, nil
}

// follow polls until the task ends.
func (r *Robot) follow(ctx context.Context, j *cleanProgress) error {
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
				return fmt.Errorf("no answer for %d polls, so the robot may still work: %v", silent, err) // no %w, because the task has begun
			}
			continue
		}
		silent = 0
		if over, err := j.step(s, r.isPaused()); over || err != nil {
			if r.exclusive.Interrupted(ctx) {
				return drivers.ErrStopped
			}
			if err == nil {
				j.progress(drivers.Progress{Percent: 100, Activity: j.what})
			}
			return err
		}
	}
}

// brake stops the robot, even if ctx has ended, and even if its wheels do not turn, because
// it may not have set out yet.
func (r *Robot) brake(ctx context.Context) {
	r.setLoose(drivers.StopRobot(ctx, r.log, r.end) != nil)
}

// stop takes control, which ends any task, waits until the wheels stand still, and returns
// control, because the robot neither charges nor sleeps in safe mode.
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

// end stops a robot, even if its wheels do not turn.
func (r *Robot) end(ctx context.Context) error {
	if err := r.sendCommands(ctx, opStart, opSafe); err != nil {
		return err
	}
	for {
		_, moves, err := r.moves(ctx)
		switch {
		case ctx.Err() != nil:
			return errors.New("the robot has the stop command, and its wheels may still turn")
		case err == nil && !moves:
			return r.sendCommands(ctx, opStart)
		}
	}
}

// Pause stops the robot. Resume starts the cleaning again, like its button.
func (r *Robot) Pause(ctx context.Context) error {
	return r.Do(ctx, func(ctx context.Context) error {
		_, moves, err := r.moves(ctx)
		switch {
		case err != nil:
			return drivers.MarkNothingDone(err)
		case !moves && r.isPaused():
			return nil
		case !moves:
			return drivers.MarkNothingDone(errors.New("the robot has no task that it could pause"))
		}
		r.setPaused(true)
		if err := r.stop(ctx); err != nil {
			r.setPaused(false)
			return err
		}
		return nil
	})
}

// Resume continues the task, also after a person has solved a problem.
func (r *Robot) Resume(ctx context.Context) error {
	return r.Do(ctx, func(ctx context.Context) error {
		again := r.helpWait.ResumeCommand()
		switch {
		case again != nil:
		case r.isPaused():
			again = func(ctx context.Context) error { return r.sendCommands(ctx, opStart, opClean) }
		default:
			return drivers.MarkNothingDone(errors.New("this driver has not paused the robot"))
		}
		if s, err := r.free(ctx, opClean); err != nil {
			return fmt.Errorf("%w (battery %.0f %%)", err, s.battery)
		}
		if err := again(ctx); err != nil {
			return err
		}
		r.setPaused(false)
		for {
			if _, moves, err := r.moves(ctx); err == nil && moves || ctx.Err() != nil {
				return ctx.Err()
			}
		}
	})
}

// Stop terminates the task. If the robot does not receive the stop command, its task
// continues.
func (r *Robot) Stop(ctx context.Context) (left string, err error) {
	return drivers.DoValue(ctx, &r.Base, func(ctx context.Context) (string, error) {
		return "", r.exclusive.Interrupt(ctx, func(ctx context.Context) error {
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
