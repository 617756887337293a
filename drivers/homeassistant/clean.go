package homeassistant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
)

// Clean cleans rooms, or everything. Home Assistant reports no percentage.
func (v *vacuum) Clean(ctx context.Context, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	left, what, does := drivers.Outcome{Remaining: areas}, isCleaning, vacuumService{service: "start", needs: vacuumStart}
	if len(areas) == 0 {
		left.Remaining = []string{"everything"}
	} else {
		what += " " + strings.Join(areas, ", ")
		ids, err := v.entity.cfg.areaIDs(areas)
		if err != nil {
			return left, v.WithName(err)
		}
		does = vacuumService{"clean_area", map[string]any{"cleaning_area_id": ids}, vacuumAreas}
	}
	if err := v.run(ctx, what, does, progress); err != nil {
		return left, err
	}
	return drivers.Outcome{Done: areas}, nil
}

// areaIDs returns the ids of rooms in Home Assistant.
func (c Config) areaIDs(rooms []string) ([]string, error) {
	var ids []string
	for _, room := range rooms {
		n := len(ids)
		for id, name := range c.Segments {
			if name == room {
				ids = append(ids, id)
			}
		}
		if len(ids) == n {
			return nil, drivers.MarkNothingDone(fmt.Errorf("segments has no room %q", room))
		}
	}
	return ids, nil
}

// CleanSpot cleans the spot on which the robot stands.
func (v *vacuum) CleanSpot(ctx context.Context, progress func(drivers.Progress)) error {
	return v.run(ctx, "cleaning the spot", vacuumService{service: "clean_spot", needs: vacuumSpot}, progress)
}

// Dock terminates the present task and sends the robot to its dock.
func (v *vacuum) Dock(ctx context.Context) error {
	err := v.Do(ctx, func(ctx context.Context) error {
		if _, err := v.entity.state(ctx); err != nil { // without a state, the present task continues
			return drivers.MarkNothingDone(err)
		}
		return v.exclusive.End(ctx)
	})
	if err != nil {
		return err
	}
	return v.run(ctx, homeward, vacuumService{service: "return_to_base", needs: vacuumHome}, nil)
}

// vacuumService is a service call for a vacuum.
type vacuumService struct {
	service string
	data    map[string]any
	needs   int // flag in supported_features
}

// can returns an error if the robot lacks the feature in Home Assistant.
func (d vacuumService) can(s state) error {
	if s.Attributes.Features&d.needs == 0 {
		return drivers.MarkNothingDone(fmt.Errorf("the robot has no %s according to Home Assistant (supported_features %d)", d.service, s.Attributes.Features))
	}
	return nil
}

// do calls the service if the robot has the feature.
func (v *vacuum) do(ctx context.Context, d vacuumService, s state) error {
	if err := d.can(s); err != nil {
		return err
	}
	return v.entity.order(ctx, d.service, d.data)
}

// run starts a task and follows it to its end. If the task ends early, run stops the robot.
func (v *vacuum) run(ctx context.Context, what string, does vacuumService, progress func(drivers.Progress)) error {
	return v.exclusive.Run(ctx, &v.Base, what, func(ctx context.Context) error {
		s, err := v.entity.state(ctx)
		switch {
		case err != nil:
			err = drivers.MarkNothingDone(err)
		case what == homeward && s.State == isDocked:
			return nil
		case s.neededHelp() != nil:
			err = drivers.MarkNothingDone(s.neededHelp())
		case what != homeward && s.State == isCleaning:
			err = fmt.Errorf("%w: another client has started it, and it is %s; stop it, or wait", drivers.ErrBusy, s.activityText())
		default:
			err = does.can(s)
		}
		if err != nil {
			return err
		}
		if progress == nil {
			progress = func(drivers.Progress) {}
		} else {
			v.helpWait.Begin(func(ctx context.Context) error { return v.entity.order(ctx, does.service, does.data) })
			defer v.helpWait.End()
		}
		j := &cleanProgress{what: what, began: v.entity.now(), progress: progress}
		if err = v.entity.orderOf(ctx, s, does.service, does.data); err == nil {
			progress(drivers.Progress{Activity: what})
			err = v.follow(ctx, j)
		}
		if _, stands := errors.AsType[*drivers.HelpError](err); err != nil && !stands && !errors.Is(err, drivers.ErrNothingDone) {
			err = v.brake(ctx, err)
		}
		return err
	})
}

// follow waits for the end of a task.
func (v *vacuum) follow(ctx context.Context, j *cleanProgress) error {
	for silent := 0; ; {
		changed := v.entity.changes()
		doubt := v.exclusive.LastStop()
		s, err := v.entity.state(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			j.lost = true
			if silent++; silent >= maxSilent {
				return fmt.Errorf("no state for %d polls, so the robot may still work: %v", silent, err) // no %w, because the task has begun
			}
		default:
			silent = 0
			if s.isDriving() {
				v.exclusive.ConfirmWorking(doubt)
			}
			over, err := j.step(s, v.entity.now(), &v.helpWait)
			switch {
			case (over || err != nil) && v.exclusive.Interrupted(ctx):
				return drivers.ErrStopped
			case over || err != nil:
				return err
			}
		}
		if err := v.wait(ctx, changed); err != nil {
			return err
		}
	}
}

// wait waits until the next poll or change.
func (v *vacuum) wait(ctx context.Context, changed <-chan struct{}) error {
	t := time.NewTimer(v.entity.cfg.Poll)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-changed:
	case <-t.C:
	}
	return nil
}

// cleanProgress is the progress of one task in Home Assistant.
type cleanProgress struct {
	what     string
	began    time.Time
	out      bool // the robot has set out
	lost     bool // no state since the robot was last seen at its task
	progress func(drivers.Progress)
}

// step evaluates the present state. over reports the end of the task.
func (j *cleanProgress) step(s state, now time.Time, t *drivers.HelpWait) (over bool, err error) {
	help, err := t.Update(now, s.neededHelp(), s.State == isCleaning)
	if err != nil {
		return false, err
	}
	report := func(percent float64, activity string, help *drivers.HelpError) {
		j.progress(drivers.Progress{Percent: percent, Activity: activity, Help: help})
	}
	switch {
	case help != nil:
		report(0, j.what+", waiting for a person", help)
	case j.what == homeward && s.State == isDocked:
		return true, nil
	case j.what == homeward && j.out && !s.isDriving():
		return false, fmt.Errorf("the robot stopped on the way to its dock, and is %s", s.activityText())
	case s.State == isCleaning && j.what != homeward, s.State == isReturning && j.what == homeward:
		j.out, j.lost = true, false
		report(0, j.what, nil)
	case s.State == isPaused && j.out:
		report(0, j.what+", paused", nil)
	case j.out && j.lost && s.State == "idle": // as after a restart of Home Assistant
		return false, drivers.ErrOutcomeUnknown
	case j.out: // the robot returns, is docked or idle: it has finished
		report(100, j.what, nil)
		return true, nil
	case now.Sub(j.began) > setOutTime:
		return false, errors.New("the robot has accepted the task, and has not set out in " + setOutTime.String() + "; inspect it")
	}
	return false, nil
}

// brake stops the robot, even if ctx has ended. err is the reason; the result also reports
// whether the robot may set out later.
func (v *vacuum) brake(ctx context.Context, err error) error {
	stop := drivers.StopRobot(ctx, v.log, func(ctx context.Context) error { return v.entity.web.RunLast(ctx, v.end) })
	v.loose.Store(stop != nil)
	return drivers.JoinStopError(err, stop)
}

// stopRobot stops the robot if it moves.
func (v *vacuum) stopRobot(ctx context.Context) error {
	if s, err := v.entity.state(ctx); err == nil && !s.isDriving() && !v.loose.Load() {
		return nil
	}
	return v.end(ctx)
}

// end stops a robot and waits until it stands still. It pauses a robot without a stop
// command.
func (v *vacuum) end(ctx context.Context) error {
	service := "stop"
	if s, err := v.entity.state(ctx); err == nil && s.Attributes.Features&vacuumStop == 0 && s.Attributes.Features&vacuumPause != 0 {
		service = "pause"
	}
	if err := v.entity.order(ctx, service, nil); err != nil {
		return err
	}
	if err := v.awaitVacuum(ctx, service, func(s state) bool { return !s.isDriving() }); err != nil {
		return err
	}
	v.loose.Store(false)
	return nil
}

// awaitVacuum waits until the robot has a state that is accepts.
func (v *vacuum) awaitVacuum(ctx context.Context, service string, is func(state) bool) error {
	for {
		changed := v.entity.changes()
		s, err := v.entity.state(ctx)
		if err == nil && is(s) {
			return nil
		}
		if v.wait(ctx, changed) != nil {
			return fmt.Errorf("after the command %s the robot is %s", service, s.activityText())
		}
	}
}

// Pause stops the robot where it is. Resume continues its task.
func (v *vacuum) Pause(ctx context.Context) error {
	return v.steer(ctx, vacuumService{service: "pause", needs: vacuumPause}, []string{isPaused}, []string{isCleaning, isReturning})
}

// Resume continues the task, also after a person has solved a problem.
func (v *vacuum) Resume(ctx context.Context) error {
	if again := v.helpWait.ResumeCommand(); again != nil {
		return v.Do(ctx, func(ctx context.Context) error {
			if err := again(ctx); err != nil {
				return err
			}
			return v.awaitVacuum(ctx, "resume", func(s state) bool { return s.State == isCleaning })
		})
	}
	return v.steer(ctx, vacuumService{service: "start", needs: vacuumStart}, []string{isCleaning}, []string{isPaused})
}

// steer sends a command for the present task, and waits until the robot has one of the
// states in want.
func (v *vacuum) steer(ctx context.Context, d vacuumService, want, from []string) error {
	return v.Do(ctx, func(ctx context.Context) error {
		s, err := v.entity.state(ctx)
		switch {
		case err != nil:
			return drivers.MarkNothingDone(err)
		case slices.Contains(want, s.State):
			return nil
		case !slices.Contains(from, s.State):
			return drivers.MarkNothingDone(fmt.Errorf("the robot is %s, and rejects %s", s.activityText(), d.service))
		}
		if err := v.do(ctx, d, s); err != nil {
			return err
		}
		return v.awaitVacuum(ctx, d.service, func(s state) bool { return slices.Contains(want, s.State) })
	})
}

// Stop terminates the task, no matter which client started it.
func (v *vacuum) Stop(ctx context.Context) (left string, err error) {
	return drivers.DoValue(ctx, &v.Base, func(ctx context.Context) (string, error) {
		return "", v.exclusive.Interrupt(ctx, func(ctx context.Context) error {
			s, err := v.entity.state(ctx)
			if err == nil && !s.isDriving() && s.State != isPaused && !v.loose.Load() {
				return nil
			}
			return v.end(ctx)
		})
	})
}
