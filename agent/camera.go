package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/messkit/messkit/agent/live"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
)

// liveLimits are the limits of one picture of a live picture.
var liveLimits = picture.Limits{MaxBytes: 500 << 10, MaxPx: 800}

// IsCamera reports whether a device of the agent takes pictures.
func (a *Agent) IsCamera(device string) bool {
	d := a.devices.Get(device)
	if d == nil {
		return false
	}
	_, ok := d.Driver.(drivers.Photographer)
	return ok
}

// Watch adds a viewer to the live picture of a camera. All viewers share one reader, which asks the
// safety policy for each picture.
func (a *Agent) Watch(camera string) *live.Viewer { return a.live.Watch(camera) }

// takeFrame takes one picture of a live picture.
func (a *Agent) takeFrame(ctx context.Context, camera string) (live.Picture, bool, error) {
	p, err := a.devices.Frame(ctx, camera, liveLimits)
	_, rejected := errors.AsType[*policy.Rejection](err)
	return live.Picture{Data: p.Data, MIME: p.MIME}, rejected, err
}

// ErrNoMap reports a device that draws no map.
var ErrNoMap = errors.New("it draws no map")

// FloorMap reads the map of a device, if the safety policy allows it now. The error is ErrNoMap, a
// *policy.Rejection, that of the device, or the cause of ctx.
func (a *Agent) FloorMap(ctx context.Context, device string) (m drivers.FloorMap, err error) {
	d := a.devices.Get(device)
	if d == nil {
		return m, fmt.Errorf("%s: %w", device, ErrNoMap)
	}
	mapper, is := d.Driver.(drivers.FloorMapper)
	if !is {
		return m, fmt.Errorf("%s: %w", device, ErrNoMap)
	}
	if err := d.Open(ctx, a.gate); err != nil {
		return m, err
	}
	pass, err := a.gate.Admit(ctx, policy.Order{Plan: capabilities.Plan{
		Device: device, Command: capabilities.ReadState, Risk: capabilities.RiskObserve, Effect: capabilities.Query, Summary: "show its map",
	}}, nil)
	if err != nil {
		return m, err
	}
	defer pass.End()
	return pass.FloorMap(ctx, mapper)
}
