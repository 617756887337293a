package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/admin"
	"github.com/messkit/messkit/agent/clock"
	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/mess"
)

// agentConfig is who the executor is, and what it may.
type agentConfig struct {
	ID            string                             `yaml:"id"`
	Name          string                             `yaml:"name"`
	Availability  mess.Availability                  `yaml:"availability"`
	Schedule      string                             `yaml:"schedule"`
	Data          string                             `yaml:"data"`           // folder of the journal
	Confirm       map[capabilities.Risk]gate.Confirm `yaml:"confirm"`        // who must say yes, by risk
	ConfirmWithin time.Duration                      `yaml:"confirm_within"` // how long a yes is waited for; then nothing is done
	MaxActs       gate.MaxActs                       `yaml:"max_acts"`
	Disarm        []capabilities.Risk                `yaml:"disarm"` // classes that a person must arm after an end without order
	Clock         string                             `yaml:"clock"`  // auto, or trusted: it is set, whatever the system says
	DryRun        bool                               `yaml:"dry_run"`
	Words         string                             `yaml:"words"`     // folder of words and capabilities of one's own
	Facts         []string                           `yaml:"facts"`     // capabilities that are so of the place
	MaxSteps      int                                `yaml:"max_steps"` // of one request, without a question
	Watch         agent.Watches                      `yaml:"watch"`     // what waits for something to happen
	Position      *position                          `yaml:"position"`  // where the home is, for daylight
	StopLine      stop.LineConfig                    `yaml:"stop_line"` // an input that stops everything
	Limits        gate.Device                        `yaml:"limits"`    // of devices that have none of their own
}

func defaultAgent() agentConfig {
	return agentConfig{
		ID: hostID(), Data: dataDir(), Limits: gate.DefaultConfig().Defaults, ConfirmWithin: agent.DefaultConfig().ConfirmWithin,
		MaxActs: gate.MaxActs{Requester: gate.Rate{N: 120, Per: time.Hour}, All: gate.Rate{N: 600, Per: time.Hour}},
		Disarm:  []capabilities.Risk{capabilities.RiskAccess, capabilities.RiskMotion, capabilities.RiskIrreversible}, Clock: clockAuto, MaxSteps: 12, Watch: agent.DefaultWatches(),
		StopLine: stop.DefaultLineConfig(),
	}
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9-]+`)

// hostID names the executor after the machine.
func hostID() string {
	name, err := os.Hostname()
	if name = strings.Trim(notInID.ReplaceAllString(name, "-"), "-"); err != nil || name == "" || taken(name) {
		return "messkit"
	}
	return strings.ToLower(name)
}

// taken reports whether an id is one of the exchange's own.
func taken(id string) bool {
	return strings.EqualFold(id, exchange.Self) || strings.EqualFold(id, keys.OperatorID)
}

func (c agentConfig) Validate() error {
	var errs []error
	if !mess.ValidID(c.ID) {
		errs = append(errs, fmt.Errorf("id: %q cannot name an executor; use letters, digits and . _ : @ -", c.ID))
	}
	if taken(c.ID) {
		errs = append(errs, fmt.Errorf("id: %q is taken by the exchange itself; choose another", c.ID))
	}
	switch c.Availability {
	case "", mess.Always, mess.OnDemand:
	case mess.Schedule:
		if c.Schedule == "" {
			errs = append(errs, errors.New("schedule: is missing; write a cron expression such as 0 8-22 * * *"))
		} else if err := routing.CheckSchedule(c.Schedule); err != nil {
			errs = append(errs, fmt.Errorf("schedule: %w", err))
		}
	default:
		errs = append(errs, fmt.Errorf("availability: %q is unknown; write always, schedule or on_demand", c.Availability))
	}
	if c.Data == "" {
		errs = append(errs, errors.New("data: is empty; write the folder for the journal"))
	}
	for _, class := range c.Disarm {
		if !class.Known() {
			errs = append(errs, fmt.Errorf("disarm: %q is no risk class; write observe, comfort, appliance, access, motion or irreversible", class))
		}
	}
	if c.Clock != clockAuto && c.Clock != clockTrusted {
		errs = append(errs, fmt.Errorf("clock: %q is unknown; write %s or %s", c.Clock, clockAuto, clockTrusted))
	}
	for _, id := range c.Facts {
		if !mess.ValidID(id) {
			errs = append(errs, fmt.Errorf("facts: %q cannot name a capability; use letters, digits and . _ : @ -", id))
		}
	}
	switch {
	case c.MaxSteps < 1:
		errs = append(errs, fmt.Errorf("max_steps: %d is too few; write 1 or more", c.MaxSteps))
	case c.MaxSteps > 1000:
		errs = append(errs, fmt.Errorf("max_steps: %d is too many; write 1000 or less", c.MaxSteps))
	}
	switch {
	case c.ConfirmWithin < time.Second:
		errs = append(errs, fmt.Errorf("confirm_within: %v is too short for an answer; write 1s or more", c.ConfirmWithin))
	case c.ConfirmWithin > week:
		errs = append(errs, fmt.Errorf("confirm_within: %v is too long; write %v or less", c.ConfirmWithin, week))
	}
	for name, set := range map[string]bool{"requires": len(c.Limits.Requires) > 0, "interlock": len(c.Limits.Interlock) > 0} {
		if set {
			errs = append(errs, fmt.Errorf("limits: %s is for a device; write it there", name))
		}
	}
	return errors.Join(append(errs, gate.Config{Confirm: c.Confirm}.Validate())...)
}

// week is the longest that an executor waits for anything.
const week = 7 * 24 * time.Hour

// position is a point on the earth.
type position struct {
	Lat float64 `yaml:"lat"` // degrees north
	Lng float64 `yaml:"lng"` // degrees east
}

// Validate tells what cannot be.
func (p position) Validate() error {
	if !(capabilities.Position{Lat: p.Lat, Lng: p.Lng}).Known() {
		return fmt.Errorf("lat: %v, %v is not on the earth; write degrees north (-90 to 90) and east (-180 to 180)", p.Lat, p.Lng)
	}
	return nil
}

// catalogue is what can be asked for here, with the words of one's own, and which of
// their files cannot be used, or the whole folder.
func (c agentConfig) catalogue() (*catalog.Catalog, []catalog.LeftOut) {
	if c.Words == "" {
		return catalog.Default(), nil
	}
	dir := c.Words
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) == 0 {
		err = errors.New("it is empty; put YAML files there, or take agent: words: away")
	}
	if err != nil { // what a person has put there may not be mounted yet
		return catalog.WithoutWords(dir, err)
	}
	return catalog.LoadWords(catalog.Named(os.DirFS(dir), filepath.ToSlash(dir)))
}

// resolver turns requests into plans for the devices of this configuration.
func (c *config) resolver() *agent.Home { return c.resolverBy(c.Agent.unset) }

// preview is the resolver for what is only shown: it believes the clock.
func (c *config) preview() *agent.Home { return c.resolverBy(func() error { return nil }) }

func (c *config) resolverBy(unset func() error) *agent.Home {
	setting := capabilities.Home{MaxSteps: c.Agent.MaxSteps, Facts: c.Agent.Facts, WatchFor: c.Agent.Watch.Default, WatchLongest: c.Agent.Watch.Longest}
	if p := c.Agent.Position; p != nil {
		setting.Where = &capabilities.Position{Lat: p.Lat, Lng: p.Lng}
	}
	return c.home.resolver().In(setting, func() (time.Time, error) { return time.Now(), unset() })
}

// Values of clock.
const (
	clockAuto    = "auto"
	clockTrusted = "trusted"
)

// unset is why the clock is not known to be set, nil if it is.
func (c agentConfig) unset() error {
	if c.Clock == clockTrusted {
		return nil
	}
	return clock.Here().Unset()
}

// executor is an agent with what it keeps on the disk, ready to run.
type executor struct {
	id      string
	agent   *agent.Agent
	outputs *outputs
	words   []catalog.LeftOut           // files of words that cannot be used
	link    func(context.Context) error // keeps the connection to the exchange; nil: it keeps itself
}

// limits are those of the gate.
func (c *config) limits() gate.Config {
	return gate.Config{Confirm: c.Agent.Confirm, DryRun: c.Agent.DryRun, MaxActs: c.Agent.MaxActs, Risks: c.home.risks(), Defaults: c.Agent.Limits, Devices: c.home.limits()}
}

// gate makes the gate of this executor.
func (c *config) gate(log *slog.Logger, known ...gate.Option) *gate.Gate {
	wall := func() (time.Time, error) { return time.Now(), c.Agent.unset() }
	own := []gate.Option{gate.WithWall(wall), gate.WithLocal(admin.In(c.Agent.Data).Local)}
	return gate.New(c.limits(), time.Now, log, append(own, known...)...)
}

// agent makes the executor for an exchange, of outputs that have started.
func (c *config) agent(x agent.Exchange, o *outputs, log *slog.Logger) (*executor, error) {
	j := o.journal
	if j == nil {
		return nil, o.unread
	}
	if refs := j.Unclean(); len(refs) > 0 {
		log.Warn("the last run has died in the midst of these", "ref", refs)
	}
	settings := agent.DefaultConfig()
	settings.ID, settings.Name = c.Agent.ID, c.Agent.Name
	settings.Availability, settings.Schedule = c.Agent.Availability, c.Agent.Schedule
	settings.Stop = o.stop
	settings.ConfirmWithin = c.Agent.ConfirmWithin
	settings.Watch = c.Agent.Watch
	var err error
	if settings.Signer, err = signer(c.Agent.Data, log); err != nil {
		return nil, err
	}
	e := &executor{id: c.Agent.ID, outputs: o, words: c.home.leftOut}
	lost := ""
	if j.Fresh() && durable.Used(c.Agent.Data) {
		lost = "the journal"
	}
	for _, d := range j.Damage() {
		log.Error("the journal was damaged", "mended", d.Mended, "copy", d.Copy, "err", d)
		if !d.Mended {
			lost = "a part of the journal"
		}
	}
	c.begin(e, log)
	if lost != "" {
		log.Error(lost+" has gone: nobody knows what was begun, and the risky classes are disarmed; look, and then: messkit arm", "journal", journalDir(c.Agent.Data), "data", c.Agent.Data)
		if err := o.now.Lost(lost); err != nil {
			log.Error("disarmed until the program ends, but that is not written down", "err", err)
		}
	}
	settings.Synced, settings.Unknown = func() bool { return c.Agent.unset() == nil }, e.unknown(log)
	e.agent = agent.New(settings, x, c.resolver(), o.devices, o.gate, j, time.Now, log)
	return e, nil
}

func (e *executor) run(ctx context.Context) error {
	err := errors.Join(e.outputs.handOver(), e.work(ctx), e.outputs.end())
	return errors.Join(err, e.outputs.now.End(agent.Unsafe(err)...))
}

// work runs the agent. Its connection ends after it, so that its last words are
// heard.
func (e *executor) work(ctx context.Context) error {
	if e.link == nil {
		return e.act(ctx)
	}
	still, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer hangUp()
	g, ctx := errgroup.WithContext(ctx)
	var ran error // told too where the connection's error comes first: it says which devices are not safe
	g.Go(func() error { return e.link(still) })
	g.Go(func() error {
		defer hangUp()
		ran = e.act(ctx)
		return ran
	})
	if err := g.Wait(); err != ran {
		return errors.Join(err, ran)
	}
	return ran
}

// act runs the agent, which first reads the devices.
func (e *executor) act(ctx context.Context) error {
	first, end := context.WithCancel(ctx)
	var g errgroup.Group
	g.Go(func() error {
		e.agent.ReadFirst(first)
		return nil
	})
	err := e.agent.Run(ctx)
	end()
	return errors.Join(err, g.Wait())
}

// runRemote runs the agent for an exchange elsewhere.
func runRemote(ctx context.Context, a *output.Env, cfg *config, log *slog.Logger) error {
	o, err := cfg.start(ctx, log)
	if err != nil {
		return err
	}
	e, err := openRemote(ctx, a, cfg, o, log)
	if err != nil {
		return errors.Join(err, o.halt(ctx))
	}
	return e.run(ctx)
}

// openRemote makes the executor for an exchange elsewhere.
func openRemote(ctx context.Context, a *output.Env, cfg *config, o *outputs, log *slog.Logger) (*executor, error) {
	x, link, err := cfg.Connect.open(ctx, cfg.Agent, log)
	if err != nil {
		return nil, err
	}
	e, err := cfg.agent(x, o, log)
	if err != nil {
		return nil, err
	}
	e.link = link
	_, err = fmt.Fprintf(a.Out, "executor %s for the exchange at %s\n", cfg.Agent.ID, cfg.Connect.URL)
	return e, err
}

// open makes the exchange elsewhere, and what keeps the connection to it, if that
// does not keep itself.
func (c connectConfig) open(ctx context.Context, who agentConfig, log *slog.Logger) (agent.Exchange, func(context.Context) error, error) {
	if broker.Is(c.URL) {
		x, err := remote.NewMQTT(c.broker(who.ID, who.Data), log)
		if err != nil {
			return nil, nil, err
		}
		return x, x.Run, nil
	}
	key, err := c.key(ctx, who, log)
	if err != nil {
		return nil, nil, err
	}
	x, err := remote.New(c.remote(key), log)
	if err != nil {
		return nil, nil, err
	}
	return remote.For(x, c.Server, c.field(who.ID)), nil, nil
}

// key reads this executor's key, or registers and keeps the new one.
func (c connectConfig) key(ctx context.Context, who agentConfig, log *slog.Logger) (remote.Secret, error) {
	key, err := readKey(c.KeyFile)
	if !errors.Is(err, os.ErrNotExist) {
		return key, err
	}
	x, err := remote.New(c.remote(""), log)
	if err != nil {
		return "", err
	}
	fresh, err := x.Register(ctx, who.ID, who.Name, c.Enrol)
	if errors.Is(err, mess.Unavailable) {
		return "", err // no code helps there
	}
	if err != nil {
		return "", output.Hint(err, "an exchange on another machine wants an enrolment code (messkit keys enrol there shows one): connect: enrol: CODE; a name that is taken needs another agent: id:")
	}
	if err := os.MkdirAll(filepath.Dir(c.KeyFile), 0o700); err != nil {
		return "", err
	}
	log.Info("enrolled", "executor", who.ID, "key_file", c.KeyFile)
	return fresh, durable.Replace(c.KeyFile, []byte(string(fresh)+"\n"))
}
