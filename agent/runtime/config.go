package runtime

import (
	"cmp"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/messkit/messkit/agent/imaging"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// Config configures an agent.
type Config struct {
	ID            string            // id of the executor at the exchange
	Name          string            // display name
	Availability  mess.Availability // "" means always
	Schedule      string            // cron expression, if Availability is schedule
	Heartbeat     time.Duration     // interval between two heartbeats; at most a third of the shortest lease
	MaxThreads    int               // limit of threads in work, and of threads that wait for an answer
	ConfirmWithin time.Duration     // how long to wait for a confirmation; then nothing happens
	EndTime       time.Duration     // time for running tasks at the end of the program
	Watch         Watches           // limits of wait conditions
	// Unknown, if not nil, learns first of an act with an unknown result. The plan is empty for
	// a thread that this executor has lost.
	Unknown func(ref string, plan capabilities.Plan)
	// Acted, if not nil, gets each result that the executor reports. It must return soon.
	Acted func(Act)
	// Stop is the emergency stop of this executor; nil keeps stops in memory alone.
	Stop *stop.Latch
	// Jitter returns a delay of at most limit before a retry; nil means a random one.
	Jitter func(limit time.Duration) time.Duration
	// Fit reduces an image to limits; nil leaves images unchanged and unchecked.
	Fit imaging.Fit
	// Software is the program and its version, for people; "" for none.
	Software string
	// Battery reads the battery that supplies this machine, false for none; nil for no report.
	Battery func() (mess.Battery, bool)
	// Signer adds a receipt to every terminal status; nil for none.
	Signer *receipt.Signer
	// Synced reports whether this machine's clock is set; if not, messages mark their times.
	// nil means that it is.
	Synced func() bool
}

// Act is the work of an executor for one thread.
type Act struct {
	Ref, Trace         string // of the thread, and its trace context or ""
	Device, Capability string
	Began, Ended       time.Time
	Status             mess.Code
}

// DefaultConfig returns the default settings of an agent.
func DefaultConfig() Config {
	return Config{ID: "agent", Heartbeat: 10 * time.Second, MaxThreads: 256, ConfirmWithin: 5 * time.Minute, EndTime: 15 * time.Second, Watch: DefaultWatches(), Fit: picture.Fit}
}

// Filled returns c with defaults for its zero fields.
func (c Config) Filled() Config {
	d := DefaultConfig()
	c.ID = cmp.Or(c.ID, d.ID)
	c.Heartbeat = cmp.Or(c.Heartbeat, d.Heartbeat)
	c.MaxThreads = cmp.Or(c.MaxThreads, d.MaxThreads)
	c.ConfirmWithin = cmp.Or(c.ConfirmWithin, d.ConfirmWithin)
	c.EndTime = cmp.Or(c.EndTime, d.EndTime)
	c.Watch = c.Watch.filled()
	if c.Jitter == nil {
		c.Jitter = mathrand.N[time.Duration]
	}
	return c
}

// Validate returns an error for each invalid setting. Zero means the default.
func (c Config) Validate() error {
	var errs []error
	if !mess.ValidID(cmp.Or(c.ID, "agent")) {
		errs = append(errs, fmt.Errorf("id: %q cannot name an executor; use letters, digits and . _ : @ -", c.ID))
	}
	if c.Heartbeat != 0 && c.Heartbeat < time.Second {
		errs = append(errs, fmt.Errorf("heartbeat: %v is too often; use 1s or more", c.Heartbeat))
	}
	if c.MaxThreads < 0 {
		errs = append(errs, fmt.Errorf("max_threads: %d is negative; use 1 or more", c.MaxThreads))
	}
	if c.ConfirmWithin < 0 {
		errs = append(errs, fmt.Errorf("confirm_within: %v is negative; use 1s or more", c.ConfirmWithin))
	}
	if c.EndTime < 0 {
		errs = append(errs, fmt.Errorf("end_time: %v is negative; use 1s or more", c.EndTime))
	}
	if err := c.Watch.filled().Validate(); err != nil {
		errs = append(errs, fmt.Errorf("watch: %w", err))
	}
	return errors.Join(errs...)
}

// Watches configures wait conditions.
type Watches struct {
	Default time.Duration `yaml:"default"` // duration without one in the request
	Longest time.Duration `yaml:"longest"` // longest duration
	Every   time.Duration `yaml:"every"`   // interval of readings for devices that report no changes
	AtOnce  int           `yaml:"at_once"` // maximum number at the same time
}

// DefaultWatches returns the default settings.
func DefaultWatches() Watches {
	return Watches{Default: capabilities.DefaultWatchDuration, Longest: capabilities.DefaultMaxWatchDuration, Every: 5 * time.Second, AtOnce: 32}
}

func (w Watches) filled() Watches {
	d := DefaultWatches()
	w.Longest = cmp.Or(w.Longest, d.Longest)
	w.Default = cmp.Or(w.Default, min(d.Default, w.Longest))
	w.Every = cmp.Or(w.Every, d.Every)
	w.AtOnce = cmp.Or(w.AtOnce, d.AtOnce)
	return w
}

// Validate returns an error for each invalid setting.
func (w Watches) Validate() error {
	var errs []error
	if w.Longest < time.Minute || w.Longest > 7*24*time.Hour {
		errs = append(errs, fmt.Errorf("longest: %v is not between 1m and 168h", w.Longest))
	}
	if w.Default < time.Second || w.Default > w.Longest {
		errs = append(errs, fmt.Errorf("default: %v is not between 1s and longest, which is %v", w.Default, w.Longest))
	}
	if w.Every < time.Second || w.Every > 10*time.Minute {
		errs = append(errs, fmt.Errorf("every: %v is not between 1s and 10m", w.Every))
	}
	if w.AtOnce < 1 {
		errs = append(errs, fmt.Errorf("at_once: %d is too few; write 1 or more", w.AtOnce))
	}
	return errors.Join(errs...)
}
