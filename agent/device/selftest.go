package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/imaging"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
)

// ErrStopped reports that a stop prevented the use of a device.
var ErrStopped = errors.New("remains unused during a stop")

// Doubt is a result that a person should check and that may be correct, such as a dark room.
type Doubt string

func (d Doubt) Error() string { return string(d) }

// SelfTest tries devices without side effects, to check whether they work. Every use passes the
// safety policy.
type SelfTest struct {
	gate    *policy.Policy
	cameras *imaging.Cameras
}

// NewSelfTest returns a self test for devices under a safety policy.
func NewSelfTest(g *policy.Policy, devices []Device, now func() time.Time) *SelfTest {
	t := &SelfTest{g, imaging.NewCameras(picture.Fit, now)}
	for _, d := range devices {
		t.cameras.SetPlaceholders(d.Name, d.Placeholders)
	}
	return t
}

// Use tries a device: it captures and discards an image, reads a sensor, or reads the state of
// a switch. says describes the result; "" if the device has nothing to read. An image on which
// nothing is visible is a Doubt.
//
// Use never starts a device that acts, because a start sets its initial state; it reads such a
// device while it is halted. Use starts a read-only device that Start has not opened, and halts
// it afterwards.
func (t *SelfTest) Use(ctx context.Context, d Device) (says string, err error) {
	if _, err := t.gate.Overdue(d.Name); err != nil {
		return "", err
	}
	started := d.opened != nil && d.opened.IsRunning(t.gate)
	reason := t.gate.Stopped()
	i, inspects := d.Driver.(drivers.Inspector)
	switch {
	case started && reason == "":
		return t.use(ctx, d)
	case reason != "":
		return "", fmt.Errorf("%w (%s); to let it start, run on the host: messkit clear", ErrStopped, reason)
	case d.opened == nil && inspects: // the owner of an output line also sets it
		return i.Inspect(ctx)
	case !isReadOnly(d.Driver):
		return t.useHalted(ctx, d)
	case d.opened != nil:
		if err := d.opened.Open(ctx, t.gate); err != nil {
			return "", err
		}
		return t.use(ctx, d)
	}
	if err := t.gate.Start(ctx, d.Driver, d.Name); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, t.gate.Halt(context.WithoutCancel(ctx), d.Driver, d.Name)) }()
	return t.use(ctx, d)
}

// isReadOnly reports whether neither start nor end of a device changes its state.
func isReadOnly(d drivers.Device) bool {
	if l, ok := d.(drivers.StartHaltStates); ok {
		initial, safe := l.StartHaltStates()
		return initial == "keep" && safe == "keep"
	}
	for _, c := range Commands(d) {
		if (capabilities.Plan{Command: c, Effect: capabilities.Query}).Actuates() {
			return false
		}
	}
	return true
}

// use tries a started device with a pass for reading.
func (t *SelfTest) use(ctx context.Context, d Device) (string, error) {
	look := capabilities.Plan{
		Device: d.Name, Command: capabilities.ReadState, Risk: capabilities.RiskObserve, Effect: capabilities.Query, Summary: "see whether it works",
	}
	if _, ok := d.Driver.(drivers.Photographer); ok {
		look.Command = capabilities.TakePhoto
	}
	waits := ""
	pass, err := t.gate.Admit(ctx, policy.Order{Plan: look}, func(reason string) { waits = reason })
	if err != nil {
		return "", errors.Join(err, waitReason(waits))
	}
	defer pass.End()
	var parts []string
	for _, one := range t.readings(d, pass) {
		says, err := one(ctx)
		if errors.Is(err, drivers.ErrNoReading) && len(parts) > 0 {
			continue // it has reported its state, and has no meter
		}
		if errors.Is(err, drivers.ErrNoReadingYet) {
			return "", Doubt(strings.TrimPrefix(err.Error(), d.Name+": "))
		}
		if err != nil {
			return "", err
		}
		parts = append(parts, says)
	}
	if len(parts) == 0 && isReadOnly(d.Driver) {
		return "starts", nil
	}
	return strings.Join(parts, ", "), nil
}

func waitReason(waits string) error {
	if waits == "" {
		return nil
	}
	return errors.New(waits)
}

// readings returns all reading functions of a device.
func (t *SelfTest) readings(d Device, p *policy.Pass) (all []func(context.Context) (string, error)) {
	add := func(look func(context.Context) (string, error)) { all = append(all, look) }
	if v, ok := d.Driver.(drivers.Photographer); ok {
		add(func(ctx context.Context) (string, error) { return t.photo(ctx, d.Name, p, v) })
	}
	if v, ok := d.Driver.(drivers.SwitchReader); ok {
		add(func(ctx context.Context) (string, error) { return stateText(wording.OnOff)(p.On(ctx, v)) })
	}
	if v, ok := d.Driver.(drivers.LockReader); ok {
		locked := func(is bool) string { return map[bool]string{true: "locked", false: "unlocked"}[is] }
		add(func(ctx context.Context) (string, error) { return stateText(locked)(p.Locked(ctx, v)) })
	}
	if v, ok := d.Driver.(drivers.OpeningReader); ok {
		add(func(ctx context.Context) (string, error) { return stateText(wording.Opening)(p.Opening(ctx, v)) })
	} else if v, ok := d.Driver.(drivers.RestReader); ok {
		add(func(ctx context.Context) (string, error) {
			still, err := p.AtRest(ctx, v)
			return map[bool]string{true: "answers, and stands still", false: "answers, and moves"}[still], err
		})
	}
	if v, ok := d.Driver.(drivers.TargetReader); ok {
		target := func(celsius float64) string { return "set to " + wording.Number(celsius) + " °C" }
		add(func(ctx context.Context) (string, error) { return stateText(target)(p.Target(ctx, v)) })
	}
	if v, ok := d.Driver.(drivers.Sensor); ok {
		add(func(ctx context.Context) (string, error) { return measurementsText(p.Read(ctx, v)) })
	}
	if v, ok := d.Driver.(drivers.Observer); ok {
		add(func(ctx context.Context) (string, error) {
			_, err := p.Observe(ctx, v)
			return "reports its observations", err
		})
	}
	return all
}

// stateText describes the reported state of a device.
func stateText[T any](word func(T) string) func(T, error) (string, error) {
	return func(v T, err error) (string, error) { return "is " + word(v), err }
}

func measurementsText(list []drivers.Reading, err error) (string, error) {
	words := make([]string, len(list))
	for i, r := range list {
		words[i] = strings.TrimSpace(fmt.Sprintf("%s %v %s", r.Quantity, r.Value, r.Unit))
	}
	return "reads " + cmp.Or(strings.Join(words, ", "), "nothing"), err
}

// photo captures an image, checks whether anything is visible, and discards it.
func (t *SelfTest) photo(ctx context.Context, name string, p *policy.Pass, c drivers.Photographer) (string, error) {
	var lim picture.Limits
	shot, err := t.cameras.Capture(ctx, name, lim, func(ctx context.Context) (drivers.Photo, error) { return p.Photo(ctx, c) })
	if err != nil {
		return "", err
	}
	if _, err := t.cameras.Fit(ctx, shot, lim); err != nil {
		return "", fmt.Errorf("messkit cannot show its pictures: %w", err)
	}
	info, err := picture.Inspect(shot.Data)
	if err != nil {
		return "", err
	}
	says := fmt.Sprintf("takes pictures of %d by %d pixels", info.Width, info.Height)
	if shot.NothingVisible != "" {
		return "", Doubt(says + ", and they show nothing: " + shot.NothingVisible)
	}
	return says, nil
}

// useHalted reads the state of a halted device; "" if it reports none.
func (t *SelfTest) useHalted(ctx context.Context, d Device) (says string, err error) {
	says, err = haltedState(ctx, d.Driver)
	if d.opened == nil || err != nil {
		return says, err
	}
	startErr := d.opened.notStarted()
	if says == "" {
		return "", fmt.Errorf("did not start: %w; the agent tries again when it next needs it", startErr)
	}
	return says + "; the agent starts it when it next needs it", nil
}

// haltedState returns the state that a halted device reports.
func haltedState(ctx context.Context, d drivers.Device) (string, error) {
	if r, ok := d.(drivers.RestReader); ok {
		still, err := r.AtRest(ctx)
		return map[bool]string{true: "answers, and stands still", false: "answers, and moves"}[still], err
	}
	s, ok := d.(drivers.SafeReader)
	if !ok {
		return "", nil
	}
	if l, ok := d.(drivers.StartHaltStates); ok {
		if _, safe := l.StartHaltStates(); safe == "keep" {
			return "", nil // a safe device needs no reading
		}
	}
	safe, err := s.Safe(ctx)
	return map[bool]string{true: "answers, and is in its safe state", false: "answers, and is not in its safe state"}[safe], err
}
