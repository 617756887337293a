package roombawifi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
)

const homeward = "driving to its dock"

// Clean cleans rooms, or everything. The robot does not report which rooms it has finished.
func (r *Robot) Clean(ctx context.Context, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	left, what := drivers.Outcome{Remaining: areas}, "cleaning"
	if len(areas) > 0 {
		what += " " + strings.Join(areas, ", ")
	} else {
		left.Remaining = []string{"everything"}
	}
	err := r.run(ctx, what, progress, func(ctx context.Context, s report) error {
		c := command{Command: "start"}
		if len(areas) > 0 {
			var err error
			if c.Regions, err = r.regions(areas); err != nil {
				return err
			}
			soon, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
			defer cancel()
			if withMaps, err := r.link.until(soon, func(s report) bool { return s.Maps != nil }); err == nil {
				s = withMaps
			}
			if c.Map, c.Version, err = s.version(r.cfg.Map); err != nil {
				return drivers.MarkNothingDone(err)
			}
			c.Ordered = 1
		}
		switch m := s.Mission; {
		case m.unready() != nil:
			return drivers.MarkNothingDone(m.unready())
		case m.moves() || m.paused():
			return fmt.Errorf("%w: another client has started it, and it is %s; stop it, or wait", drivers.ErrBusy, m.activityText())
		}
		if progress != nil {
			r.helpWait.Begin(func(ctx context.Context) error { return r.resumeOrRepeat(ctx, c) })
		}
		return r.link.send(ctx, c, r.now())
	})
	if err != nil {
		return left, err
	}
	return drivers.Outcome{Done: areas}, nil
}

// Dock terminates the present task and sends the robot to its dock.
func (r *Robot) Dock(ctx context.Context) error {
	err := r.Do(ctx, func(ctx context.Context) error {
		if err := r.with(ctx, func(report) error { return nil }); err != nil { // without a connection, the present task continues
			return err
		}
		return r.exclusive.End(ctx)
	})
	if err != nil {
		return err
	}
	return r.run(ctx, homeward, nil, func(ctx context.Context, s report) error {
		if h := s.Mission.neededHelp(); h != nil {
			return drivers.MarkNothingDone(h)
		}
		if s.Mission.docked() {
			return nil
		}
		if s.Mission.moves() && s.Mission.Phase != toDock { // the robot ignores a dock command while it cleans
			if err := r.link.send(ctx, command{Command: "pause"}, r.now()); err != nil {
				return err
			}
			if _, err := r.link.until(ctx, func(s report) bool { return !s.Mission.moves() }); err != nil {
				return err
			}
		}
		return r.link.send(ctx, command{Command: "dock"}, r.now())
	})
}

// run starts a task with begin, and follows it to its end. If the task ends early, run
// stops the robot.
func (r *Robot) run(ctx context.Context, what string, progress func(drivers.Progress), begin func(context.Context, report) error) error {
	return r.exclusive.Run(ctx, &r.Base, what, func(ctx context.Context) error {
		defer r.helpWait.End()
		if progress == nil {
			progress = func(drivers.Progress) {}
		}
		return r.with(ctx, func(s report) error {
			if what == homeward && s.Mission.docked() {
				return nil
			}
			if err := begin(ctx, s); err != nil {
				if !errors.Is(err, drivers.ErrNothingDone) && !errors.Is(err, drivers.ErrBusy) {
					r.brake(ctx) // the robot may have received the command
				}
				return err
			}
			progress(drivers.Progress{Activity: what})
			if err := r.follow(ctx, &cleanProgress{what: what, began: r.now(), progress: progress, helpWait: &r.helpWait}); err != nil {
				r.brake(ctx)
				return err
			}
			return nil
		})
	})
}

// cleanProgress is the progress of one task.
type cleanProgress struct {
	what     string
	began    time.Time
	out      bool // the robot has set out
	progress func(drivers.Progress)
	helpWait *drivers.HelpWait
}

// step evaluates the present state. over reports the end of the task.
func (j *cleanProgress) step(s report, now time.Time) (over bool, err error) {
	m := *s.Mission
	help, err := j.helpWait.Update(now, m.neededHelp(), m.moves())
	if err != nil {
		return false, err
	}
	if help != nil {
		j.progress(drivers.Progress{Activity: j.what + ", waiting for a person", Help: help})
		return false, nil
	}
	activity := j.what
	switch {
	case m.paused():
		activity += ", paused"
	case m.docked() && m.Cycle != none && m.Cycle != "" && j.out && j.what != homeward:
		activity += ", charging before it continues"
	}
	if m.Area > 0 {
		activity += fmt.Sprintf("; %.0f m² done", m.Area*squareFoot)
	}
	if s.Battery != nil {
		activity += fmt.Sprintf("; its battery level is %.0f %%", *s.Battery)
	}
	j.progress(drivers.Progress{Activity: activity})
	switch {
	case j.what == homeward && m.docked():
		return true, nil
	case m.moves() || m.paused():
		j.out = true
	case !j.out && now.Sub(j.began) > setOutTime:
		if h := m.unready(); h != nil {
			return false, h
		}
		return false, errors.New("the robot has accepted the task, and has not set out in " + setOutTime.String() + "; inspect it")
	case !j.out, m.docked() && m.Cycle != none && m.Cycle != "":
	case m.docked():
		return true, nil
	default: // the robot stands still without a task
		return false, errors.New("the robot stands still away from its dock: a person has stopped it, or it did not find its dock")
	}
	return false, nil
}

const (
	squareFoot = 0.0929 // m²
	setOutTime = 60 * time.Second
)

// maxSilent is the longest time without a connection, because Wi-Fi is poor under beds.
const maxSilent = time.Minute

// follow polls until the task ends.
func (r *Robot) follow(ctx context.Context, j *cleanProgress) error {
	lastReport := r.now()
	for {
		if !wait.For(ctx, r.cfg.Poll) {
			return ctx.Err()
		}
		r.link.mu.Lock()
		s, moved := r.link.known, r.link.moved
		r.link.mu.Unlock()
		if s.Mission == nil { // the connection is lost, and the client reconnects
			if r.now().Sub(lastReport) > maxSilent {
				return fmt.Errorf("no message of the robot for %v, so it may still work", maxSilent)
			}
			continue
		}
		lastReport, j.out = r.now(), j.out || moved // including movement between two polls
		if over, err := j.step(s, r.now()); over || err != nil {
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

// commandDelay is the longest delay of a command.
const commandDelay = 3 * time.Second

// brake stops the robot, even if ctx has ended. It waits for the begin of the task, because
// the robot may not have reported it yet, and then sends the stop in any case.
func (r *Robot) brake(ctx context.Context) {
	_ = drivers.StopRobot(ctx, r.log, func(ctx context.Context) error {
		begun, end := context.WithTimeout(ctx, commandDelay)
		_, _ = r.link.until(begun, func(s report) bool { return s.Mission.moves() || s.Mission.paused() || s.Mission.neededHelp() != nil }) // or until the time limit
		end()
		return r.end(ctx)
	})
}

// stop terminates the task, and waits until the robot reports that it stands still. It
// needs a connection.
func (r *Robot) stop(ctx context.Context) error {
	s, err := r.link.state(ctx)
	if err == nil && !s.Mission.moves() && !s.Mission.paused() {
		return nil
	}
	return r.end(ctx)
}

// end stops a robot, no matter which state it reports.
func (r *Robot) end(ctx context.Context) error {
	if err := r.link.send(ctx, command{Command: "stop"}, r.now()); err != nil {
		return err
	}
	if _, err := r.link.until(ctx, func(s report) bool { return !s.Mission.moves() && !s.Mission.paused() }); err != nil {
		return errors.New("the robot has the stop command, and does not confirm it")
	}
	return nil
}

// Pause stops the robot where it is.
func (r *Robot) Pause(ctx context.Context) error {
	return r.steer(ctx, "pause", mission.paused, func(m mission) bool { return m.neededHelp() == nil && m.moves() })
}

// Resume continues the task, also after a person has solved a problem.
func (r *Robot) Resume(ctx context.Context) error {
	if again := r.helpWait.ResumeCommand(); again != nil {
		return r.command(ctx, "resume", again, mission.moves, func(m mission) bool { return !m.moves() })
	}
	return r.steer(ctx, "resume", mission.moves, func(m mission) bool { return m.neededHelp() == nil && m.paused() })
}

// resumeOrRepeat resumes the mission of the robot if it still has one. Otherwise it repeats the
// command c with the same rooms, because a plain start would clean everything.
func (r *Robot) resumeOrRepeat(ctx context.Context, c command) error {
	if s, err := r.link.state(ctx); err == nil && s.Mission.Cycle != none && s.Mission.Cycle != "" {
		c = command{Command: "resume"}
	}
	return r.link.send(ctx, c, r.now())
}

// steer sends a command for the present task, and waits until the robot has the state.
func (r *Robot) steer(ctx context.Context, what string, want, from func(mission) bool) error {
	return r.command(ctx, what, func(ctx context.Context) error { return r.link.send(ctx, command{Command: what}, r.now()) }, want, from)
}

func (r *Robot) command(ctx context.Context, what string, send func(context.Context) error, want, from func(mission) bool) error {
	ctx, done, err := r.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	return r.VerbError(ctx, r.with(ctx, func(s report) error {
		switch {
		case s.Mission.neededHelp() == nil && want(*s.Mission):
			return nil
		case !from(*s.Mission) && s.Mission.neededHelp() != nil:
			return drivers.MarkNothingDone(s.Mission.neededHelp())
		case !from(*s.Mission):
			return drivers.MarkNothingDone(fmt.Errorf("the robot is %s, and rejects %s", s.Mission.activityText(), what))
		}
		if err := send(ctx); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, beginTime)
		defer cancel()
		if _, err := r.link.until(ctx, func(s report) bool { return want(*s.Mission) }); err != nil {
			return fmt.Errorf("the robot has the command %s, and does not confirm it: %w", what, err)
		}
		return nil
	}))
}

// Stop terminates the task. If the robot does not receive the stop command, its task
// continues.
func (r *Robot) Stop(ctx context.Context) (left string, err error) {
	return "", r.Do(ctx, func(ctx context.Context) error {
		return r.exclusive.Interrupt(ctx, func(ctx context.Context) error {
			return r.with(ctx, func(report) error { return r.stop(ctx) })
		})
	})
}
