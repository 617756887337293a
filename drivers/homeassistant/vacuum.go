package homeassistant

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Cleaner        = (*vacuum)(nil)
	_ drivers.SpotCleaner    = (*vacuum)(nil)
	_ drivers.Pauser         = (*vacuum)(nil)
	_ drivers.Stopper        = (*vacuum)(nil)
	_ drivers.DockReader     = (*vacuum)(nil)
	_ drivers.Sensor         = (*vacuum)(nil)
	_ drivers.Observer       = (*vacuum)(nil)
	_ drivers.SafeReader     = (*vacuum)(nil)
	_ drivers.RestReader     = (*vacuum)(nil)
	_ drivers.ResourceHolder = (*vacuum)(nil)
	_ drivers.AreaLister     = (*roomVacuum)(nil)
	_ drivers.RoomLister     = (*roomVacuum)(nil)
)

// Features of a vacuum (VacuumEntityFeature).
const (
	vacuumPause = 4
	vacuumStop  = 8
	vacuumHome  = 16
	vacuumSpot  = 1024
	vacuumStart = 8192
	vacuumAreas = 16384
)

// States of a vacuum (VacuumActivity).
const (
	isCleaning  = "cleaning"
	isReturning = "returning"
	isDocked    = "docked"
	isPaused    = "paused"
	isError     = "error"
)

const (
	homeward = "driving to its dock"
	// setOutTime is how long a robot may need to set out, because Home Assistant polls some
	// robots every 30 seconds.
	setOutTime = 90 * time.Second
	// maxSilent is the limit for successive failed polls.
	maxSilent = 30
)

// vacuum is a robot vacuum entity.
type vacuum struct {
	statelessDevice
	log       *slog.Logger
	exclusive drivers.ExclusiveTask // task of this driver
	helpWait  drivers.HelpWait
	loose     atomic.Bool // the robot may have a start command, and a stop failed
}

// roomVacuum is a vacuum with rooms in the configuration.
type roomVacuum struct{ *vacuum }

func newVacuum(name string, e *entity, log *slog.Logger) drivers.Device {
	v := &vacuum{statelessDevice: newStatelessDevice(name, e), log: log}
	switch hasRooms := len(e.cfg.Segments) > 0; {
	case hasRooms && e.cfg.Map != "":
		return roomMapVacuum{roomVacuum{v}}
	case hasRooms:
		return roomVacuum{v}
	case e.cfg.Map != "":
		return mapVacuum{v}
	}
	return v
}

// Rooms returns the rooms of the configuration.
func (v roomVacuum) Rooms() []string {
	return slices.Sorted(maps.Values(v.entity.cfg.Segments))
}

// Areas returns the rooms of the configuration.
func (v roomVacuum) Areas(ctx context.Context) ([]drivers.Area, error) {
	_, done, err := v.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var list []drivers.Area
	for _, name := range v.Rooms() {
		list = append(list, drivers.Area{Name: name, Room: name})
	}
	return list, nil
}

// Class returns the class of the device.
func (v *vacuum) Class() string { return "vacuum" }

// Resources returns the robot, because a second device would not know the task of the first.
func (v *vacuum) Resources() []drivers.Resource { return v.entity.holds() }

// Halt stops the robot where it is, no matter which client started it.
func (v *vacuum) Halt() error {
	v.StopVerbs()
	var err error
	if v.entity.cfg.levels().Safe != "keep" {
		ctx, cancel := context.WithTimeout(context.Background(), haltTimes*v.entity.cfg.Timeout)
		defer cancel()
		err = v.entity.web.RunLast(ctx, v.stopRobot)
	}
	return errors.Join(v.WithName(err), v.statelessDevice.Halt())
}

// KeepsState reports whether Halt keeps the state of the robot.
func (v *vacuum) KeepsState() bool { return v.entity.cfg.levels().Safe == "keep" }

// Safe reports whether the robot stands still.
func (v *vacuum) Safe(ctx context.Context) (bool, error) {
	s, err := v.entity.state(ctx)
	return !s.isDriving() || v.entity.cfg.levels().Safe == "keep", v.WithName(err)
}

// AtRest reports whether the robot stands still, no matter which safe state the
// configuration has.
func (v *vacuum) AtRest(ctx context.Context) (bool, error) {
	if v.loose.Load() {
		return false, v.WithName(errors.New("an earlier command has no answer, or a stop failed: the robot may still set out"))
	}
	s, err := v.entity.state(ctx)
	return err == nil && !s.isDriving(), v.WithName(err)
}

// Docked reports whether the robot is in its dock.
func (v *vacuum) Docked(ctx context.Context) (bool, error) {
	s, err := drivers.DoValue(ctx, &v.Base, v.entity.state)
	return err == nil && s.State == isDocked, err
}

// Read returns the battery level, if the entity reports it.
func (v *vacuum) Read(ctx context.Context) ([]drivers.Reading, error) {
	s, err := drivers.DoValue(ctx, &v.Base, v.entity.state)
	if err != nil {
		return nil, err
	}
	level, ok := s.battery()
	if !ok {
		return nil, fmt.Errorf("%s: %s reports no battery level; configure its battery sensor in Home Assistant as a device", v.Name(), v.entity.cfg.Entity)
	}
	return []drivers.Reading{{Quantity: "battery", Value: level, Unit: "%", At: v.entity.now()}}, nil
}

// Observe returns the state in Home Assistant as text and facts.
func (v *vacuum) Observe(ctx context.Context) (drivers.Observation, error) {
	s, err := drivers.DoValue(ctx, &v.Base, v.entity.state)
	if err != nil {
		return drivers.Observation{}, err
	}
	is := drivers.VacuumState{Activity: s.activityText(), Name: s.State, Help: s.neededHelp()}
	if level, ok := s.battery(); ok {
		is.Battery = &level
	}
	text, facts := is.Describe()
	return drivers.Observation{Text: text, Facts: facts, At: v.entity.now()}, nil
}

// isDriving reports whether the robot moves.
func (s state) isDriving() bool { return s.State == isCleaning || s.State == isReturning }

// activityText describes the activity of the robot for people.
func (s state) activityText() string {
	switch s.State {
	case isReturning:
		return homeward
	case isDocked:
		return "in its dock"
	case "idle":
		return "standing still"
	case isError:
		return "in trouble"
	}
	return fmt.Sprintf("%.40s", s.State)
}

// battery returns the battery level in percent.
func (s state) battery() (float64, bool) {
	level, ok := s.Attributes.Battery.(float64)
	return level, ok && level >= 0 && level <= 100
}

// neededHelp returns the problem that a person must solve, or nil.
func (s state) neededHelp() *drivers.HelpError {
	if s.State != isError {
		return nil
	}
	problem := "the robot reports an error without a description"
	for _, value := range []any{s.Attributes.Error, s.Attributes.Status} {
		if text, ok := value.(string); ok && strings.TrimSpace(text) != "" && !strings.EqualFold(text, isError) {
			problem = fmt.Sprintf("the robot reports: %.120s", strings.TrimSpace(text))
			break
		}
	}
	return &drivers.HelpError{Problem: problem, Help: "inspect it: free its wheels and brushes, and set it on free floor; the app of the manufacturer shows more, then ask again"}
}
