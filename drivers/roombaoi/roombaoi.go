// Package roombaoi drives Roombas and Creates through their serial Open Interface: robots
// with a round socket under the handle or the cover (500 to 900 series, Create 2).
//
// Not supported: rooms and maps, which these robots do not have, and manual driving.
package roombaoi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
)

var (
	_ drivers.Cleaner     = (*Robot)(nil)
	_ drivers.DockReader  = (*Robot)(nil)
	_ drivers.SpotCleaner = (*Robot)(nil)
	_ drivers.Pauser      = (*Robot)(nil)
	_ drivers.Stopper     = (*Robot)(nil)
	_ drivers.Sensor      = (*Robot)(nil)
	_ drivers.Observer    = (*Robot)(nil)
	_ drivers.SafeReader  = (*Robot)(nil)
	_ drivers.RestReader  = (*Robot)(nil)
)

// Kind returns the driver kind for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{
		Name: "roombaoi", Class: "vacuum", About: "Roomba or Create at a serial cable (Open Interface)",
		Open: drivers.NewFactory(DefaultConfig, func(env drivers.Env, cfg Config) (*Robot, error) { return New(env, cfg), nil }),
	}
}

// Robot is one robot.
type Robot struct {
	drivers.Base
	cfg       Config
	log       *slog.Logger
	now       func() time.Time
	exclusive drivers.ExclusiveTask

	helpWait drivers.HelpWait

	mu     sync.Mutex // serializes exchanges on the line
	line   *os.File   // nil while the line is closed
	paused bool       // set by Pause; guarded by state
	loose  bool       // the robot has a start command, and a stop failed; guarded by state
	state  sync.Mutex
}

// New returns a robot for a valid configuration. The driver opens the line at its first use,
// so the cable may be connected later.
func New(env drivers.Env, cfg Config) *Robot {
	return &Robot{Base: drivers.NewBase(env.Name), cfg: cfg, log: env.Log, now: env.Now}
}

// Resources returns the serial port.
func (r *Robot) Resources() []drivers.Resource {
	return []drivers.Resource{{Key: "port", Label: "port " + r.cfg.Port, Identity: "port " + drivers.FileIdentity(r.cfg.Port)}}
}

// Start allows verbs.
func (r *Robot) Start() error { r.MarkStarted(); return nil }

// Halt stops the robot where it is, no matter which client started it, and closes the line.
func (r *Robot) Halt() error {
	r.StopVerbs()
	defer r.hangUp()
	if r.cfg.Safe == Keep {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), drivers.StopTimeout)
	defer cancel()
	return r.WithName(r.stop(ctx))
}

func (r *Robot) hangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
}

// drop closes the line. The next use opens it again. The caller holds mu.
func (r *Robot) drop() {
	if r.line != nil {
		_ = r.line.Close() // the line may have vanished
		r.line = nil
	}
}

// answerTime is the time limit for an answer.
const answerTime = time.Second

// sendCommands sends commands. It returns ErrNothingDone if it has sent none.
func (r *Robot) sendCommands(ctx context.Context, ops ...byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.send(ctx, ops)
}

// send is sendCommands for a caller that holds mu.
func (r *Robot) send(ctx context.Context, ops []byte) error {
	if ctx.Err() != nil {
		return drivers.MarkNothingDone(ctx.Err())
	}
	if r.line == nil {
		f, err := openLine(r.cfg.Port, r.cfg.Baud)
		if err != nil {
			return drivers.MarkNothingDone(err)
		}
		r.line = f
	}
	if err := r.line.SetDeadline(time.Now().Add(answerTime)); err != nil {
		r.drop()
		return drivers.MarkNothingDone(err)
	}
	if _, err := r.line.Write(ops); err != nil {
		r.drop()
		return fmt.Errorf("%s: %w; check that the cable is connected", r.cfg.Port, err)
	}
	return nil
}

// look reads the sensors once. It wakes up a sleeping robot.
func (r *Robot) look(ctx context.Context) (state, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.listen(ctx)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return s, err
	}
	wake(r.line)
	if s, err = r.listen(ctx); errors.Is(err, os.ErrDeadlineExceeded) {
		return s, fmt.Errorf("the robot does not answer at %s; check that it is on, and the cable in its socket. Its CLEAN button wakes it up", r.cfg.Port)
	}
	return s, err
}

// listen requests a stream, reads the first complete frame, and pauses the stream. The
// caller holds mu.
func (r *Robot) listen(ctx context.Context) (state, error) {
	if err := r.send(ctx, append([]byte{opStart}, subscribe()...)); err != nil {
		return state{}, err
	}
	defer func() { _, _ = r.line.Write([]byte{opPause, 0}) }() // the next frame shows whether the command has arrived
	var data []byte
	buf := make([]byte, 256)
	for {
		n, err := r.line.Read(buf)
		data = append(data, buf[:n]...)
		if s, found := find(data); found == nil {
			return s, nil
		}
		if err != nil || len(data) > 1<<14 {
			return state{}, fmt.Errorf("%s: %w", r.cfg.Port, errors.Join(err, noise(data)))
		}
	}
}

// noise describes the received bytes if there was no frame.
func noise(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	return fmt.Errorf("%d bytes without a complete answer; check the key baud", len(data))
}

// moves reports whether the wheels turn, from two readings.
func (r *Robot) moves(ctx context.Context) (state, bool, error) {
	was, err := r.look(ctx)
	if err != nil {
		return was, false, err
	}
	if err := r.wait(ctx, min(lookAgain, r.cfg.Poll)); err != nil {
		return was, false, err
	}
	is, err := r.look(ctx)
	return is, err == nil && is.moved(was), err
}

// lookAgain is the time between two readings of moves.
const lookAgain = 300 * time.Millisecond

func (r *Robot) wait(ctx context.Context, d time.Duration) error {
	if !wait.For(ctx, d) {
		return ctx.Err()
	}
	return nil
}

// KeepsState reports whether Halt keeps the state of the robot.
func (r *Robot) KeepsState() bool { return r.cfg.Safe == Keep }

// Safe reports whether the robot stands still.
func (r *Robot) Safe(ctx context.Context) (bool, error) {
	if r.cfg.Safe == Keep {
		return true, nil
	}
	return r.AtRest(ctx)
}

// AtRest reports whether the wheels stand still. It returns an error for a robot that may
// still set out.
func (r *Robot) AtRest(ctx context.Context) (bool, error) {
	if r.isLoose() {
		return false, r.WithName(errors.New("the robot has a start command, and a stop failed: it may still set out"))
	}
	_, moves, err := r.moves(ctx)
	return err == nil && !moves, r.WithName(err)
}

// Docked reports whether the robot is in its dock.
func (r *Robot) Docked(ctx context.Context) (bool, error) {
	s, err := drivers.DoValue(ctx, &r.Base, r.look)
	return err == nil && s.docked, err
}

// Read returns the battery level.
func (r *Robot) Read(ctx context.Context) ([]drivers.Reading, error) {
	s, err := drivers.DoValue(ctx, &r.Base, r.look)
	if err == nil && s.battery < 0 {
		err = fmt.Errorf("%s: the robot does not report its battery level", r.Name())
	}
	if err != nil {
		return nil, err
	}
	return []drivers.Reading{{Quantity: "battery", Value: math.Round(s.battery), Unit: "%", At: r.now()}}, nil
}

// Observe returns the state of the robot.
func (r *Robot) Observe(ctx context.Context) (drivers.Observation, error) {
	type seen struct {
		state
		moves bool
	}
	s, err := drivers.DoValue(ctx, &r.Base, func(ctx context.Context) (seen, error) {
		s, moves, err := r.moves(ctx)
		return seen{s, moves}, err
	})
	if err != nil {
		return drivers.Observation{}, err
	}
	text, facts := s.describe(s.moves)
	return drivers.Observation{Text: text, Facts: facts, At: r.now()}, nil
}

// describe returns the state as text and as facts.
func (s state) describe(moves bool) (string, []drivers.Fact) {
	is := "standing still"
	switch {
	case moves:
		is = "moving"
	case s.docked:
		is = "in its dock"
	}
	v := drivers.VacuumState{Activity: is, Name: is, Charging: s.charging, Help: s.neededHelp()}
	if s.battery >= 0 {
		v.Battery = new(math.Round(s.battery))
	}
	return v.Describe()
}

// neededHelp returns the problem that a person must solve, or nil.
func (s state) neededHelp() *drivers.HelpError {
	switch {
	case s.wheelDrop:
		return &drivers.HelpError{Problem: "a wheel hangs in the air", Help: "set the robot on a flat floor, then ask again"}
	case s.cliffs >= 3:
		return &drivers.HelpError{Problem: "the robot detects no floor below it", Help: "set it on the floor, wipe the sensors below its rim, then ask again"}
	case s.overcurrent&0b11000 != 0:
		return &drivers.HelpError{Problem: "a wheel does not turn", Help: "free its wheels, then ask again"}
	case s.overcurrent&0b101 != 0:
		return &drivers.HelpError{Problem: "a brush does not turn", Help: "remove hair and objects from its brushes, then ask again"}
	case s.fault:
		return &drivers.HelpError{Problem: "the robot cannot charge", Help: "wipe the contacts of robot and dock, check its battery"}
	}
	return nil
}
