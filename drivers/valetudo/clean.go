package valetudo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
	"github.com/messkit/messkit/internal/wait"
)

// setOutTime is how long the robot may need to set out.
const setOutTime = 60 * time.Second

// Clean cleans rooms, or everything. The robot chooses its path. After an interrupted task
// the map shows its progress, but no room counts as done.
func (v *Vacuum) Clean(ctx context.Context, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	none, what := drivers.Outcome{Remaining: areas}, "cleaning"
	if len(areas) > 0 {
		what += " " + strings.Join(areas, ", ")
	} else {
		none.Remaining = []string{"everything"}
	}
	if err := v.run(ctx, what, func(ctx context.Context) (cleanTask, error) { return v.plan(ctx, areas) }, progress); err != nil {
		return none, err
	}
	return drivers.Outcome{Done: areas}, nil
}

// run executes one task of the robot, from its command to its end.
func (v *Vacuum) run(ctx context.Context, what string, plan func(context.Context) (cleanTask, error), progress func(drivers.Progress)) error {
	return v.exclusive.Run(ctx, &v.Base, what, func(ctx context.Context) error {
		e, err := plan(ctx)
		if err == nil && progress != nil {
			v.helpWait.Begin(func(ctx context.Context) error { return v.send(ctx, e) }) // the same place; otherwise the robot would clean everything
			defer v.helpWait.End()
		}
		if err == nil {
			err = v.send(ctx, e)
			if err != nil && !errors.Is(err, drivers.ErrNothingDone) {
				err = v.brake(ctx, err) // the robot may have received the command
			}
		}
		if err == nil {
			err = v.watch(ctx, newCleanProgress(v.now(), what, e.floor, progress))
		}
		return err
	})
}

// cleanTask is a command to the robot.
type cleanTask struct {
	path  string
	order map[string]any
	floor float64 // area of the task in cm²; 0 if unknown
}

// send sends the command of a task.
func (v *Vacuum) send(ctx context.Context, e cleanTask) error {
	err := v.put(ctx, e.path, e.order)
	if e.path == zonesPath {
		return zoneError(err)
	}
	return err
}

// plan returns the command for a cleaning task, or an error if the robot cannot accept it
// now.
func (v *Vacuum) plan(ctx context.Context, areas []string) (cleanTask, error) {
	if err := v.free(ctx); err != nil {
		return cleanTask{}, err
	}
	if len(areas) == 0 {
		return cleanTask{controlPath, map[string]any{"action": "start"}, v.floor(ctx, nil)}, nil
	}
	rooms, err := v.rooms(ctx)
	if err != nil {
		return cleanTask{}, drivers.MarkNothingDone(err)
	}
	ids := make([]string, len(areas))
	for i, a := range areas {
		at := slices.IndexFunc(rooms, func(r room) bool { return r.Name == a })
		if at < 0 {
			return cleanTask{}, drivers.MarkNothingDone(fmt.Errorf("the robot has no room %q; known rooms: %s", a, strings.Join(names(rooms), ", ")))
		}
		if err := missing(rooms[at : at+1]); err != nil {
			return cleanTask{}, drivers.MarkNothingDone(err)
		}
		ids[i] = rooms[at].ID
	}
	order := map[string]any{"action": "start_segment_action", "segment_ids": ids, "iterations": v.cfg.Passes, "customOrder": true}
	return cleanTask{segmentsPath, order, v.floor(ctx, ids)}, nil
}

// free returns nil if the robot can accept a task.
func (v *Vacuum) free(ctx context.Context) error {
	s, err := v.state(ctx)
	switch {
	case err != nil:
		return drivers.MarkNothingDone(err)
	case s.Status == isError:
		return drivers.MarkNothingDone(s.neededHelp())
	case s.moves() && s.Status != isReturning:
		return fmt.Errorf("%w: another client has started it, and it is %s; stop it there, or wait", drivers.ErrBusy, s.activityText())
	}
	return nil
}

func (v *Vacuum) put(ctx context.Context, path string, order map[string]any) error {
	body, err := json.Marshal(order)
	if err != nil {
		return err
	}
	_, err = v.web.Do(ctx, httpclient.Call{Method: "PUT", Path: path, Type: "application/json", Body: body, Acts: true})
	return err
}

// watch waits for the end of a task. If the task ends early, watch stops the robot.
func (v *Vacuum) watch(ctx context.Context, j *cleanProgress) (err error) {
	defer func() {
		if _, stands := errors.AsType[*drivers.HelpError](err); err != nil && !stands {
			err = v.brake(ctx, err)
		}
	}()
	silent := 0
	for {
		if err := v.wait(ctx); err != nil {
			return err
		}
		doubt := v.exclusive.LastStop()
		s, err := v.state(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			j.lost = true
			if silent++; silent >= maxSilent {
				return fmt.Errorf("no answer for %d polls, so the robot may still work: %v", silent, err) // no %w, because the task has begun
			}
			continue
		}
		silent = 0
		if s.moves() {
			v.exclusive.ConfirmWorking(doubt)
		}
		over, err := j.step(s, v.now(), v.cleaned(ctx, s), &v.helpWait)
		switch {
		case (over || err != nil) && v.exclusive.Interrupted(ctx):
			return drivers.ErrStopped
		case err != nil:
			return err
		case over:
			v.loose.Store(false)
			return nil
		}
	}
}

// maxSilent is the limit for successive failed polls, because Wi-Fi is poor under beds.
const maxSilent = 30

func (v *Vacuum) wait(ctx context.Context) error {
	if !wait.For(ctx, v.cfg.Poll) {
		return ctx.Err()
	}
	return nil
}

// brake stops the robot, even if ctx has ended, and no matter which state it reports,
// because it may not have set out yet. err is the reason; the result also reports whether
// the robot may set out later.
func (v *Vacuum) brake(ctx context.Context, err error) error {
	stop := drivers.StopRobot(ctx, v.log, func(ctx context.Context) error { return v.web.RunLast(ctx, v.end) })
	v.loose.Store(stop != nil)
	return drivers.JoinStopError(err, stop)
}

// stop stops the robot if it moves, and waits until it stands still.
func (v *Vacuum) stop(ctx context.Context) error {
	s, err := v.state(ctx)
	if err == nil && !s.moves() && !v.loose.Load() {
		return nil
	}
	return v.end(ctx)
}

// end stops a robot, no matter which state it reports.
func (v *Vacuum) end(ctx context.Context) error {
	if err := v.put(ctx, controlPath, map[string]any{"action": "stop"}); err != nil {
		return err
	}
	for {
		s, err := v.state(ctx)
		if err == nil && !s.moves() {
			v.loose.Store(false)
			return nil
		}
		if v.wait(ctx) != nil {
			return fmt.Errorf("after the stop command the robot is %s", s.activityText())
		}
	}
}

// Dock terminates the present task and sends the robot to its dock.
func (v *Vacuum) Dock(ctx context.Context) error {
	err := v.Do(ctx, func(ctx context.Context) error {
		if _, err := v.state(ctx); err != nil { // without a state, the present task continues
			return drivers.MarkNothingDone(err)
		}
		return v.exclusive.End(ctx)
	})
	if err != nil {
		return err
	}
	return v.exclusive.Run(ctx, &v.Base, homeward, v.dock)
}

func (v *Vacuum) dock(ctx context.Context) (err error) {
	s, err := v.state(ctx)
	switch {
	case err != nil:
		return drivers.MarkNothingDone(err)
	case s.Status == isDocked:
		return nil
	case s.Status == isError:
		return drivers.MarkNothingDone(s.neededHelp())
	}
	if err := v.put(ctx, controlPath, map[string]any{"action": "home"}); err != nil {
		if !errors.Is(err, drivers.ErrNothingDone) {
			err = v.brake(ctx, err)
		}
		return err
	}
	return v.watch(ctx, newCleanProgress(v.now(), homeward, 0, nil))
}
