package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/device"
	agentlive "github.com/messkit/messkit/agent/live"
	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/resolver"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/console"
	"github.com/messkit/messkit/exchange/channel/webhook"
	"github.com/messkit/messkit/exchange/home"
	"github.com/messkit/messkit/exchange/live"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon/inspect"
	"github.com/messkit/messkit/internal/daemon/setup"
	"github.com/messkit/messkit/mess"
)

// localExecutor is the executor of this program, for the console. The agent starts after the
// console: until then the state has the devices alone.
type localExecutor struct {
	devices  *startedDevices
	exchange *OwnExchange // contains the agent of this program
	lastMap  readMap
}

var (
	_ console.LocalExecutor = (*localExecutor)(nil)
	_ setup.Program         = (*localExecutor)(nil)
)

// config returns the configuration in use.
func (p *localExecutor) config() *config.Config { return p.devices.config.Load() }

// Config implements setup.Program.
func (p *localExecutor) Config() *config.Config { return p.config() }

// Load implements setup.Program.
func (p *localExecutor) Load(name string, text []byte) (*config.Config, error) {
	return LoadText(name, text, p.devices.log)
}

// localState is the state of the devices of this program.
type localState struct {
	Executor string            `json:"executor"`
	Stopped  string            `json:"stopped,omitempty"` // why
	Disarmed map[string]string `json:"disarmed"`          // why, by risk class or device
	Unknown  string            `json:"unknown,omitempty"` // why nothing acts
	Devices  []localDevice     `json:"devices"`
}

type localDevice struct {
	Name        string             `json:"name"`
	Label       string             `json:"label,omitempty"`
	Area        string             `json:"area,omitempty"`
	Class       string             `json:"class,omitempty"`
	Acts        bool               `json:"acts,omitempty"` // it can act, so that a lockout applies
	Doing       string             `json:"doing,omitempty"`
	Reads       bool               `json:"reads,omitempty"` // it has a state to read
	KnownStates []agent.KnownState `json:"seen,omitempty"`  // empty: never read
	Started     bool               `json:"started"`
	Failed      device.Failure     `json:"failed,omitzero"` // its last use, until it works again
	Quarantine  bool               `json:"quarantine,omitempty"`
	Trouble     string             `json:"trouble,omitempty"`
	Locked      string             `json:"locked,omitempty"` // why
	Disarmed    bool               `json:"disarmed,omitempty"`
	Safety      string             `json:"safety,omitempty"` // its result in the present stop
}

// State returns a localState.
func (p *localExecutor) State() any {
	local, hung := p.devices.local.Decisions(), p.devices.policy.Quarantined()
	s := localState{Executor: p.config().Agent.ID, Stopped: p.devices.policy.Stopped(), Unknown: localpolicy.BlockReason(local), Disarmed: map[string]string{}, Devices: []localDevice{}}
	for class, reason := range local.Disarmed {
		s.Disarmed[string(class)] = reason
	}
	maps.Copy(s.Disarmed, local.DisarmedDevices)
	safety := map[string]policy.SafeResult{}
	if s.Stopped != "" {
		for _, one := range p.devices.policy.SafeResults() {
			safety[one.Device] = one
		}
	}
	if p.exchange.agent == nil {
		return s
	}
	for _, d := range p.exchange.agent.agent.Status().Devices {
		one := localDevice{Name: d.Name, Label: d.Label, Doing: d.Doing, Reads: d.Reads, KnownStates: d.KnownStates, Started: d.Started, Failed: d.Failed}
		if c := p.config().Opened.Device(d.Name); c != nil {
			one.Area, one.Class = c.EffectiveArea(), c.EffectiveClass()
			one.Acts = slices.ContainsFunc(device.Commands(c.Dev), func(c capabilities.Command) bool {
				return capabilities.Plan{Command: c, Effect: capabilities.Query}.Actuates()
			})
		}
		if call, is := hung[d.Name]; is {
			one.Quarantine, one.Trouble = true, fmt.Sprintf("its driver has not returned from %q; check the device", call)
		}
		if reason, is := local.LockedOut[d.Name]; is {
			if one.Locked = reason; reason == "" {
				one.Locked = "by hand"
			}
		}
		if _, is := local.DisarmedDevices[d.Name]; is {
			one.Disarmed = true
		}
		if safe, is := safety[d.Name]; is {
			one.Safety = string(safe.State)
			if safe.State == policy.StateUnsafe {
				one.Trouble = safe.Err
			}
		}
		s.Devices = append(s.Devices, one)
	}
	return s
}

// Plan returns the plan of a request, as `messkit plan` does, with the answers to earlier
// questions put in.
func (p *localExecutor) Plan(intent string, requires []string, answers []mess.Object) any {
	req := mess.Request{Intent: intent}
	for _, id := range requires {
		req.Requires = append(req.Requires, mess.Capability{ID: id})
	}
	return inspect.Preview(p.config(), req, func(home *resolver.Resolver) capabilities.Outcome {
		out := home.Resolve(req)
		for _, given := range answers {
			if out.Question == nil {
				break
			}
			text, _ := given.Get(out.Question.Field)
			said, _ := text.(string) // "": not in words
			out = home.Answer(*out.Question, given, said, req)
		}
		return out
	})
}

// Stop stops every device of this program.
func (p *localExecutor) Stop(by, reason string) {
	p.devices.latch.Stop(stop.Order{Reason: reason, By: by})
}

// ResetStop ends the stop, as `messkit clear` does.
func (p *localExecutor) ResetStop(by string, anyway bool) ([]string, error) {
	dir := config.StopFolder(p.config().Agent.Data)
	if unsafe := AwaitSafe(context.Background(), dir, ClearWithin); len(unsafe) > 0 && !anyway {
		return nil, NotSafe(unsafe)
	}
	orders, err := ClearStop(dir, by)
	cleared := make([]string, len(orders))
	for i, o := range orders {
		cleared[i] = o.String()
	}
	return cleared, err
}

func (p *localExecutor) folder() localpolicy.Folder { return localpolicy.In(p.config().Agent.Data) }

// Arm enables a risk class or a device like `messkit arm`. "" means all classes and devices.
func (p *localExecutor) Arm(what string) error {
	if what == "" {
		return p.folder().Arm()
	}
	class, err := localpolicy.ClassOrDevice(what, p.config().Opened.Names())
	switch {
	case err != nil:
		return err
	case class != "":
		return p.folder().Arm(class)
	}
	return p.folder().ArmDevice(what)
}

// Disarm disables a risk class or a device like `messkit disarm`. "" means all classes that can
// act.
func (p *localExecutor) Disarm(what, reason string) error {
	if what == "" {
		return p.folder().Disarm(reason, time.Now(), localpolicy.EveryClass...)
	}
	class, err := localpolicy.ClassOrDevice(what, p.config().Opened.Names())
	switch {
	case err != nil:
		return err
	case class != "":
		return p.folder().Disarm(reason, time.Now(), class)
	}
	return p.folder().DisarmDevice(what, reason, time.Now())
}

// Lock sets a lockout on a device like `messkit lock`.
func (p *localExecutor) Lock(device, reason string) error {
	if err := localpolicy.CheckDevice(device, p.config().Opened.Names()); err != nil {
		return err
	}
	return p.folder().LockOut(device, reason, time.Now())
}

// Unlock releases the lockout of a device like `messkit unlock`.
func (p *localExecutor) Unlock(device string) error {
	err := p.folder().ReleaseLockout(device)
	if errors.Is(err, localpolicy.ErrNotSet) {
		return fmt.Errorf("%s has no lockout here; if its configuration has locked: true, change that", device)
	}
	return err
}

// notifier gives the console the webhooks of an exchange.
type notifier struct{ hooks *webhook.Dispatcher }

var _ console.Notifier = notifier{}

// lastDeliveries is the number of deliveries that the console shows.
const lastDeliveries = 5

func (n notifier) Log(who exchange.Actor) any {
	list := n.hooks.Deliveries(who)
	return list[:min(len(list), lastDeliveries)]
}

func (n notifier) SendTest(ctx context.Context, executor string) (any, error) {
	return n.hooks.SendTest(ctx, executor)
}

// liveCameras shows the live pictures of the executor of this program.
type liveCameras struct{ *localExecutor }

var _ live.Source = liveCameras{}

// Has reports whether a camera belongs to the executor.
func (c liveCameras) Has(executor, device string) bool {
	running := c.exchange.agent
	return running != nil && running.id == executor && running.agent.IsCamera(device)
}

// Watch adds a viewer to a camera.
func (c liveCameras) Watch(device string) live.Viewer {
	return liveViewer{c.exchange.agent.agent.Watch(device)}
}

// liveViewer adapts a viewer of the agent.
type liveViewer struct{ *agentlive.Viewer }

// Next waits for a picture that is newer than the last one.
func (v liveViewer) Next(ctx context.Context) ([]byte, string, error) {
	p, err := v.Viewer.Next(ctx)
	return p.Data, p.MIME, err
}

// Limits of maps: a map is read again after mapAge alone, for all viewers together.
const (
	mapAge  = 1500 * time.Millisecond
	maxMap  = 4 << 20 // bytes
	maxRoom = 100     // rooms
)

// readMap is the last map that a viewer has read.
type readMap struct {
	mu     sync.Mutex
	device string
	at     time.Time
	is     *home.Map
}

// floorMap implements home.MapFunc. One viewer at a time reads a map.
func (p *localExecutor) floorMap(ctx context.Context, executor, name string) (*home.Map, error) {
	running := p.exchange.agent
	if running == nil || running.id != executor {
		return nil, nil
	}
	p.lastMap.mu.Lock()
	defer p.lastMap.mu.Unlock()
	if p.lastMap.device == name && time.Since(p.lastMap.at) < mapAge {
		return p.lastMap.is, nil
	}
	m, err := running.agent.FloorMap(ctx, name)
	switch {
	case errors.Is(err, agent.ErrNoMap):
		return nil, nil
	case err != nil:
		return nil, err
	case len(m.Data) > maxMap:
		return nil, fmt.Errorf("%s: its map has %d bytes, and the limit is %d", name, len(m.Data), maxMap)
	}
	is := &home.Map{
		Image: m.Data, MIME: m.MIME, At: mess.TimeOf(m.CapturedAt.UTC()), Width: m.Width, Height: m.Height, MetersPerPixel: m.MetersPerPixel,
		Rooms: []home.MapRoom{}, Robot: (*home.MapPoint)(m.Robot), Dock: (*home.MapPoint)(m.Dock),
	}
	for _, r := range m.Rooms[:min(len(m.Rooms), maxRoom)] {
		is.Rooms = append(is.Rooms, home.MapRoom(r))
	}
	p.lastMap.device, p.lastMap.at, p.lastMap.is = name, time.Now(), is
	return is, nil
}
