package doctor

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon/inspect"
)

// checkDevices uses every device without changing anything. A running messkit uses the
// devices that it has itself.
func checkDevices(ctx context.Context, c *config.Config) []output.CheckResult {
	theirs, found := askRunning(ctx, c)
	own := make([]output.CheckResult, len(c.Opened.Devices))
	devices := c.Opened.AgentDevices()
	trials := device.NewSelfTest(c.NewPolicy(output.NoLog), devices, time.Now)
	var g errgroup.Group
	for i, d := range devices {
		if f, has := theirs[d.Name]; has {
			own[i] = f
			continue
		}
		g.Go(func() error {
			says, err := inspect.TestDevice(ctx, trials, d)
			own[i] = inspect.SelfTestResult(d.Name, says, err)
			return nil
		})
	}
	_ = g.Wait() // it never fails: each result has its error
	return append(found, own...)
}
