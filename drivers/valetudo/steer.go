package valetudo

import (
	"context"
	"fmt"

	"github.com/messkit/messkit/drivers"
)

// Pause has the robot stand where it is; its task goes on with Resume.
func (v *Vacuum) Pause(ctx context.Context) error {
	return v.steer(ctx, "pause", v.does("pause"), func(s state) bool { return s.Status == isPaused }, state.moves)
}

// Resume lets it go on, also after a trouble that a person has seen to.
func (v *Vacuum) Resume(ctx context.Context) error {
	goes := func(s state) bool { return s.Status == isCleaning || s.Status == isMoving }
	if again := v.trouble.Again(); again != nil {
		return v.steer(ctx, "go on", again, goes, func(s state) bool { return !s.moves() })
	}
	return v.steer(ctx, "go on", v.does("start"), goes, func(s state) bool { return s.Status == isPaused })
}

// does tells the robot one of its basic actions.
func (v *Vacuum) does(action string) func(context.Context) error {
	return func(ctx context.Context) error { return v.put(ctx, controlPath, map[string]any{"action": action}) }
}

// steer tells the robot something about what it is at, and waits until it is so.
func (v *Vacuum) steer(ctx context.Context, what string, tell func(context.Context) error, want, from func(state) bool) error {
	_, err := drivers.During(ctx, &v.Life, func(ctx context.Context) (struct{}, error) {
		s, err := v.state(ctx)
		switch {
		case err != nil:
			return struct{}{}, drivers.NotDone(err)
		case want(s):
			return struct{}{}, nil
		case !from(s):
			return struct{}{}, drivers.NotDone(fmt.Errorf("it is %s, and cannot %s", s.doing(), what))
		}
		if err := tell(ctx); err != nil {
			return struct{}{}, err
		}
		for {
			if s, err = v.state(ctx); err == nil && want(s) {
				return struct{}{}, nil
			}
			if v.wait(ctx) != nil {
				return struct{}{}, fmt.Errorf("it was told to %s, and is %s", what, s.doing())
			}
		}
	})
	return err
}

// Stop ends what it is at, whoever has sent it. Of one that cannot be told the task
// goes on, and is followed.
func (v *Vacuum) Stop(ctx context.Context) (left string, err error) {
	return drivers.During(ctx, &v.Life, func(ctx context.Context) (string, error) {
		return "", v.errand.Interrupt(ctx, func(ctx context.Context) error {
			s, err := v.state(ctx)
			if err == nil && !s.moves() && s.Status != isPaused && !v.loose.Load() {
				return nil
			}
			return v.end(ctx)
		})
	})
}
