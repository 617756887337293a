package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/selftest"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
)

// deviceTime is the longest time to try one device. A camera that warms up takes some
// seconds.
const deviceTime = 15 * time.Second

// unreadState is the result for a device without a state to read.
const unreadState = "not used: it has no state to read"

// SelfTestResult turns the result of TestDevice into a result of `messkit doctor`.
func SelfTestResult(name, says string, err error) output.CheckResult {
	doubt, doubtful := errors.AsType[device.Doubt](err)
	switch {
	case doubtful:
		return output.CheckResult{What: name, OK: true, Note: true, Says: string(doubt)}
	case errors.Is(err, device.ErrStopped):
		return output.CheckResult{What: name, OK: true, Note: true, Says: device.ErrStopped.Error()} // the stop has its own reason and remedy
	case err != nil:
		return output.CheckResult{What: name, Says: strings.TrimPrefix(err.Error(), name+": ")}
	case says == "":
		return output.CheckResult{What: name, OK: true, Note: true, Says: unreadState}
	}
	return output.CheckResult{What: name, OK: true, Says: says}
}

// TestDevice uses one device, for deviceTime at most. It returns the state of the device as text, or
// "" if it reports none.
func TestDevice(ctx context.Context, trials *device.SelfTest, d device.Device) (string, error) {
	type outcome struct {
		says string
		err  error
	}
	ctx, cancel := context.WithTimeout(ctx, deviceTime)
	defer cancel()
	answer := make(chan outcome, 1)
	go func() { // a driver that hangs must not block the caller
		says, err := trials.Use(ctx, d)
		answer <- outcome{says: says, err: err}
	}()
	select {
	case o := <-answer:
		return o.says, o.err
	case <-ctx.Done():
		return "", fmt.Errorf("it has not answered within %v; is it switched on and connected?", deviceTime)
	}
}

// IsRunning reports whether a messkit holds the data folder of this configuration.
func IsRunning(c *config.Config) bool {
	name := filepath.Join(c.Agent.Data, "run.lock")
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	lock, err := journal.Lock(name)
	if err != nil {
		return errors.Is(err, journal.ErrInUse)
	}
	_ = lock.Close() // nothing was written
	return false
}

// Server answers the doctor and the previews of this machine for a running executor.
type Server struct {
	Config  func() *config.Config // in use
	Policy  *policy.Policy
	Devices func() []device.Device
	URL     func() string // address of the exchange in this program; "" if there is none, or not yet
}

// Serve answers `messkit doctor` and `messkit plan` until ctx ends. It tries the devices that both
// have in the same configuration.
func (s Server) Serve(ctx context.Context, log *slog.Logger) error {
	began := time.Now()
	return selftest.Serve(ctx, s.Config().Agent.Data, func(ctx context.Context, q selftest.Query) selftest.Response {
		c, devices := s.Config(), s.Devices()
		trials := device.NewSelfTest(s.Policy, devices, time.Now)
		a := selftest.Response{Config: c.File, Began: began, Devices: make([]selftest.Result, len(devices)), URL: s.URL()}
		if q.Plan != nil {
			if plan, err := Plan(ctx, c, *q.Plan); err == nil {
				a.Executor, a.Plan = c.Agent.ID, &plan
			}
		}
		asked := map[string]string{}
		for _, d := range q.Devices {
			asked[d.Name] = d.Settings
		}
		var g errgroup.Group
		for i, d := range devices {
			r := &a.Devices[i]
			r.Name, r.Settings = d.Name, c.Devices[d.Name].Sum()
			if r.Used = asked[d.Name] == r.Settings; !r.Used {
				continue
			}
			g.Go(func() error {
				says, err := TestDevice(ctx, trials, d)
				f := SelfTestResult(d.Name, says, err)
				r.OK, r.Note, r.Text = f.OK, f.Note, f.Says
				return nil
			})
		}
		_ = g.Wait() // each result has its error
		return a
	}, log)
}
