// Package inspect answers the questions of a person on this machine about an executor: which plan it
// would make of a request, and whether its devices work. It carries out no plan.
package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/resolver"
	"github.com/messkit/messkit/agent/selftest"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon/status"
	"github.com/messkit/messkit/mess"
)

// Plan returns the plan of a request for the devices of this configuration.
func Plan(ctx context.Context, c *config.Config, r selftest.Request) (selftest.Plan, error) {
	req := mess.Request{Intent: r.Intent}
	for _, id := range r.Requires {
		req.Requires = append(req.Requires, mess.Capability{ID: id})
	}
	for _, text := range r.Context {
		req.Context = append(req.Context, mess.TextEntry(text))
	}
	out, v := dryRun(c, req, func(h *resolver.Resolver) capabilities.Outcome { return h.Resolve(req) })
	v.busy = busyDevices(ctx, c, out.Plan)
	var text strings.Builder
	if err := explain(&text, out, v); err != nil {
		return selftest.Plan{}, err
	}
	doc, err := json.Marshal(outcomeJSON(c, out, v))
	return selftest.Plan{Text: text.String(), JSON: doc}, err
}

// explain prints an outcome. A request without a plan is no error: the output has the
// reason.
func explain(to io.Writer, out capabilities.Outcome, v policyResult) error {
	p := output.Printer{Out: to}
	line := func(name, format string, args ...any) {
		p.Printf("%-13s %s\n", name, output.Printable(fmt.Sprintf(format, args...)))
	}
	switch {
	case out.Plan != nil:
		plan := out.Plan
		if v.refused != "" {
			line("would refuse", "%s", v.refused)
			line("to", "%s", plan.Summary)
		} else {
			line("would", "%s", plan.Summary)
		}
		line("device", "%s", plan.Device)
		line("capability", "%s", plan.Capability)
		for _, arg := range plan.Args {
			line("  "+arg.Key, "%v", arg.Value)
		}
		line("risk", "%s, %s", plan.Risk, effects[plan.Effect])
		if plan.For > 0 {
			line("for", "%v", plan.For)
		}
		if !plan.NotBefore.IsZero() {
			line("not before", "%s", plan.NotBefore.Format(time.RFC1123))
		}
		for i, step := range plan.Steps {
			line(fmt.Sprintf("  step %d", i+1), "%s", step.Summary)
		}
		if len(plan.Unused) > 0 {
			line("not used", "words: %s", strings.Join(plan.Unused, "; "))
		}
		if plan.Consequences != "" {
			line("consequences", "%s", plan.Consequences)
		}
		if v.refused == "" {
			line("first", "%s", v.first())
		}
		if v.off > 0 {
			line("then", "messkit switches it off within %v", v.off)
		}
		for _, need := range v.needs {
			line("needs", "%s", need)
		}
		for _, device := range slices.Sorted(maps.Keys(v.busy)) {
			line("now", "%s is at another task, %s", device, v.busy[device])
		}
		line("digest", "%s", plan.Digest())
	case out.Question != nil && v.refused != "":
		line("would refuse", "%s", v.refused)
	case out.Question != nil:
		line("would ask", "%s", out.Question.Text)
		line("options", "%s", strings.Join(out.Question.Options, " | "))
	case out.Refusal != nil:
		line("would refuse", "%s", out.Refusal.Reason)
		if len(out.Refusal.Nearest) > 0 {
			line("nearest", "%s", strings.Join(out.Refusal.Nearest, ", "))
		}
	}
	how := out.Explain
	if how.Evidence != "" && out.Plan != nil {
		line("evidence", "%s, if the device reports its state", output.WithSpaces(how.Evidence))
	}
	if how.Template != "" {
		line("template", "%s", how.Template)
	}
	for _, slot := range slices.Sorted(maps.Keys(how.Slots)) {
		line("  "+slot, "%s", how.Slots[slot])
	}
	if how.Score > 0 {
		line("score", "%.2f", how.Score)
	}
	if how.RunnerUp != "" {
		line("runner-up", "%s", how.RunnerUp)
	}
	if len(how.Leftover) > 0 {
		line("left over", "%s", strings.Join(how.Leftover, " "))
	}
	return p.Err
}

var effects = map[capabilities.Effect]string{
	capabilities.Query:      "only looks",
	capabilities.Idempotent: "twice is as once",
	capabilities.Once:       "must not happen twice",
}

// busyTime is the longest time for the exchange to report the busy devices.
const busyTime = time.Second

// busyDevices asks the messkit that runs with this configuration, if any, which devices of
// the plan work on another task.
func busyDevices(ctx context.Context, c *config.Config, p *capabilities.Plan) map[string]string {
	if p == nil || c.Exchange == nil || !IsRunning(c) {
		return nil
	}
	x, err := c.Exchange.AsOperator()
	if err != nil {
		return nil // this user has no key for it
	}
	ctx, cancel := context.WithTimeout(ctx, busyTime)
	defer cancel()
	var s status.Document
	if x.Status(ctx, &s) != nil || s.Executor == nil {
		return nil
	}
	at := map[string]string{}
	for _, d := range s.Executor.Devices {
		for _, step := range p.Each() {
			if d.Task != "" && step.Device == d.Name {
				at[d.Name] = d.Task
			}
		}
	}
	return at
}
