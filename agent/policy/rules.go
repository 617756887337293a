package policy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/wait"
)

// rule returns why a plan may not pass, or nil. The caller holds Policy.mu. For a plan that only
// reads, only a stop and a hanging driver are reasons.
type rule func(*device, capabilities.Plan) error

// standingRules returns the rules that apply from the first check of a plan to each of its acts. The
// rules for the device queue (minIntervalElapsed, notBusy) and the budgets have their own places, and
// notDryRun comes last.
func (g *Policy) standingRules() []rule {
	return []rule{g.notStopped, g.notQuarantined, g.notLockedOut, g.riskNotUnderstated, g.notDisarmed, g.motionHasEnd, g.withinRange, g.withinMaxOn, g.notOnAtPulse, g.outsideQuietHours, g.noPeerActs, g.watchdogReady}
}

// firstRejection returns the error of the first rule that rejects the plan.
func firstRejection(rules []rule, d *device, p capabilities.Plan) error {
	for _, rule := range rules {
		if err := rule(d, p); err != nil {
			return err
		}
	}
	return nil
}

func (g *Policy) notQuarantined(d *device, _ capabilities.Plan) error {
	for c := range d.hungCalls {
		return &Rejection{Device: d.name, Rule: "quarantine", Text: fmt.Sprintf("its driver has not returned from %q; check the device", c.name)}
	}
	return nil
}

func (g *Policy) withinMaxOn(d *device, p capabilities.Plan) error {
	limit := d.limits.MaxOn
	if limit == 0 || !isEnergizing(p) {
		return nil
	}
	now := g.now()
	if was := now.Sub(d.onSince(now)); was > 0 && was+p.For > limit && p.For <= limit && !isPulse(p) {
		return &Rejection{Device: d.name, Rule: "max_on", Retry: limit - was, Text: fmt.Sprintf(
			"it may be on for %v at most without a break, has been on for %v, and the plan adds %v; ask for less, or when it is off", limit, was.Round(time.Millisecond), p.For)}
	}
	if p.For <= limit {
		return nil
	}
	return &Rejection{Device: d.name, Rule: "max_on", Text: fmt.Sprintf("it may be on for %v at most, and the plan asks for %v; ask for less", limit, p.For)}
}

// onSince returns the start of the device's current period on; now if it is off. The caller
// holds Policy.mu.
func (d *device) onSince(now time.Time) time.Time {
	if !d.isOn() || d.pending.onSince.IsZero() {
		return now
	}
	return d.pending.onSince
}

func (g *Policy) outsideQuietHours(d *device, p capabilities.Plan) error {
	if !p.Actuates() || turnsOff(p) {
		return nil
	}
	if d.limits.QuietHours == (settings.Hours{}) {
		return nil
	}
	now, err := g.wallClock()
	if err != nil {
		return &Rejection{Device: d.name, Rule: "quiet_hours", Text: fmt.Sprintf("it has quiet hours from %v, and the time of day is unknown: %v; set the clock", d.limits.QuietHours, err)}
	}
	if later := p.NotBefore.In(now.Location()); later.After(now) {
		if d.limits.QuietHours.Left(later) == 0 {
			return nil
		}
		return &Rejection{Device: d.name, Rule: "quiet_hours", Text: fmt.Sprintf("it has quiet hours from %v, and %s is within them; ask for another time", d.limits.QuietHours, later.Format("15:04"))}
	}
	left := d.limits.QuietHours.Left(now)
	if left == 0 {
		return nil
	}
	return &Rejection{Device: d.name, Rule: "quiet_hours", Retry: left, Text: fmt.Sprintf("it has quiet hours from %v, and it is %s; ask again in %v", d.limits.QuietHours, now.Format("15:04"), left.Round(time.Minute))}
}

// minIntervalElapsed rejects a plan that comes before the minimum interval ends, for a device that rejects
// instead of waiting.
func (g *Policy) minIntervalElapsed(d *device, p capabilities.Plan) error {
	rest, reason := g.waitTime(d, p)
	if rest == 0 || d.limits.Busy != settings.BusyReject {
		return nil
	}
	rule := "min_interval"
	if g.pulseDelay(d, p) == rest {
		rule = "pulse"
	}
	return &Rejection{Device: d.name, Rule: rule, Retry: rest, Text: fmt.Sprintf("it %s; ask again in %v", reason, rest.Round(time.Millisecond))}
}

// waitTime returns how long a device must still wait before p, and why.
func (g *Policy) waitTime(d *device, p capabilities.Plan) (time.Duration, string) {
	if pulse := g.pulseDelay(d, p); pulse > 0 {
		return pulse, "is on for a time, and a pulse begins when it is off"
	}
	if d.lastAct.IsZero() || !p.Actuates() || turnsOff(p) {
		return 0, ""
	}
	return max(0, d.limits.MinInterval-g.now().Sub(d.lastAct)), fmt.Sprintf("acts every %v at most", d.limits.MinInterval)
}

// isPulse reports whether a plan switches a device on for a time and counts once: two
// simultaneous pulses would be one.
func isPulse(p capabilities.Plan) bool {
	return p.Command == capabilities.SetSwitch && p.Effect == capabilities.Once && p.For > 0 && TurnsOn(p)
}

const (
	// offTolerance is the tolerated delay of switching off, and the interval of the checks for it.
	offTolerance = 50 * time.Millisecond
	// maxPulseWait is the longest time that a pulse waits for the one before it.
	maxPulseWait = 10 * time.Minute
)

// pulseDelay returns how long a pulse has to wait until the device is off; 0 if it is off, or if
// waiting does not help.
func (g *Policy) pulseDelay(d *device, p capabilities.Plan) time.Duration {
	if !isPulse(p) || !d.isOn() || g.notOnAtPulse(d, p) != nil {
		return 0
	}
	return max(offTolerance, d.pending.at.Sub(g.now()))
}

// notOnAtPulse rejects a pulse of a device that is on and will not be off soon: it has no end, a
// distant end, or does not switch off.
func (g *Policy) notOnAtPulse(d *device, p capabilities.Plan) error {
	if !isPulse(p) || !d.isOn() {
		return nil
	}
	no := &Rejection{Device: d.name, Rule: "pulse"}
	switch left := d.pending.at.Sub(g.now()); {
	case !d.pending.timed:
		no.Text = "it is on, and a pulse would end with switching it off; turn it off first"
	case d.pending.retryDelay > 0, left < -20*offTolerance:
		no.Text = "its time is over, but the device has not confirmed that it is off; messkit repeats the command; check the device"
	case left > maxPulseWait:
		no.Retry = left
		no.Text = fmt.Sprintf("it is on for %v more, and a pulse begins when it is off; ask again then", left.Round(time.Second))
	default:
		return nil
	}
	return no
}

func (g *Policy) notBusy(d *device, p capabilities.Plan) error {
	if d.holder == "" || d.limits.Busy != settings.BusyReject && !neverWaits(p) || !p.Actuates() || isSteering(p) {
		return nil
	}
	return busyRejection(d, d.holder)
}

func busyRejection(d *device, holder string) error {
	return &Rejection{Device: d.name, Rule: "busy", Text: fmt.Sprintf("it does one task at a time, and now: %s; ask again after that task", holder)}
}

// neverWaits reports whether a plan never waits for its device: a print would begin on top of the
// last one, which a person must remove first.
func neverWaits(p capabilities.Plan) bool { return p.Command == capabilities.Print }

func (g *Policy) notDryRun(d *device, p capabilities.Plan) error {
	if !d.limits.DryRun || !p.Actuates() {
		return nil
	}
	return &Rejection{Device: d.name, Rule: "dry_run", Text: fmt.Sprintf("no device acts in a dry run; the plan was: %s", p.Summary)}
}

// TurnsOn reports whether a plan may leave its device on. All colors do, all levels except 0,
// and a press that ends too early.
func TurnsOn(p capabilities.Plan) bool {
	switch p.Command {
	case capabilities.SetSwitch:
		on, ok := p.Args.Get("on")
		return ok && on == true
	case capabilities.Toggle:
		return true
	case capabilities.Dim:
		return !dimsToZero(p)
	}
	return p.Command == capabilities.SetColor || p.Command == capabilities.SetColorTemperature || p.Command == capabilities.Press
}

func turnsOff(p capabilities.Plan) bool {
	switch p.Command {
	case capabilities.SetSwitch:
		on, ok := p.Args.Get("on")
		return ok && on == false
	case capabilities.Dim:
		return dimsToZero(p)
	}
	return p.Command == capabilities.Dock || p.Command == capabilities.Pause || p.Command == capabilities.Stop
}

// isSteering reports whether a plan changes a running task: it would come too late if it waited for
// the end of that task.
func isSteering(p capabilities.Plan) bool {
	switch p.Command {
	case capabilities.Pause, capabilities.Resume, capabilities.Stop, capabilities.Dock:
		return true
	}
	return false
}

// dimsToZero reports whether a plan dims a light to level 0.
func dimsToZero(p capabilities.Plan) bool {
	level, _ := p.Args.Get("level")
	percent, known := settings.Number(level)
	return known && percent == 0
}

// isDeEnergizing reports whether a plan only removes power. The policy never rejects that for safety
// reasons. Locks and valves are excluded because off may be their unsafe side, and so are
// devices of unknown class.
func isDeEnergizing(p capabilities.Plan) bool {
	return turnsOff(p) && p.Command != capabilities.Dock && p.Risk.Known() &&
		p.Risk != capabilities.RiskAccess && p.Risk != capabilities.RiskIrreversible
}

// offIn returns how long after p the policy switches the device off; 0 for never.
func offIn(l settings.Limits, p capabilities.Plan) time.Duration {
	if !TurnsOn(p) {
		return 0
	}
	if p.For > 0 {
		return p.For
	}
	return l.MaxOn
}

// confirmation returns who must confirm a plan for a device with these limits.
func (g *Policy) confirmation(d settings.Limits, p capabilities.Plan) settings.Confirm {
	switch {
	case !p.Actuates():
		return settings.ConfirmNever
	case d.Confirm != "":
		return d.Confirm
	case isSteering(p) && isDeEnergizing(p):
		return settings.ConfirmNever // pausing and stopping need no confirmation
	}
	return g.cfg.ConfirmFor(p.Risk)
}

// confirmed rejects a plan that lacks the confirmation it needs, or that has the confirmation
// of another plan. The exchange checks who has confirmed.
func (g *Policy) confirmed(d *device, o Order) error {
	by := g.confirmation(*d.limits, o.Plan)
	if by == settings.ConfirmNever || o.Confirmed == o.Digest() {
		return nil
	}
	text := fmt.Sprintf("it needs a confirmation of the %s first", by)
	if o.Confirmed != "" {
		text = fmt.Sprintf("the confirmation of the %s is for another plan; ask again", by)
	}
	return &Rejection{Device: d.name, Rule: "confirm", Text: text}
}

// risksByMildness lists the risk classes, mildest first.
var risksByMildness = []capabilities.Risk{
	capabilities.RiskObserve, capabilities.RiskComfort, capabilities.RiskAppliance,
	capabilities.RiskAccess, capabilities.RiskMotion, capabilities.RiskIrreversible,
}

// riskNotUnderstated rejects a plan with a milder risk class than the device has.
func (g *Policy) riskNotUnderstated(d *device, p capabilities.Plan) error {
	least := g.cfg.Risks[d.name]
	says, known := slices.Index(risksByMildness, p.Risk), p.Risk.Known()
	if !p.Actuates() || !known || says >= slices.Index(risksByMildness, least) {
		return nil
	}
	return &Rejection{Device: d.name, Rule: "risk", Text: fmt.Sprintf("its class is %s, but the plan has class %s; make a new plan", least, p.Risk)}
}

// withinRange rejects a parameter outside its bounds, and a missing one: the device would then
// choose a value that no rule has checked. Switching off needs no parameter.
func (g *Policy) withinRange(d *device, p capabilities.Plan) error {
	if !p.Actuates() {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(d.limits.Range[p.Command])) {
		b := d.limits.Range[p.Command][name]
		value, given := parameter(*d.limits, p, name)
		if !given && turnsOff(p) {
			continue
		}
		if reason := b.Outside(value, given); reason != "" {
			return &Rejection{Device: d.name, Rule: "range", Text: fmt.Sprintf("%s %s, and may be %s; ask for that", name, reason, b)}
		}
	}
	return nil
}

// parameter returns a value of a plan; "for" is the duration in seconds.
func parameter(l settings.Limits, p capabilities.Plan, name string) (any, bool) {
	if name != "for" {
		return p.Args.Get(name)
	}
	last := p.For
	if TurnsOn(p) {
		last = offIn(l, p)
	}
	return last.Seconds(), last > 0
}

// Reservations returns the holder of a reservation of a device by another requester than by, and
// its end. ok is false if there is none. The source closes changed when that may have changed.
type Reservations func(device, by string) (holder string, until time.Time, changed <-chan struct{}, ok bool)

// WithReservations makes tasks wait while others have a device reserved.
func WithReservations(r Reservations) Option { return func(g *Policy) { g.reservations = r } }

// awaitReservation waits until no other requester has the device reserved. A later reservation does
// not affect a plan that has passed.
func (g *Policy) awaitReservation(ctx context.Context, o Order, notify func(string)) error {
	for {
		holder, until, changed, ok := g.reservations(o.Device, o.By)
		if !ok {
			return nil
		}
		notify(fmt.Sprintf("%s is reserved by %s until %s", o.Device, holder, until.UTC().Format(time.RFC3339)))
		wall, _ := g.wallClock() // an unset clock is only checked again on a change
		if !wait.ForSignal(ctx, max(time.Millisecond, until.Sub(wall)), changed) {
			return context.Cause(ctx)
		}
	}
}

// noReservations is the default Reserved: it knows no reservations.
func noReservations(string, string) (string, time.Time, <-chan struct{}, bool) {
	return "", time.Time{}, nil, false
}
