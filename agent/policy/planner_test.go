package policy_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// An obedient planner makes every plan that anybody asks for. No plan and no claim of it, at any
// frequency, has an effect outside the limits.
//
// MESSKIT_PLANS sets the number of plans, MESSKIT_SEED selects them.
func TestObedientPlannerStaysInLimits(t *testing.T) {
	n, seed := number("MESSKIT_PLANS", 5000), number("MESSKIT_SEED", 27)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, rand.New(rand.NewPCG(uint64(seed), 0)))
		for range n {
			w.tryPlan()
		}
		t.Logf("%d plans: %d acts, %d refusals by rule %v", n, w.acts, w.refused, w.rules)
		if w.acts < n/50 || w.acts > n/2 {
			t.Errorf("%d of %d plans acted; the test tries the wrong ones", w.acts, n)
		}
		for _, rule := range []string{
			"locked", "disarmed", "range", "max_on", "quiet_hours", "interlock", "requires", "confirm", "max_acts", "risk", "dry_run", "min_interval", "plan",
		} {
			if w.rules[rule] == 0 && n >= 5000 {
				t.Errorf("no plan was refused for %s", rule)
			}
		}
	})
}

func number(name string, otherwise int) int {
	n, err := strconv.Atoi(cmp.Or(os.Getenv(name), strconv.Itoa(otherwise)))
	if err != nil {
		panic(err)
	}
	return n
}

// world knows the limits independently and judges every act by them.
type world struct {
	t       *testing.T
	r       *rand.Rand
	g       *policy.Policy
	things  map[string]*worldDevice
	order   policy.Order // the running order
	door    float64
	doorErr error
	at      []time.Time // times of acts that count
	acts    int
	refused int
	rules   map[string]int
}

// worldDevice is a device that reports every act to the world.
type worldDevice struct {
	thing
	w    *world
	on   bool
	last time.Time
}

func (i *worldDevice) On(context.Context) (bool, error) { return i.on, nil }

func (i *worldDevice) Switch(_ context.Context, on bool) error {
	i.w.judge(i, on, nil)
	i.on = on
	return nil
}

func (i *worldDevice) Clean(_ context.Context, areas []string, _ func(drivers.Progress)) (drivers.Outcome, error) {
	i.w.judge(i, true, areas)
	return drivers.Outcome{Done: areas}, nil
}

func (i *worldDevice) Dock(context.Context) error { i.w.judge(i, true, nil); return nil }

var hostile = []string{"lamp", "saw", "up", "down", "vault", "mower", "vacuum", "heater", "spare", "no-such", "", "lamp\n", "../lamp"}

func newWorld(t *testing.T, r *rand.Rand) *world {
	w := &world{t: t, r: r, things: map[string]*worldDevice{}, door: 1, rules: map[string]int{}}
	quiet, err := settings.ParseHours("22:00-07:00")
	if err != nil {
		t.Fatal(err)
	}
	cfg := settings.DefaultConfig()
	cfg.MaxActs = settings.MaxActs{Requester: settings.Rate{N: 5, Per: time.Hour}, All: settings.Rate{N: 8, Per: time.Hour}}
	cfg.Risks = map[string]capabilities.Risk{"saw": capabilities.RiskMotion, "vacuum": capabilities.RiskMotion, "mower": capabilities.RiskMotion}
	cfg.Devices = map[string]settings.Limits{
		"lamp":   {MaxOn: time.Hour, QuietHours: quiet, Range: settings.Ranges{capabilities.SetSwitch: {"level": {Min: new(0.0), Max: new(50.0)}}}},
		"saw":    {Requires: []settings.Condition{{Device: "door", Is: "closed"}}},
		"up":     {Interlock: []string{"blind"}, MinInterval: time.Minute, Busy: settings.BusyReject},
		"down":   {Interlock: []string{"blind"}},
		"vacuum": {Range: settings.Ranges{capabilities.Clean: {"areas": {Only: []string{"hall"}}}}},
		"heater": {Confirm: settings.ConfirmOperator, MaxActs: settings.Rate{N: 2, Per: time.Hour}},
		"spare":  {DryRun: true},
	}
	people := policy.LocalDecisions{LockedOut: map[string]string{"vault": "no"}, DisarmedDevices: map[string]string{"mower": "no"}}
	w.g = newPolicy(cfg, policy.WithLocalDecisions(func() policy.LocalDecisions { return people }))
	for _, name := range hostile[:9] {
		w.things[name] = &worldDevice{thing: thing{name}, w: w}
		if err := w.g.Start(t.Context(), w.things[name], name); err != nil {
			t.Fatal(err)
		}
	}
	door := &sensor{read: func() ([]drivers.Reading, error) {
		return []drivers.Reading{{Quantity: "contact", Value: w.door}}, w.doorErr
	}}
	if err := w.g.Start(t.Context(), door, "door"); err != nil {
		t.Fatal(err)
	}
	return w
}

func pick[T any](w *world, of ...T) T { return of[w.r.IntN(len(of))] }

// plan returns a random plan; some are right, most are not.
func (w *world) plan() capabilities.Plan {
	p := capabilities.Plan{
		Device:  pick(w, hostile...),
		Command: pick(w, capabilities.SetSwitch, capabilities.SetSwitch, capabilities.SetSwitch, capabilities.Clean, capabilities.Dock, capabilities.ReadState, "explode"),
		Risk:    pick(w, capabilities.RiskObserve, capabilities.RiskComfort, capabilities.RiskComfort, capabilities.RiskMotion, capabilities.RiskMotion, "harmless"),
		Effect:  pick(w, capabilities.Query, capabilities.Idempotent, capabilities.Once, ""),
		For:     pick(w, 0, 0, time.Minute, time.Hour, time.Hour+1, -time.Second, math.MaxInt64),
	}
	for _, arg := range []struct {
		key    string
		values []any
	}{
		{"on", []any{true, true, true, false, "true", 1.0, nil}},
		{"level", []any{10.0, 50.0, mess.Number("25"), 50.1, -1.0, math.NaN(), math.Inf(1), mess.Number("1e400"), "50", []any{10.0}, nil}},
		{"areas", []any{[]string{"hall"}, []any{"hall"}, []string{"hall", "nursery"}, []string{}, "hall; nursery", nil}},
	} {
		if w.r.IntN(8) > 0 {
			p.Args = append(p.Args, mess.Field{Key: arg.key, Value: pick(w, arg.values...)})
		}
	}
	return p
}

// tryPlan lets some time pass, changes something, and gives the policy a plan.
func (w *world) tryPlan() {
	advance(pick(w, 0, time.Second, 30*time.Second, 5*time.Minute))
	w.door, w.doorErr = pick(w, 1.0, 1.0, 0.0, 0.5), pick(w, nil, nil, errors.New("no answer"))
	p := w.plan()
	o := policy.Order{Plan: p, By: pick(w, "ann", "bob", ""), Confirmed: pick(w, "", "true", "yes", p.Digest(), p.Digest(), w.plan().Digest())}
	w.carryOut(o)
}

// carryOut behaves as an executor does with a plan.
func (w *world) carryOut(o policy.Order) {
	w.order = o
	_, err := w.g.Evaluate(w.t.Context(), o)
	w.note(err)
	pass, err := w.g.Admit(w.t.Context(), o, nil)
	if w.note(err); err != nil {
		return
	}
	defer pass.End()
	i := w.things[o.Device]
	if i == nil {
		i = &worldDevice{thing: thing{o.Device}, w: w}
	}
	// The planner carries out the plan, or does something else under its name.
	switch pick(w, 0, 0, 0, 1, 2, 3) {
	case 0:
		w.execute(pass, i, o.Plan)
	case 1:
		w.note(pass.Switch(w.t.Context(), i, true))
	case 2:
		_, err := pass.Clean(w.t.Context(), i, []string{"nursery"}, nil)
		w.note(err)
	case 3:
		w.note(pass.Dock(w.t.Context(), i))
	}
}

func (w *world) execute(pass *policy.Pass, i *worldDevice, p capabilities.Plan) {
	on, _ := p.Args.Get("on")
	areas, _ := p.Args.Get("areas")
	list, _ := areas.([]string)
	switch p.Command {
	case capabilities.SetSwitch:
		w.note(pass.Switch(w.t.Context(), i, on == true))
	case capabilities.Clean:
		_, err := pass.Clean(w.t.Context(), i, list, nil)
		w.note(err)
	case capabilities.Dock:
		w.note(pass.Dock(w.t.Context(), i))
	}
}

func (w *world) note(err error) {
	if r, ok := errors.AsType[*policy.Rejection](err); ok {
		w.refused++
		w.rules[r.Rule]++
	} else if err != nil {
		w.t.Errorf("%+v: %v", w.order, err)
	}
}

// judge checks an act against the limits, independently of the policy.
func (w *world) judge(i *worldDevice, on bool, areas []string) {
	w.acts++
	wrong := func(format string, args ...any) {
		w.t.Errorf("%s %v %v: %s\nby %+v", i.name, on, areas, fmt.Sprintf(format, args...), w.order)
	}
	if i.name != w.order.Device {
		wrong("another device than the plan's")
	}
	switch i.name {
	case "vault", "spare":
		wrong("it is locked, or dry")
	}
	if !on {
		return // other tests cover switching off
	}
	now := time.Now()
	if w.order.Command != capabilities.Dock {
		w.at = append(w.at, now) // docking does not count
	}
	moves := slices.Contains([]string{"saw", "vacuum", "mower"}, i.name) || w.order.Risk == capabilities.RiskMotion || w.order.Risk == "harmless"
	if (moves || i.name == "heater") && w.order.Confirmed != w.order.Digest() {
		wrong("there was no yes to it")
	}
	switch i.name {
	case "mower":
		wrong("it is disarmed")
	case "lamp":
		if h := now.UTC().Hour(); h >= 22 || h < 7 {
			if w.order.Command != capabilities.Dock {
				wrong("it is %s", now)
			}
		}
		level, given := w.order.Args.Get("level")
		v, err := strconv.ParseFloat(fmt.Sprint(level), 64)
		if w.order.Command == capabilities.SetSwitch && (!given || err != nil || !(v >= 0 && v <= 50) || w.order.For > time.Hour) {
			wrong("level %v for %v", level, w.order.For)
		}
	case "saw":
		if w.door != 1 || w.doorErr != nil {
			wrong("the door: %v, %v", w.door, w.doorErr)
		}
	case "up", "down":
		if other := w.things[map[string]string{"up": "down", "down": "up"}[i.name]]; other.on {
			wrong("both are on")
		}
		if i.name == "up" && w.order.Command != capabilities.Dock && now.Sub(i.last) < time.Minute {
			wrong("after %v", now.Sub(i.last))
		}
	case "vacuum":
		if w.order.Command == capabilities.Clean && !slices.Equal(areas, []string{"hall"}) {
			wrong("areas")
		}
	}
	i.last = now
	hour := 0
	for _, at := range w.at {
		if now.Sub(at) < time.Hour {
			hour++
		}
	}
	if hour > 8 {
		wrong("%d acts in an hour", hour)
	}
}
