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

// atOnce is how many steps of one plan are carried out at a time, where each is about a
// device of its own: of forty lamps some are out of reach, and each takes seconds to be.
const atOnce = 8

// short are the commands that steps of their own devices may have side by side: what
// drives about, prints or takes pictures is done one after the other.
var short = []capabilities.Command{
	capabilities.SetSwitch, capabilities.Dim, capabilities.Tint, capabilities.Warm, capabilities.SetTemperature,
	capabilities.Open, capabilities.Shut, capabilities.OpenTo, capabilities.Lock, capabilities.ReadState,
}

// apart reports whether the steps of a plan have nothing to do with each other: one order
// for several devices, of which none depends on another.
func (t *task) apart(plan capabilities.Plan) bool {
	if plan.Capability == capabilities.Several || slices.Contains(plan.Want, capabilities.Image) {
		return false
	}
	seen := map[string]bool{}
	for _, step := range plan.Steps {
		if step.After > 0 || seen[step.Device] || !slices.Contains(short, step.Command) || len(t.a.gate.Needs(step.Device)) > 0 {
			return false
		}
		seen[step.Device] = true
	}
	return true
}

// abreast carries out steps that are apart, and returns what came of each.
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
	_ = g.Wait() // they are in results
	return results
}

// maxTold is of how many steps that have failed is told why. How each device fails is
// told by "messkit status".
const maxTold = 3

// stepErrors are why steps have failed.
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

// tooMany is how many things are listed where a count would do.
const tooMany = 6

// counted lists what was done or not, or says how much that is: all of it stands in the
// lists of the status.
func counted(words []string) string {
	if len(words) <= tooMany {
		return list(words)
	}
	return fmt.Sprintf("%d of them", len(words))
}
