package simulation_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

// world is the simulated physical world. Its log comes from the devices alone. The programs
// under test cannot change it.
type world struct {
	chance *chance
	start  time.Time

	mu     sync.Mutex
	acts   []act
	busy   map[string]string // robot to the token of its current task
	breach []string          // violations that a device observed
	on     map[string]*light
	hangs  int
	lates  int  // number of commands that arrived after their caller gave up
	plain  bool // drivers do not mark a command that has no answer
}

// act is one start of a robot.
type act struct {
	token, robot string
	at           time.Time
	late         bool // the command arrived after its caller gave up
}

// light is a lamp that is on.
type light struct {
	since   time.Time
	excused bool // its device hung while it was on
}

// lampMax is the longest time that a lamp may be on.
const lampMax = 10 * time.Minute

func newWorld(c *chance) *world {
	return &world{chance: c, start: time.Now(), busy: map[string]string{}, on: map[string]*light{}}
}

// wrong records a violation. The caller holds mu.
func (w *world) wrong(format string, args ...any) {
	w.breach = append(w.breach, fmt.Sprintf(format, args...))
}

func (w *world) begins(robot, token string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if other := w.busy[robot]; other != "" {
		w.wrong("I12 %s begins %s in the midst of %s", robot, token, other)
	}
	w.busy[robot] = token
	w.acts = append(w.acts, act{token: token, robot: robot, at: time.Now()})
}

// arrives is a command that arrives after its caller gave up. A busy robot ignores it.
func (w *world) arrives(robot, token string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[robot] == "" {
		w.acts = append(w.acts, act{token, robot, time.Now(), true})
		w.lates++
	}
}

func (w *world) ends(robot, token string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[robot] == token {
		w.busy[robot] = ""
	}
}

// switched records that a lamp went on or off, by a command or a power cut.
func (w *world) switched(lamp string, on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.on[lamp]
	switch {
	case on && l == nil:
		w.on[lamp] = &light{since: time.Now()}
	case on: // restarts its time
		l.since = time.Now()
	case l != nil:
		if d := time.Since(l.since); d > lampMax+100*time.Millisecond && !l.excused {
			w.wrong("I10 %s was on for %v, at most %v", lamp, d, lampMax)
		}
		delete(w.on, lamp)
	}
}

func (w *world) excuse(lamp string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hangs++
	if l := w.on[lamp]; l != nil {
		l.excused = true
	}
}

// life is the time of one board between two power cuts. After its end, calls of the dead board's
// program have no effect.
type life struct {
	over chan struct{}
	once sync.Once
}

func newLife() *life { return &life{over: make(chan struct{})} }

func (l *life) end() { l.once.Do(func() { close(l.over) }) }

func (l *life) ended() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// wait waits, and reports false if the power goes or ctx ends. A hanging driver passes a ctx
// that does not end.
func (l *life) wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-l.over:
	}
	return false
}

// part is the common part of all devices.
type part struct {
	w    *world
	life *life
	name string // with its board's
	dies func(place string, prob float64) bool
}

func (p *part) Name() string                 { return p.name }
func (p *part) SetName(string)               {}
func (p *part) Connection() gobot.Connection { return nil }
func (p *part) Start() error                 { return nil }
func (p *part) Halt() error                  { return nil }

var errLine = errors.New("no answer on the line")

// faulty simulates a device that fails with probability prob, or hangs with prob/4. It returns
// nil for a working device.
func (p *part) faulty(what string, prob float64) error {
	r := p.w.chance.at(p.name, what)
	switch {
	case p.w.chance.bad(r, prob):
		return errLine
	case p.w.chance.bad(r, prob/4):
		p.w.excuse(p.name)
		p.life.wait(context.Background(), between(r, time.Second, 20*time.Minute))
		return errLine
	}
	return nil
}

// robot does one task at a time, and only on a command.
type robot struct{ part }

var (
	_ drivers.Cleaner      = (*robot)(nil)
	_ drivers.Switch       = (*lamp)(nil)
	_ drivers.SwitchReader = (*lamp)(nil)
	_ drivers.Photographer = (*camera)(nil)
)

func (r *robot) Clean(ctx context.Context, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	token, left := areas[0], drivers.Outcome{Remaining: areas}
	if r.dies("before "+token, 0.02) {
		<-ctx.Done()
		return left, ctx.Err()
	}
	luck := r.w.chance.at(r.name, token)
	if r.w.chance.bad(luck, 0.03) {
		return left, drivers.ErrNotStarted
	}
	if err := r.faulty("before "+token, 0.02); err != nil {
		return left, err
	}
	if r.life.ended() {
		return left, errLine
	}
	if late := r.w.chance.at(r.name, "unanswered "+token); r.w.chance.bad(late, 0.03) {
		time.AfterFunc(between(late, 100*time.Millisecond, 30*time.Second), func() { r.w.arrives(r.name, token) })
		r.life.wait(ctx, between(late, 0, 5*time.Second))
		if r.w.plain {
			return left, drivers.MarkNothingDone(errLine)
		}
		return left, drivers.MarkMayAct(errLine)
	}
	r.w.begins(r.name, token)
	defer r.w.ends(r.name, token)
	if r.dies("with "+token, 0.02) {
		return left, errLine
	}
	if !r.life.wait(ctx, between(luck, time.Second, time.Minute)) {
		return left, ctx.Err()
	}
	progress(drivers.Progress{Percent: 50, Activity: "half done"})
	if !r.life.wait(ctx, between(luck, time.Second, 2*time.Minute)) {
		return left, ctx.Err()
	}
	if err := r.faulty("after "+token, 0.02); err != nil {
		return left, err
	}
	r.dies("after "+token, 0.02)
	return drivers.Outcome{Done: areas}, nil
}

func (r *robot) Dock(context.Context) error { return nil }

// lamp is a relay on the board. It is off without power.
type lamp struct{ part }

func (l *lamp) Start() error { return l.Switch(context.Background(), false) }
func (l *lamp) Halt() error  { return l.Start() }

func (l *lamp) Switch(_ context.Context, on bool) error {
	if l.life.ended() {
		return errLine
	}
	l.w.switched(l.name, on)
	return nil
}

func (l *lamp) On(context.Context) (bool, error) {
	if err := l.faulty("read", 0.05); err != nil {
		return false, err
	}
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return l.w.on[l.name] != nil, nil
}

// camera returns dummy pictures.
type camera struct{ part }

func (c *camera) Photo(context.Context) (drivers.Photo, error) {
	if err := c.faulty("photo", 0.05); err != nil {
		return drivers.Photo{}, err
	}
	return drivers.Photo{Data: bytes.Repeat([]byte("jpeg"), 100), MIME: "image/jpeg", CapturedAt: time.Now()}, nil
}
