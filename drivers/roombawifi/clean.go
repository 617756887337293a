package roombawifi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
)

const homeward = "driving to its dock"

// Clean cleans rooms, or everything. The robot does not say which room it has done.
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
			if told, err := r.link.until(soon, func(s report) bool { return s.Maps != nil }); err == nil {
				s = told
			}
			if c.Map, c.Version, err = s.version(r.cfg.Map); err != nil {
				return drivers.NotDone(err)
			}
			c.Ordered = 1
		}
		switch m := s.Mission; {
		case m.unready() != nil:
			return drivers.NotDone(m.unready())
		case m.moves() || m.paused():
			return fmt.Errorf("%w: somebody else has sent it, and it is %s; stop it, or wait", drivers.ErrBusy, m.doing())
		}
		if progress != nil {
			r.trouble.Await(func(ctx context.Context) error { return r.again(ctx, c) })
		}
		return r.link.tell(ctx, c, r.now())
	})
	if err != nil {
		return left, err
	}
	return drivers.Outcome{Done: areas}, nil
}

// Dock sends it home; what it is at ends with that.
func (r *Robot) Dock(ctx context.Context) error {
	inner, done, err := r.Begin(ctx)
	if err != nil {
		return err
	}
	if err = r.with(inner, func(report) error { return nil }); err == nil { // or what it is at goes on
		err = r.errand.End(inner)
	}
	done()
	if err != nil {
		return r.Named(err)
	}
	return r.run(ctx, homeward, nil, func(ctx context.Context, s report) error {
		if h := s.Mission.trouble(); h != nil {
			return drivers.NotDone(h)
		}
		if s.Mission.docked() {
			return nil
		}
		if s.Mission.moves() && s.Mission.Phase != toDock { // it heeds no dock while it cleans
			if err := r.link.tell(ctx, command{Command: "pause"}, r.now()); err != nil {
				return err
			}
			if _, err := r.link.until(ctx, func(s report) bool { return !s.Mission.moves() }); err != nil {
				return err
			}
		}
		return r.link.tell(ctx, command{Command: "dock"}, r.now())
	})
}

// run has the robot begin a task, and follows it to the end. What ends it early has
// the robot stop.
func (r *Robot) run(ctx context.Context, what string, progress func(drivers.Progress), begin func(context.Context, report) error) error {
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
	}
	err = r.with(ctx, func(s report) error {
		if what == homeward && s.Mission.docked() {
			return nil
		}
		if err := begin(ctx, s); err != nil {
			if !errors.Is(err, drivers.ErrNothingDone) && !errors.Is(err, drivers.ErrBusy) {
				r.brake(ctx) // it may have heard
			}
			return err
		}
		progress(drivers.Progress{Doing: what})
		if err := r.follow(ctx, &journey{what: what, began: r.now(), progress: progress, trouble: &r.trouble}); err != nil {
			r.brake(ctx)
			return err
		}
		return nil
	})
	return r.Told(ctx, err)
}

// journey is one task as the robot tells it.
type journey struct {
	what     string
	began    time.Time
	out      bool // it has set out
	progress func(drivers.Progress)
	trouble  *drivers.Trouble
}

// step takes in how the robot is now. over is the task's end.
func (j *journey) step(s report, now time.Time) (over bool, err error) {
	m := *s.Mission
	help, err := j.trouble.Meets(now, m.trouble(), m.moves())
	if err != nil {
		return false, err
	}
	if help != nil {
		j.progress(drivers.Progress{Doing: j.what + ", waiting for a person", Help: help})
		return false, nil
	}
	doing := j.what
	switch {
	case m.paused():
		doing += ", paused"
	case m.docked() && m.Cycle != none && m.Cycle != "" && j.out && j.what != homeward:
		doing += ", charging before it goes on"
	}
	if m.Area > 0 {
		doing += fmt.Sprintf("; %.0f m² done", m.Area*squareFoot)
	}
	if s.Battery != nil {
		doing += fmt.Sprintf("; its battery has %.0f %%", *s.Battery)
	}
	j.progress(drivers.Progress{Doing: doing})
	switch {
	case j.what == homeward && m.docked():
		return true, nil
	case m.moves() || m.paused():
		j.out = true
	case !j.out && now.Sub(j.began) > setOutTime:
		if h := m.unready(); h != nil {
			return false, h
		}
		return false, errors.New("it took the task, and has not set out in " + setOutTime.String() + "; look at it")
	case !j.out, m.docked() && m.Cycle != none && m.Cycle != "":
	case m.docked():
		return true, nil
	default: // it stands, and is at nothing
		return false, errors.New("it stands still away from its dock: somebody has stopped it, or it found no dock")
	}
	return false, nil
}

const (
	squareFoot = 0.0929 // m²
	setOutTime = 60 * time.Second
)

// maxSilent is how long it may be out of reach: Wi-Fi is poor under beds.
const maxSilent = time.Minute

// follow looks until the task is over.
func (r *Robot) follow(ctx context.Context, j *journey) error {
	heard := r.now()
	for {
		t := time.NewTimer(r.cfg.Poll)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
		r.link.mu.Lock()
		s, moved := r.link.known, r.link.moved
		r.link.mu.Unlock()
		if s.Mission == nil { // the connection was lost, and is tried again
			if r.now().Sub(heard) > maxSilent {
				return fmt.Errorf("it has not been heard for %v, and may still be at it", maxSilent)
			}
			continue
		}
		heard, j.out = r.now(), j.out || moved // also between two looks
		if over, err := j.step(s, r.now()); over || err != nil {
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

// heedTime is how long a command may be on its way.
const heedTime = 3 * time.Second

// brake stops the robot though ctx has ended. It was told to begin, and may not have
// said that it has: it is waited for, and stopped whatever it says.
func (r *Robot) brake(ctx context.Context) {
	_ = drivers.Brake(ctx, r.log, func(ctx context.Context) error {
		begun, end := context.WithTimeout(ctx, heedTime)
		_, _ = r.link.until(begun, func(s report) bool { return s.Mission.moves() || s.Mission.paused() || s.Mission.trouble() != nil }) // or it never does
		end()
		return r.end(ctx)
	})
}

// stop ends what the robot is at, and waits until it says that it stands. It needs
// a connection.
func (r *Robot) stop(ctx context.Context) error {
	s, err := r.link.state(ctx)
	if err == nil && !s.Mission.moves() && !s.Mission.paused() {
		return nil
	}
	return r.end(ctx)
}

// end is stop for a robot that may be at something, whatever it says.
func (r *Robot) end(ctx context.Context) error {
	if err := r.link.tell(ctx, command{Command: "stop"}, r.now()); err != nil {
		return err
	}
	if _, err := r.link.until(ctx, func(s report) bool { return !s.Mission.moves() && !s.Mission.paused() }); err != nil {
		return errors.New("it was told to stop, and does not say that it has")
	}
	return nil
}

// Pause has it stand where it is.
func (r *Robot) Pause(ctx context.Context) error {
	return r.steer(ctx, "pause", mission.paused, func(m mission) bool { return m.trouble() == nil && m.moves() })
}

// Resume has it go on, also after a trouble that a person has seen to.
func (r *Robot) Resume(ctx context.Context) error {
	if again := r.trouble.Again(); again != nil {
		return r.tells(ctx, "go on", again, mission.moves, func(m mission) bool { return !m.moves() })
	}
	return r.steer(ctx, "resume", mission.moves, func(m mission) bool { return m.trouble() == nil && m.paused() })
}

// again has the robot go on with its mission, if it is still at it, and begin what it
// was told anew else: the same rooms, lest it is everything.
func (r *Robot) again(ctx context.Context, c command) error {
	if s, err := r.link.state(ctx); err == nil && s.Mission.Cycle != none && s.Mission.Cycle != "" {
		c = command{Command: "resume"}
	}
	return r.link.tell(ctx, c, r.now())
}

// steer tells the robot a command about what it is at, and waits until it is so.
func (r *Robot) steer(ctx context.Context, what string, want, from func(mission) bool) error {
	return r.tells(ctx, what, func(ctx context.Context) error { return r.link.tell(ctx, command{Command: what}, r.now()) }, want, from)
}

func (r *Robot) tells(ctx context.Context, what string, tell func(context.Context) error, want, from func(mission) bool) error {
	ctx, done, err := r.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	return r.Told(ctx, r.with(ctx, func(s report) error {
		switch {
		case s.Mission.trouble() == nil && want(*s.Mission):
			return nil
		case !from(*s.Mission) && s.Mission.trouble() != nil:
			return drivers.NotDone(s.Mission.trouble())
		case !from(*s.Mission):
			return drivers.NotDone(fmt.Errorf("it is %s, and cannot %s", s.Mission.doing(), what))
		}
		if err := tell(ctx); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, beginTime)
		defer cancel()
		if _, err := r.link.until(ctx, func(s report) bool { return want(*s.Mission) }); err != nil {
			return fmt.Errorf("it was told to %s, and does not say that it has: %w", what, err)
		}
		return nil
	}))
}

// Stop ends what it is at. Of one that cannot be told the task goes on, and is
// followed.
func (r *Robot) Stop(ctx context.Context) (left string, err error) {
	ctx, done, err := r.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	return "", r.Told(ctx, r.errand.Interrupt(ctx, func(ctx context.Context) error {
		return r.with(ctx, func(report) error { return r.stop(ctx) })
	}))
}
