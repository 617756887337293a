package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// sentences is a resolver with fixed sentences.
type sentences map[string]capabilities.Outcome

func (w sentences) addDefaults() {
	plan := func(p capabilities.Plan) capabilities.Outcome { return capabilities.Outcome{Plan: &p} }
	turn := func(on bool) capabilities.Plan {
		return capabilities.Plan{
			Capability: "switch", Device: "porch-lamp", Command: capabilities.SetSwitch, Args: mess.Object{{Key: "on", Value: on}},
			Risk: capabilities.RiskComfort, Effect: capabilities.Idempotent, Summary: "switch the porch light", Reversible: true,
		}
	}
	w["turn on the porch light"] = plan(turn(true))
	w["turn off the porch light"] = plan(turn(false))
	once := turn(true)
	once.Effect = capabilities.Once
	w["ring the bell"] = plan(once)
	w["is the porch light on?"] = plan(capabilities.Plan{
		Device: "porch-lamp", Command: capabilities.ReadState, Risk: capabilities.RiskObserve, Effect: capabilities.Query, Summary: "look at the porch light",
	})
	w["what's in the fridge?"] = plan(capabilities.Plan{
		Device: "fridge-cam", Command: capabilities.Observe, Risk: capabilities.RiskObserve, Effect: capabilities.Query, Summary: "look into the fridge",
	})
	w["vacuum the kitchen"] = capabilities.Outcome{Question: &capabilities.Clarification{
		Field: "area", Text: "Rice near the sink and crumbs by the stove: which area?", Options: []string{"near sink", "stove", "both"},
	}}
	w["vacuum both"] = plan(cleanPlan("near sink", "stove"))
	w["open the safe"] = capabilities.Outcome{Refusal: &capabilities.Rejection{Reason: "there is no safe here", Nearest: []string{"fridge"}}}
	w["juggle"] = plan(capabilities.Plan{Device: "porch-lamp", Command: capabilities.Clean, Summary: "juggle"})
}

func cleanPlan(areas ...string) capabilities.Plan {
	return capabilities.Plan{
		Capability: "vacuum-floor", Device: "vacuum", Command: capabilities.Clean, Args: mess.Object{{Key: "areas", Value: areas}},
		Risk: capabilities.RiskMotion, Effect: capabilities.Once, Summary: "vacuum " + strings.Join(areas, " and "),
		Consequences: "the vacuum will move about the kitchen",
	}
}

// resolverFunc records the sentences that the resolver reads.
type resolverFunc struct {
	sentences
	asked func()
}

func (u resolverFunc) Resolve(req mess.Request) capabilities.Outcome {
	if u.asked != nil {
		u.asked()
	}
	return u.sentences.Resolve(req)
}

func (w sentences) Resolve(req mess.Request) capabilities.Outcome {
	if req.Intent == "crash" {
		panic("boom")
	}
	if out, ok := w[req.Intent]; ok {
		return out
	}
	return capabilities.Outcome{Refusal: &capabilities.Rejection{Reason: "not understood: " + req.Intent}}
}

func (w sentences) Answer(q capabilities.Clarification, reply mess.Object, text string, _ mess.Request) capabilities.Outcome {
	area, _ := reply.Get(q.Field)
	switch area {
	case "both":
		return w["vacuum both"]
	case "stove":
		p := cleanPlan("stove")
		return capabilities.Outcome{Plan: &p}
	}
	return capabilities.Outcome{Question: &capabilities.Clarification{Field: q.Field, Text: text + " is no area. " + q.Text, Options: q.Options}}
}

func (w sentences) Offers() []mess.Capability {
	return []mess.Capability{{ID: "switch"}, {ID: "take-photo", Meta: mess.Object{{Key: "effect", Value: "query"}}}, {ID: "vacuum-floor"}}
}

func (w sentences) Places(string) []string { return nil }

// fakeDevice is the common part of the simulated devices.
type fakeDevice struct {
	dies    dying
	mu      sync.Mutex
	started int
	halted  int
	log     []string
}

func (p *fakeDevice) Name() string                 { return "made" }
func (p *fakeDevice) SetName(string)               {}
func (p *fakeDevice) Connection() gobot.Connection { return nil }

func (p *fakeDevice) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started++
	return nil
}

func (p *fakeDevice) Halt() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.halted++
	return nil
}

func (p *fakeDevice) record(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, what)
}

// hasDied reports whether the program has died; its call then never returns to it.
func (p *fakeDevice) hasDied(ctx context.Context, point string) bool {
	if p.dies == nil || !p.dies(point) {
		return false
	}
	<-ctx.Done()
	return true
}

// acts returns the acts on the device, as the device saw them.
func (p *fakeDevice) acts() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.log, ", ")
}

// lamp is a switch with readback.
type lamp struct {
	fakeDevice
	on      bool
	stuck   bool          // it does not change
	late    time.Duration // delay from its answer to the act
	since   time.Time     // time of the command, for a late act
	broken  error         // result of Switch and On
	blind   bool          // On fails
	takes   time.Duration // duration of Switch
	unplug  bool          // Start fails
	starts  time.Duration // how long Start takes
	running func()        // called while it switches
}

// dying checks before and after each act of a device whether the program has died there.
type dying func(point string) bool

func (l *lamp) set(f func(*lamp)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l)
}

func (l *lamp) get() (c struct {
	on, stuck, blind bool
	broken           error
	takes            time.Duration
	running          func()
},
) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.on, c.stuck, c.blind, c.broken, c.takes, c.running = l.on, l.stuck, l.blind, l.broken, l.takes, l.running
	return c
}

func (l *lamp) Start() error {
	l.mu.Lock()
	unplug, takes := l.unplug, l.starts
	l.mu.Unlock()
	time.Sleep(takes)
	if unplug {
		return errors.New("no such line")
	}
	return l.fakeDevice.Start()
}

func (l *lamp) Switch(ctx context.Context, on bool) error {
	if l.hasDied(ctx, "before the act") {
		return ctx.Err()
	}
	l.record(map[bool]string{true: "on", false: "off"}[on])
	c := l.get()
	if c.running != nil {
		c.running()
	}
	if c.takes > 0 {
		t := time.NewTimer(c.takes)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return context.Cause(ctx) // in a stop, that is the policy's rejection
		}
	}
	if c.broken == nil && !c.stuck {
		l.set(func(l *lamp) { l.on, l.since = on, time.Now() })
	}
	if l.hasDied(ctx, "after the act") {
		return ctx.Err()
	}
	return c.broken
}

func (l *lamp) On(ctx context.Context) (bool, error) {
	if l.hasDied(ctx, "before the look") {
		return false, ctx.Err()
	}
	c := l.get()
	if c.blind {
		return false, errors.New("lamp: no answer")
	}
	late := false
	l.set(func(l *lamp) { late = time.Since(l.since) < l.late })
	return c.on && !late, nil
}

// fridge is a camera that recognizes items.
type fridge struct {
	fakeDevice
	broken error
}

func (f *fridge) Photo(context.Context) (drivers.Photo, error) {
	f.record("photo")
	return drivers.Photo{Data: []byte("\xff\xd8\xff picture of the fridge"), MIME: "image/jpeg", CapturedAt: time.Now()}, f.broken
}

func (f *fridge) Observe(context.Context) (drivers.Observation, error) {
	return drivers.Observation{
		Text:  "There is milk, and three eggs.",
		Facts: []drivers.Fact{{Name: "milk", Value: true}, {Name: "eggs", Value: 3.0, Unit: "pieces"}},
	}, f.broken
}

// vacuum takes ten seconds for each area.
type vacuum struct {
	fakeDevice
	each   time.Duration
	steps  int  // progress reports in each area
	stops  bool // it stops by itself after the first area
	broken error
}

func newVacuum() *vacuum { return &vacuum{each: 10 * time.Second, steps: 50} }

func (v *vacuum) Clean(ctx context.Context, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	var out drivers.Outcome
	if v.hasDied(ctx, "before the act") {
		return out, ctx.Err()
	}
	v.record("clean " + strings.Join(areas, "+"))
	if v.broken != nil {
		return out, v.broken
	}
	steps := v.steps
	for i, area := range areas {
		for s := range steps {
			done := 100 * float64(i*steps+s) / float64(len(areas)*steps)
			progress(drivers.Progress{Percent: done, Activity: "cleaning " + area, TimeLeft: v.each * time.Duration(len(areas)-i)})
			t := time.NewTimer(v.each / time.Duration(steps))
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				v.record("stopped")
				out.Remaining = areas[i:]
				return out, ctx.Err()
			}
		}
		out.Done = append(out.Done, area)
		if v.hasDied(ctx, "after an act") {
			return out, ctx.Err()
		}
		if v.stops {
			out.Remaining = areas[i+1:]
			return out, nil
		}
	}
	return out, nil
}

func (v *vacuum) Dock(context.Context) error { v.record("dock"); return nil }

func (v *vacuum) Map(ctx context.Context) (drivers.Photo, error) {
	if v.hasDied(ctx, "before the look") {
		return drivers.Photo{}, ctx.Err()
	}
	return drivers.Photo{Data: []byte("map"), MIME: "image/png", CapturedAt: time.Now()}, nil
}
