package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/exchange/remote/mqttclient"
	"github.com/messkit/messkit/exchange/remote/natsclient"
	"github.com/messkit/messkit/exchange/spans"
	"github.com/messkit/messkit/internal/battery"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/internal/otlp"
	"github.com/messkit/messkit/mess"
)

// executor is an agent with its journal and keys, ready to run.
type executor struct {
	id            string
	agent         *agent.Agent
	outputs       *startedDevices
	ignoredWords  []catalog.IgnoredWords      // unusable files of words
	runConnection func(context.Context) error // maintains the connection to the exchange; nil without one
	traces        *otlp.Exporter              // nil: there is no collector
}

// newExecutor makes the executor for the exchange x, with started devices. It disarms the risky
// classes if the journal, or a part of it, is missing.
func newExecutor(c *config.Config, x agent.Exchange, o *startedDevices, log *slog.Logger) (*executor, error) {
	j := o.journal
	if j == nil {
		return nil, o.journalErr
	}
	if refs := j.OpenAtStart(); len(refs) > 0 {
		log.Warn("the last run has died in the midst of these", "ref", refs)
	}
	settings := agent.DefaultConfig()
	settings.ID, settings.Name = c.Agent.ID, c.Agent.Name
	settings.Availability, settings.Schedule = c.Agent.Availability, c.Agent.Schedule
	settings.Stop = o.latch
	settings.ConfirmWithin = c.Agent.ConfirmWithin
	settings.Watch = c.Agent.Watch
	settings.Software = "messkit " + output.Version
	settings.Battery = func() (mess.Battery, bool) { return battery.Read(battery.Folder) }
	var err error
	if settings.Signer, err = Signer(c.Agent.Data, log); err != nil {
		return nil, err
	}
	e := &executor{id: c.Agent.ID, outputs: o, ignoredWords: c.Opened.LeftOut}
	lost := ""
	if j.IsNew() && durable.Used(c.Agent.Data) {
		lost = "the journal"
	}
	for _, d := range j.Damage() {
		log.Error("damage in the journal", "mended", d.Repaired, "copy", d.Copy, "err", d)
		if !d.Repaired {
			lost = "a part of the journal"
		}
	}
	markRunning(c, e, log)
	if lost != "" {
		log.Error(lost+" is missing: earlier actions are unknown, and messkit has disarmed the risky classes; look, and then: messkit arm", "journal", config.JournalDir(c.Agent.Data), "data", c.Agent.Data)
		if err := o.local.DisarmForLoss(lost); err != nil {
			log.Error("disarmed until the program ends; the disk did not accept the record", "err", err)
		}
	}
	settings.Synced, settings.Unknown = func() bool { return c.Agent.Unset() == nil }, e.disarmForUnknown(log)
	if e.traces, err = otlp.FromEnvironment(c.Agent.OTLP, "messkit-executor", c.Agent.ID, output.Version, log); err != nil {
		return nil, err
	}
	if e.traces != nil {
		settings.Acted = func(a runtime.Act) { spans.Act(e.traces, spans.Work(a)) }
	}
	e.agent = agent.New(settings, x, o.resolver, o.devices, o.policy, j, time.Now, log)
	return e, nil
}

func (e *executor) run(ctx context.Context) error {
	tracing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var sending errgroup.Group
	sending.Go(func() error { return e.traces.Run(tracing) })
	defer func() {
		stop()
		_ = sending.Wait() // it never fails
	}()
	err := errors.Join(e.outputs.endTimers(), e.runConnected(ctx), e.outputs.end())
	return errors.Join(err, e.outputs.local.End(device.Unsafe(err)...))
}

// runConnected runs the agent and its connection. The connection ends after the agent, so that the
// exchange gets its last reports.
func (e *executor) runConnected(ctx context.Context) error {
	if e.runConnection == nil {
		return e.runAgent(ctx)
	}
	connected, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	defer disconnect()
	g, ctx := errgroup.WithContext(ctx)
	var agentErr error // also returned if the connection fails first: it names devices that are not safe
	g.Go(func() error { return e.runConnection(connected) })
	g.Go(func() error {
		defer disconnect()
		agentErr = e.runAgent(ctx)
		return agentErr
	})
	if err := g.Wait(); err != agentErr {
		return errors.Join(err, agentErr)
	}
	return agentErr
}

// runAgent runs the agent, and at the same time reads the devices for the first time.
func (e *executor) runAgent(ctx context.Context) error {
	reading, stopReading := context.WithCancel(ctx)
	var g errgroup.Group
	g.Go(func() error {
		e.agent.ReadFirst(reading)
		return nil
	})
	err := e.agent.Run(ctx)
	stopReading()
	return errors.Join(err, g.Wait())
}

// runRemote runs the agent for an exchange on another machine.
func runRemote(ctx context.Context, a *output.Env, cfg *config.Config, log *slog.Logger) error {
	o, err := startDevices(ctx, cfg, log)
	if err != nil {
		return err
	}
	e, err := openRemote(ctx, a, cfg, o, log)
	if err != nil {
		return errors.Join(err, o.halt(ctx))
	}
	return e.run(ctx)
}

// openRemote makes the executor for an exchange on another machine.
func openRemote(ctx context.Context, a *output.Env, cfg *config.Config, o *startedDevices, log *slog.Logger) (*executor, error) {
	x, link, err := openConnection(ctx, *cfg.Connect, cfg.Agent, log)
	if err != nil {
		return nil, err
	}
	e, err := newExecutor(cfg, x, o, log)
	if err != nil {
		return nil, err
	}
	e.runConnection = link
	_, err = fmt.Fprintf(a.Out, "executor %s for the exchange at %s\n", cfg.Agent.ID, cfg.Connect.URL)
	return e, err
}

// openConnection makes the client of an exchange on another machine, and the function that
// maintains its connection. The function is nil over HTTP, where each call connects.
func openConnection(ctx context.Context, c config.Connect, executor config.Agent, log *slog.Logger) (agent.Exchange, func(context.Context) error, error) {
	if err := saveKey(c); err != nil {
		return nil, nil, err
	}
	if natslink.Is(c.URL) {
		x, err := natsclient.New(c.NATS(executor.ID), log)
		if err != nil {
			return nil, nil, err
		}
		return x, x.Run, nil
	}
	if broker.Is(c.URL) {
		x, err := mqttclient.New(c.Broker(executor.ID, executor.Data), log)
		if err != nil {
			return nil, nil, err
		}
		return x, x.Run, nil
	}
	key, err := readOrEnroll(ctx, c, executor, log)
	if err != nil {
		return nil, nil, err
	}
	x, err := httpclient.New(c.Remote(key), log)
	if err != nil {
		return nil, nil, err
	}
	return remote.For(x, c.Server, c.Field(executor.ID)), nil, nil
}

// saveKey writes a key that the caller of messkit.Run has given to the key file.
func saveKey(c config.Connect) error {
	if is, err := config.ReadKey(c.KeyFile); c.Secret == "" || err == nil && is == c.Secret {
		return nil
	}
	return writeKey(c.KeyFile, c.Secret)
}

func writeKey(file string, key httpclient.Secret) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return durable.Replace(file, []byte(string(key)+"\n"))
}

// readOrEnroll reads this executor's key, or registers and saves the new one.
func readOrEnroll(ctx context.Context, c config.Connect, executor config.Agent, log *slog.Logger) (httpclient.Secret, error) {
	key, err := config.ReadKey(c.KeyFile)
	if !errors.Is(err, os.ErrNotExist) {
		return key, err
	}
	x, err := httpclient.New(c.Remote(""), log)
	if err != nil {
		return "", err
	}
	fresh, err := x.Register(ctx, executor.ID, executor.Name, c.Enroll)
	if errors.Is(err, mess.Unavailable) {
		return "", err // no code helps there
	}
	if err != nil {
		return "", output.Hint(err, "an exchange on another machine needs an enrollment code (run messkit keys enrol there): connect: enrol: CODE; if another executor has the name, set another agent: id:")
	}
	log.Info("enrolled", "executor", executor.ID, "key_file", c.KeyFile)
	return fresh, writeKey(c.KeyFile, fresh)
}
