package valetudo

import (
	"context"
	"fmt"

	"github.com/messkit/messkit/drivers"
)

// Pause stops the robot where it is. Resume continues its task.
func (v *Vacuum) Pause(ctx context.Context) error {
	return v.steer(ctx, "pause", v.does("pause"), func(s state) bool { return s.Status == isPaused }, state.moves)
}

// Resume continues the task, also after a person has solved a problem.
func (v *Vacuum) Resume(ctx context.Context) error {
	goes := func(s state) bool { return s.Status == isCleaning || s.Status == isMoving }
	if again := v.helpWait.ResumeCommand(); again != nil {
		return v.steer(ctx, "resume", again, goes, func(s state) bool { return !s.moves() })
	}
	return v.steer(ctx, "resume", v.does("start"), goes, func(s state) bool { return s.Status == isPaused })
}

// does returns a function that sends a basic command.
func (v *Vacuum) does(action string) func(context.Context) error {
	return func(ctx context.Context) error { return v.put(ctx, controlPath, map[string]any{"action": action}) }
}

// steer sends a command for the present task, and waits until want accepts the state.
func (v *Vacuum) steer(ctx context.Context, what string, send func(context.Context) error, want, from func(state) bool) error {
	return v.Do(ctx, func(ctx context.Context) error {
		s, err := v.state(ctx)
		switch {
		case err != nil:
			return drivers.MarkNothingDone(err)
		case want(s):
			return nil
		case !from(s):
			return drivers.MarkNothingDone(fmt.Errorf("the robot is %s, and rejects %s", s.activityText(), what))
		}
		if err := send(ctx); err != nil {
			return err
		}
		for {
			if s, err = v.state(ctx); err == nil && want(s) {
				return nil
			}
			if v.wait(ctx) != nil {
				return fmt.Errorf("after the command %s the robot is %s", what, s.activityText())
			}
		}
	})
}

// Stop terminates the task, no matter which client started it. If the robot does not
// receive the stop command, its task continues.
func (v *Vacuum) Stop(ctx context.Context) (left string, err error) {
	return drivers.DoValue(ctx, &v.Base, func(ctx context.Context) (string, error) {
		return "", v.exclusive.Interrupt(ctx, func(ctx context.Context) error {
			s, err := v.state(ctx)
			if err == nil && !s.moves() && s.Status != isPaused && !v.loose.Load() {
				return nil
			}
			return v.end(ctx)
		})
	})
}
