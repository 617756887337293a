package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/agent/resolver"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/agent/watchdog"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon/inspect"
	process "github.com/messkit/messkit/internal/daemon/watchdog"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/internal/wait"
)

// startedDevices are the devices in their initial state, with their safety policy, stop and
// watchdog, and the functions that run beside the agent.
type startedDevices struct {
	lock         io.Closer // of the data folder; keeps other processes from the devices
	policy       *policy.Policy
	config       atomic.Pointer[config.Config] // in use
	resolver     *resolver.Replaceable         // for config
	mu           sync.Mutex
	devices      []device.Device // guarded by mu after startDevices
	latch        *stop.Latch
	runLatch     background
	local        *localpolicy.Run
	runLocal     background // follows the decisions of local operators (lockout, disarm)
	runTimers    background
	runWatchdog  background
	runSelfTests background // answers messkit doctor
	reservations reservations
	journal      *journal.Journal       // nil if openJournal failed
	journalErr   error                  // why openJournal failed
	url          atomic.Pointer[string] // of the exchange in this program; nil: there is none, or not yet
	log          *slog.Logger
}

// background runs a function until end. The zero value runs none.
type background struct {
	cancel context.CancelFunc
	group  errgroup.Group
}

func (b *background) start(ctx context.Context, run func(context.Context) error) {
	ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	b.group.Go(func() error { return run(ctx) })
}

func (b *background) end() error {
	if b.cancel == nil {
		return nil
	}
	b.cancel()
	return b.group.Wait()
}

// watchdogWait is the longest time that the start waits for the watchdog. After it the safety
// policy rejects plans that need the watchdog, until it is ready.
const watchdogWait = 5 * time.Second

// startDevices brings the devices to their initial state. It runs before all steps that can fail
// or be slow: the network, the exchange and its disk. If another process has the devices, it
// leaves them to that process.
func startDevices(ctx context.Context, c *config.Config, log *slog.Logger) (*startedDevices, error) {
	lock, err := lockDataFolder(ctx, c)
	if err != nil {
		return nil, err
	}
	o, client := &startedDevices{lock: lock, log: log, local: localpolicy.In(c.Agent.Data).Run(c.Agent.Disarm, c.Opened.Names(), time.Now)}, (*watchdog.Client)(nil)
	options := []policy.Option{policy.WithLocalDecisions(o.local.Decisions), policy.WithReservations(o.reservations.reserved)}
	if watched := watchdogDevices(c.Opened, c.PolicyConfig(), log); len(watched) > 0 {
		will, err := filepath.Abs(filepath.Join(c.Agent.Data, "guard"))
		if err != nil {
			log.Warn("the watchdog of an earlier run does not answer", "err", err)
		}
		client = watchdog.NewClient(watched, func() (watchdog.Process, error) { return process.Start(will) }, log)
		options = append(options, policy.WithWatchdog(client))
		o.runWatchdog.start(ctx, client.Run)
	}
	o.config.Store(c)
	o.policy, o.resolver = c.NewPolicy(log, options...), resolver.NewReplaceable(c.Resolver())
	o.openJournal(ctx, c) // before the start of devices that an earlier run may have left on
	o.runTimers.start(ctx, o.policy.Run)
	o.latch = newLatch(c, o.policy, log) // during a stop no device starts
	o.runLatch.start(ctx, o.latch.Run)
	o.devices = device.Start(ctx, o.policy, c.Opened.AgentDevices(), log)
	o.runSelfTests.start(ctx, func(testing context.Context) error { // no test uses a device after the halt begins
		testing, stop := context.WithCancel(testing)
		defer stop()
		defer context.AfterFunc(ctx, stop)()
		return inspect.Server{Config: o.config.Load, Policy: o.policy, Devices: o.all, URL: o.exchangeURL}.Serve(testing, log)
	})
	if client != nil {
		wait, cancel := context.WithTimeout(ctx, watchdogWait)
		defer cancel()
		client.AwaitReady(wait)
	}
	return o, nil
}

// all returns all devices.
func (o *startedDevices) all() []device.Device {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.devices)
}

// lockWait is the longest wait for the lock of the data folder. `messkit doctor` takes the lock for
// a shorter time, to check whether messkit runs.
const lockWait = 2 * time.Second

// lockDataFolder keeps a second process out of the data folder. If the disk is full, it returns a
// lock without effect, so that the start still makes the outputs safe.
func lockDataFolder(ctx context.Context, c *config.Config) (io.Closer, error) {
	_ = durable.MkdirAll(c.Agent.Data, 0o700) // the code that needs the folder reports the error
	name := filepath.Join(c.Agent.Data, "run.lock")
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock, err := journal.Lock(name)
	for errors.Is(err, journal.ErrInUse) && wait.For(ctx, lockWait/40) {
		lock, err = journal.Lock(name)
	}
	switch {
	case errors.Is(err, journal.ErrInUse):
		return nil, DataFolderError(fmt.Errorf("%s: %w", c.Agent.Data, err), c.Agent.Data)
	case err != nil:
		return io.NopCloser(nil), nil
	}
	return lock, nil
}

// exchangeURL returns the address of the exchange in this program, "" if there is none, or not yet.
func (o *startedDevices) exchangeURL() string {
	if url := o.url.Load(); url != nil {
		return *url
	}
	return ""
}

// endTimers ends the timers of the safety policy, because the agent runs them from now on.
func (o *startedDevices) endTimers() error { return o.runTimers.end() }

// end ends all background functions, closes the journal and releases the lock. The watchdog process
// ends when every device is safe.
func (o *startedDevices) end() error {
	err := errors.Join(o.runSelfTests.end(), o.runLocal.end(), o.runLatch.end(), o.runTimers.end(), o.runWatchdog.end())
	if o.journal != nil {
		err = errors.Join(err, o.journal.Close())
	}
	return errors.Join(err, o.lock.Close())
}

// openJournal opens the journal and passes it to the safety policy for its records. If that fails,
// it sets journalErr. The start then still makes the outputs safe, and newExecutor returns the
// error.
func (o *startedDevices) openJournal(ctx context.Context, c *config.Config) {
	dir := config.JournalDir(c.Agent.Data)
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		o.journalErr = fmt.Errorf("data: %w; choose a folder with --data", err)
		return
	}
	j, err := journal.Open(dir)
	switch {
	case files.Damaged(err):
		o.journalErr = output.Hint(err, "messkit journal check --data %s prints the problems", c.Agent.Data)
	case err != nil:
		o.journalErr = DataFolderError(err, dir)
	default:
		o.journal = j
		localpolicy.In(c.Agent.Data).AdoptLedger(ctx, j, time.Now(), o.log)
		o.policy.UseLedger(j, c.Opened.Names())
	}
}

// halt takes the devices to their safe state, for a program whose agent has not started.
func (o *startedDevices) halt(ctx context.Context) error {
	return errors.Join(device.Halt(context.WithoutCancel(ctx), o.policy, o.all(), o.log), o.end())
}

// watchdogDevices returns the devices that the watchdog can switch off. It logs a warning for
// each other device with `max_on`.
func watchdogDevices(h *config.DeviceSet, limits settings.Config, log *slog.Logger) []watchdog.Device {
	var list []watchdog.Device
	for _, d := range h.Devices {
		orders := watchdogCommands(d)
		_, itself := d.Dev.(drivers.AutoOff)
		switch _, switches := d.Dev.(drivers.Switch); {
		case orders.Off != nil:
			list = append(list, watchdog.Device{Name: d.Name, Kind: d.Driver, Off: orders.Off, Safe: orders.Safe})
		case switches && !itself && limits.MaxOn(d.Name) > 0:
			log.Info("if messkit itself dies while it is on, nothing switches it off at its max_on", "device", d.Name)
		}
		if _, moves := d.Dev.(drivers.Mover); moves && orders.Off == nil {
			log.Info("if messkit itself dies while it moves, only its own limits stop it", "device", d.Name)
		}
	}
	return list
}

func watchdogCommands(d config.Device) drivers.WatchdogCommands {
	if g, ok := d.Dev.(drivers.WatchdogTarget); ok {
		return g.WatchdogCommands()
	}
	return drivers.WatchdogCommands{}
}
