package simulation_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// executor is a machine with an executor and its devices.
type executor struct {
	id     string
	w      *world
	s      *server
	link   *link
	dir    string // for its disks
	disk   string // of the journal
	boots  int
	cuts   int
	before string // copy of the journal at the last boot, for a forgetful disk

	mu    sync.Mutex
	now   *program
	twin  int // number of runs of a second process with the same id
	step  time.Duration
	stops []span   // of the emergency stop
	left  []string // threads in the journal at the end
}

// program is the executor between a boot and its end.
type program struct {
	life   *life
	policy *policy.Policy
	j      *journal.Journal
	cancel context.CancelFunc
	done   chan error
}

type span struct{ from, to time.Time }

func (b *executor) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return clockAt(time.Now(), b.step)
}

// sentences is the resolver. Each sentence contains device, token, effect and manner.
type sentences struct{}

func (sentences) Offers() []mess.Capability {
	return []mess.Capability{{ID: "clean"}, {ID: "light"}, {ID: "photo"}}
}

func (sentences) Places(string) []string { return nil }

func (sentences) Resolve(req mess.Request) capabilities.Outcome {
	w := strings.Fields(req.Intent)
	p := capabilities.Plan{Capability: w[0], Summary: req.Intent, Risk: capabilities.RiskComfort}
	switch w[0] {
	case "light":
		p.For, _ = time.ParseDuration(w[2])
		p.Device, p.Command, p.Effect, p.Args = "lamp", capabilities.SetSwitch, capabilities.Idempotent, mess.Object{{Key: "on", Value: true}}
	case "photo":
		p.Device, p.Command, p.Effect, p.Risk = "camera", capabilities.TakePhoto, capabilities.Query, capabilities.RiskObserve
	default:
		p.Device, p.Command, p.Effect = "robot", capabilities.Clean, capabilities.Effect(w[2])
		p.Args = mess.Object{{Key: "areas", Value: []string{w[1]}}}
		if w[3] == "motion" {
			p.Risk, p.Consequences = capabilities.RiskMotion, "it moves about"
		}
		if w[3] == "ask" {
			return capabilities.Outcome{Question: &capabilities.Clarification{Field: "sure", Text: "which?", Options: []string{"this"}}}
		}
	}
	return capabilities.Outcome{Plan: &p}
}

func (sentences) Answer(_ capabilities.Clarification, _ mess.Object, _ string, req mess.Request) capabilities.Outcome {
	req.Intent = strings.Replace(req.Intent, " ask", " plain", 1)
	return sentences{}.Resolve(req)
}

// boot starts the executor from its disk.
func (b *executor) boot() {
	r := b.s.chance.at(b.id, "boot")
	if b.s.faulty.forgetfulJournal && b.before != "" {
		b.disk = b.before
	}
	j, err := journal.Open(b.disk)
	if err != nil {
		b.s.t.Fatal(err)
	}
	if b.s.faulty.forgetfulJournal {
		b.before = b.copied()
	}
	b.mu.Lock()
	b.step = 0
	if r.IntN(3) == 0 && !b.s.chance.healed.Load() {
		b.step = -time.Duration(r.IntN(20*365*24)) * time.Hour // the board has no clock of its own
	}
	b.mu.Unlock()
	p := b.start(j, "", b.mayDie)
	b.mu.Lock()
	b.now = p
	b.boots++
	b.mu.Unlock()
}

// start starts the executor with a journal, and devices whose names begin with prefix.
func (b *executor) start(j *journal.Journal, prefix string, mayDie func(*program, string, float64) bool) *program {
	cfg := agent.DefaultConfig()
	cfg.ID, cfg.Fit, cfg.Heartbeat = b.id, nil, b.s.beat
	cfg.Jitter = func(limit time.Duration) time.Duration { return between(b.s.chance.at(b.id+prefix, "wait"), 0, limit) }
	limits := settings.DefaultConfig()
	if !b.s.faulty.unlimited {
		limits.Devices = map[string]settings.Limits{"lamp": {MaxOn: lampMax}}
	}
	p := &program{life: newLife(), policy: policy.New(limits, b.clock, quiet()), j: j, done: make(chan error, 1)}
	dies := func(place string, prob float64) bool { return mayDie(p, place, prob) }
	newPart := func(name string) part { return part{b.w, p.life, b.id + "/" + prefix + name, dies} }
	bot := drivers.Device(&robot{newPart("robot")})
	if b.s.faulty.shared {
		bot = &robot{part{b.w, p.life, "the/robot", dies}}
	}
	if b.s.faulty.twice {
		bot = &unlimitedVacuum{robot{newPart("robot")}}
	}
	way := &link{s: b.s, who: b.link.who, process: prefix, dies: dies, base: b.link}
	var x agent.Exchange = way
	if b.s.faulty.noFence {
		x = &unfenced{way}
	}
	a := agent.New(cfg, x, sentences{}, []device.Device{
		{Name: "robot", Driver: bot},
		{Name: "lamp", Driver: &lamp{newPart("lamp")}},
		{Name: "camera", Driver: &camera{newPart("camera")}},
	}, p.policy, j, b.clock, quiet())
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() { p.done <- a.Run(ctx) }()
	return p
}

// twinned is the prefix of the device names of a second process.
const twinned = "twin-"

// runTwins runs a second process with the same id from time to time, as if another board had the
// same configuration. It has its own journal, which disappears with it.
func (b *executor) runTwins(ctx context.Context) {
	for n := 0; ; n++ {
		r := b.s.chance.of(b.id, "twin", n)
		if !sleep(ctx, between(r, 2*time.Hour, 30*time.Hour)) {
			return
		}
		j, err := journal.Open(fmt.Sprintf("%s/%s-%s%d", b.dir, b.id, twinned, n))
		if err != nil {
			b.s.t.Fatal(err)
		}
		off := func() { b.w.switched(b.id+"/"+twinned+"lamp", false) }
		p := b.start(j, twinned, func(p *program, place string, prob float64) bool {
			if !p.life.ended() && b.s.chance.bad(b.s.chance.at(b.id, "twin dies", place), prob) {
				p.life.end()
				off()
			}
			return p.life.ended()
		})
		b.mu.Lock()
		b.twin++
		b.mu.Unlock()
		sleep(ctx, between(r, time.Minute, 30*time.Minute))
		if r.IntN(2) == 0 { // a power cut
			p.life.end()
		}
		p.cancel()
		<-p.done
		p.life.end()
		if err := j.Close(); err != nil {
			b.s.t.Error(err)
		}
		off()
	}
}

// mayDie cuts the power with probability prob at a place in a program, and reports whether the
// program is dead. The disk keeps its content of that moment, with half a record at its end.
// Later calls of the dead program have no effect.
func (b *executor) mayDie(p *program, place string, prob float64) bool {
	if p.life.ended() || !b.s.chance.bad(b.s.chance.at(b.id, "dies", place), prob) {
		return p.life.ended()
	}
	b.cut(p)
	return true
}

func (b *executor) cut(p *program) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.life.ended() {
		return
	}
	b.cuts++
	b.disk = b.copied()
	p.life.end()
	b.w.switched(b.id+"/lamp", false)
}

// end stops the program gracefully, or after a power cut.
func (b *executor) end(cut bool) {
	b.mu.Lock()
	p := b.now
	b.now = nil
	b.mu.Unlock()
	if cut {
		b.cut(p)
	}
	p.cancel()
	<-p.done // ignore its error: the network may be down
	p.life.end()
	if err := p.j.Close(); err != nil {
		b.s.t.Error(err)
	}
	b.w.switched(b.id+"/lamp", false)
}

// copied copies the journal in its current state, and returns the copy's path.
func (b *executor) copied() string {
	to := filepath.Join(b.dir, fmt.Sprintf("%s-%d-%d", b.id, b.boots, time.Now().UnixNano()))
	if err := os.CopyFS(to, os.DirFS(b.disk)); err != nil {
		b.s.t.Fatal(err)
	}
	if err := tearLastRecord(to); err != nil {
		b.s.t.Fatal(err)
	}
	return to
}

// live boots and stops the executor until ctx ends. Then the executor stays up.
func (b *executor) live(ctx context.Context) {
	for n := 0; ; n++ {
		r := b.s.chance.of(b.id, n)
		b.mu.Lock()
		p := b.now
		b.mu.Unlock()
		up := time.NewTimer(between(r, time.Minute, 24*time.Hour))
		select {
		case <-ctx.Done():
		case <-up.C:
		case <-p.life.over:
		}
		up.Stop()
		if ctx.Err() != nil && !p.life.ended() {
			return
		}
		b.end(p.life.ended() || r.IntN(3) == 0)
		away := between(r, 5*time.Second, 20*time.Minute)
		if r.IntN(8) == 0 {
			away = between(r, time.Hour, 5*time.Hour)
		}
		sleep(ctx, away)
		b.boot()
	}
}

// pressStops presses the emergency stop from time to time, sets the clock right, and releases the
// stop.
func (b *executor) pressStops(ctx context.Context) {
	for n := 0; ; n++ {
		r := b.s.chance.of(b.id, "drill", n)
		if !sleep(ctx, between(r, 10*time.Minute, 12*time.Hour)) {
			return
		}
		b.mu.Lock()
		p := b.now
		b.step = 0
		b.mu.Unlock()
		if p == nil {
			continue
		}
		if !b.s.faulty.unstopped {
			p.policy.Stop("drill")
		}
		from := time.Now()
		sleep(ctx, between(r, time.Second, 10*time.Minute))
		b.mu.Lock()
		if b.now == p {
			b.stops = append(b.stops, span{from, time.Now()})
		}
		b.mu.Unlock()
		p.policy.ResetStop()
	}
}

// unlimitedVacuum is a robot that does each command twice.
type unlimitedVacuum struct{ robot }

func (e *unlimitedVacuum) Clean(ctx context.Context, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	_, _ = e.robot.Clean(ctx, areas, progress)
	return e.robot.Clean(ctx, areas, progress)
}

// unfenced is a link that leaves the epoch out.
type unfenced struct{ *link }

func (u *unfenced) Send(ctx context.Context, m mess.Message) (mess.Message, error) {
	m.Epoch = 0
	return u.link.Send(ctx, m)
}

// tearLastRecord writes half a record behind the records of a log, like a write that a power cut
// interrupts. The rest of the file is preallocated zeros.
func tearLastRecord(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil || len(files) == 0 {
		return err
	}
	name := files[len(files)-1]
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	end := len(bytes.TrimRight(data, "\x00"))
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte("\x40\x00\x00\x00half a record"), int64(end))
	return errors.Join(err, f.Close())
}
