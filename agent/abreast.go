package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/capabilities"
)

// atOnce limits the steps of one plan that run concurrently, each on its own device. An
// unreachable lamp takes seconds to fail, so forty lamps in sequence would take long.
const atOnce = 8

// short lists the commands that may run concurrently on different devices. Cleaning, moving,
// printing and capturing images run one after the other.
var short = []capabilities.Command{
	capabilities.SetSwitch, capabilities.Dim, capabilities.Tint, capabilities.Warm, capabilities.SetTemperature,
	capabilities.Open, capabilities.Shut, capabilities.OpenTo, capabilities.Lock, capabilities.ReadState,
}

// apart reports whether the steps of a plan are independent: one order for several devices,
// none of which depends on another.
func (t *task) apart(plan capabilities.Plan) bool {
	if plan.Capability == capabilities.Several || slices.Contains(plan.Want, capabilities.Image) {
		return false
	}
	seen := map[string]bool{}
	for _, step := range plan.Steps {
		if step.After > 0 || seen[step.Device] || !slices.Contains(short, step.Command) || len(t.gate.DependsOn(step.Device)) > 0 {
			return false
		}
		seen[step.Device] = true
	}
	return true
}

// abreast carries out independent steps concurrently and returns their results in the order of
// the plan.
func (t *task) abreast(ctx context.Context, asked time.Time, plan capabilities.Plan) []result {
	results := make([]result, len(plan.Steps))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, step := range plan.Steps {
		g.Go(func() error {
			results[i] = t.step(ctx, asked, plan, step)
			return nil
		})
	}
	_ = g.Wait() // the results hold the errors
	return results
}

// maxTold limits the failed steps whose reasons the answer contains. "messkit status" shows the
// failures of all devices.
const maxTold = 3

// stepErrors holds the errors of failed steps.
type stepErrors []error

func (e stepErrors) Error() string {
	told := make([]string, 0, maxTold+1)
	for _, err := range e[:min(len(e), maxTold)] {
		told = append(told, err.Error())
	}
	if more := len(e) - maxTold; more > 0 {
		told = append(told, fmt.Sprintf("%d more have failed; messkit status tells why", more))
	}
	return strings.Join(told, "; ")
}

func (e stepErrors) Unwrap() []error { return e }

// tooMany is the length from which counted replaces a list by its length.
const tooMany = 6

// counted lists some results, or returns their number if there are many. The lists of the
// status contain all of them.
func counted(words []string) string {
	if len(words) <= tooMany {
		return list(words)
	}
	return fmt.Sprintf("%d of them", len(words))
}
