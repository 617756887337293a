package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/agent/trial"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
)

func planCommand(a *output.Env) *cobra.Command {
	var file, lines string
	var requires, beside []string
	var asJSON bool
	c := &cobra.Command{
		Use:   `plan "REQUEST"`,
		Short: "Show what a request would do, and do nothing",
		Long: `Plan resolves a request with the devices of a configuration and explains how. It
starts no device and sends nothing. Without a configuration it asks the messkit that
runs here, with its devices, and where none runs it takes the simulated home; the
line "home" says which has answered. What is locked, disarmed and stopped, and how
often was acted lately, is read in the executor's data folder, whether or not it
runs; one that runs is asked whether the device is busy. Sensors are not asked. With --json and --file it does so for each
line of a file, and prints one JSON object a line.`,
		Example: `  messkit plan "turn on the porch light for ten minutes"
  messkit plan --json --file sentences.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch empty := strings.TrimSpace(strings.Join(args, " ")) == ""; {
			case lines != "" && (!asJSON || len(args) > 0):
				return output.Usagef(cmd, "--file is for --json, without a request beside it")
			case lines != "":
				return planLines(a, file, lines)
			case empty:
				return output.Usagef(cmd, "the request is empty; say what is wanted")
			}
			c, err := load(file, output.NoLog)
			if err != nil {
				return err
			}
			return runPlan(cmd.Context(), a, c, trial.Request{Intent: strings.Join(args, " "), Requires: requires, Context: beside}, asJSON)
		},
	}
	f := c.Flags()
	f.StringVarP(&file, "config", "c", "", "configuration file; without one: that of the messkit that runs here, or the simulated home")
	f.StringSliceVar(&requires, "requires", nil, "capabilities that the request names")
	f.StringArrayVar(&beside, "context", nil, "what is said beside the request; may be given more than once")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVarP(&lines, "file", "f", "", "with --json: plan each line of this file; - is the standard input")
	return c
}

// runPlan prints what a request would do, and whose devices have answered: those of
// the configuration, or where none was named those of the messkit that runs here.
func runPlan(ctx context.Context, a *output.Env, c *config, r trial.Request, asJSON bool) error {
	home, runs := planHome{Config: c.file, Executor: c.Agent.ID}, trial.Answer{}
	if c.file == "" {
		var err error
		runs, err = trial.Ask(ctx, c.Agent.Data, trial.Question{Plan: &r})
		switch {
		case err == nil && runs.Plan != nil:
			home = planHome{Running: true, Config: runs.Config, Executor: runs.Executor}
		case !errors.Is(err, trial.ErrNobody):
			home.Note = "the messkit that runs here did not answer: " + unasked(err, c.Agent.Data)
		default:
			home.Note = "no messkit runs here with the usual data folder"
		}
	}
	if !home.Running {
		plan, err := c.planned(ctx, r)
		if err != nil {
			return err
		}
		runs.Plan = &plan
	}
	if asJSON {
		var doc map[string]any
		if err := json.Unmarshal(runs.Plan.JSON, &doc); err != nil {
			return err
		}
		doc["home"] = home
		return a.JSON(doc)
	}
	p := output.Printer{Out: a.Out}
	p.Printf("%s%-13s %s\n", output.PrintableLines(runs.Plan.Text)+"\n", "home", output.Printable(home.String()))
	return p.Err
}

// planHome says whose devices a plan has.
type planHome struct {
	Running  bool   `json:"running"` // the messkit that runs here has planned
	Config   string `json:"config"`  // its file; "" for the simulated home
	Executor string `json:"executor"`
	Note     string `json:"note,omitempty"` // why the messkit that runs here has not
}

func (h planHome) String() string {
	devices := "the simulated home"
	if h.Config != "" {
		devices = h.Config
	}
	switch {
	case h.Running:
		return fmt.Sprintf("the messkit that runs here as %s, with %s", h.Executor, devices)
	case h.Note != "":
		return devices + "; " + h.Note
	}
	return devices
}

// planned is what a request would do with the devices of this configuration.
func (c *config) planned(ctx context.Context, r trial.Request) (trial.Plan, error) {
	req := mess.Request{Intent: r.Intent}
	for _, id := range r.Requires {
		req.Requires = append(req.Requires, mess.Capability{ID: id})
	}
	for _, text := range r.Context {
		req.Context = append(req.Context, mess.TextEntry(text))
	}
	out, v := c.foresee(req, func(h *agent.Home) capabilities.Outcome { return h.Resolve(req) })
	v.busy = c.busy(ctx, out.Plan)
	var text strings.Builder
	if err := explain(&text, out, v); err != nil {
		return trial.Plan{}, err
	}
	doc, err := json.Marshal(outcomeJSON(out, v))
	return trial.Plan{Text: text.String(), JSON: doc}, err
}

// explain prints an outcome. A request that has no plan is not a failure of
// the command: it has said why.
func explain(to io.Writer, out capabilities.Outcome, v ruling) error {
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
			line("not used", "of what was said: %s", strings.Join(plan.Unused, "; "))
		}
		if plan.Consequences != "" {
			line("consequences", "%s", plan.Consequences)
		}
		if v.refused == "" {
			line("first", "%s", v.first)
		}
		if v.off > 0 {
			line("then", "it is switched off again within %v", v.off)
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
		line("evidence", "%s, where the device can tell", output.InWords(how.Evidence))
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

// ruling is what the gate says of a plan now, in words.
type ruling struct {
	first   string        // who must confirm it, or why it is refused
	refused string        // why, "" if it is not
	needs   []string      // of other devices, which are looked at when it acts
	off     time.Duration // after which it is switched off again; 0: it is not

	busy map[string]string // devices that are at another task now, and its thread
}

// busyTime is how long the exchange may take to tell which devices are busy.
const busyTime = time.Second

// busy asks the messkit that runs on this configuration, if one does, which of
// the plan's devices are at another task.
func (c *config) busy(ctx context.Context, p *capabilities.Plan) map[string]string {
	if p == nil || c.Exchange == nil || !c.runs() {
		return nil
	}
	x, err := c.Exchange.asOperator()
	if err != nil {
		return nil // then nobody here may ask it
	}
	ctx, cancel := context.WithTimeout(ctx, busyTime)
	defer cancel()
	var s statusJSON
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

// foresee tells what a request would come to, and what the gate says of that. resolve
// makes the outcome with the devices that it is given.
func (c *config) foresee(req mess.Request, resolve func(*agent.Home) capabilities.Outcome) (capabilities.Outcome, ruling) {
	home := c.preview()
	out := resolve(home)
	switch {
	case out.Plan != nil:
		v := verdictOf(c.standing(), out.Plan)
		if err := c.Agent.unset(); err != nil && resolve(c.resolver()).Plan == nil { // a length of time needs no clock
			v.refused = fmt.Sprintf("the clock must be set for a time of the clock: %v", err)
			v.first = "refused: " + v.refused
		}
		return out, v
	case out.Question != nil:
		if no := agent.Barred(home, c.standing().Check, *out.Question, req); no != nil {
			return out, ruling{refused: no.Error()}
		}
	}
	return out, ruling{}
}

// standing is the gate with all that the executor's data folder tells of it.
func (c *config) standing() *gate.Gate {
	g := c.gate(output.NoLog)
	g.Keep(journal.Past(journalDir(c.Agent.Data)), c.home.names())
	for _, o := range stop.Read(stopFolder(c.Agent.Data)) {
		g.Stop(o.String())
	}
	return g
}

// verdictOf asks the gate.
func verdictOf(g *gate.Gate, p *capabilities.Plan) ruling {
	all := ruling{first: "nobody need confirm it"}
	for _, step := range p.Each() {
		v, err := g.Check(step)
		all.needs, all.off = append(all.needs, v.Needs...), max(all.off, v.OffIn())
		switch {
		case err != nil:
			all.refused = err.Error()
			all.first = "refused: " + all.refused
			return all
		case v.Confirm == gate.Operator:
			all.first = "a person (operator) must confirm it"
		case v.Confirm == gate.Requester && all.first == "nobody need confirm it":
			all.first = "the requester must confirm it"
		}
	}
	return all
}

// stepsJSON are the steps of a plan for scripts, none if it has none.
func stepsJSON(steps []capabilities.Plan) []map[string]any {
	list := make([]map[string]any, len(steps))
	for i, s := range steps {
		list[i] = map[string]any{"summary": s.Summary, "device": s.Device, "capability": s.Capability, "command": s.Command, "args": s.Args, "for": s.For.Seconds(), "after": s.After.Seconds(), "risk": s.Risk, "effect": s.Effect}
	}
	return list
}

// dateOf is a time for scripts, "" for none.
func dateOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

// outcomeJSON is an outcome for scripts; durations are in seconds.
func outcomeJSON(out capabilities.Outcome, v ruling) map[string]any {
	doc := map[string]any{"explain": map[string]any{
		"template": out.Explain.Template, "slots": out.Explain.Slots, "score": out.Explain.Score,
		"runner_up": out.Explain.RunnerUp, "left_over": out.Explain.Leftover,
	}}
	if p := out.Plan; p != nil {
		doc["plan"] = map[string]any{
			"summary": p.Summary, "device": p.Device, "capability": p.Capability, "command": p.Command, "evidence": out.Explain.Evidence, "args": p.Args,
			"risk": p.Risk, "effect": p.Effect, "for": p.For.Seconds(), "consequences": p.Consequences,
			"not_before": dateOf(p.NotBefore), "steps": stepsJSON(p.Steps), "reversible": p.Reversible, "confirm": v.first, "needs": v.needs, "busy": v.busy, "off_in": v.off.Seconds(), "digest": p.Digest(),
			"unused": append([]string{}, p.Unused...),
		}
	}
	switch q := out.Question; {
	case q != nil && v.refused != "":
		doc["refusal"] = map[string]any{"reason": v.refused, "nearest": []string(nil)}
	case q != nil:
		doc["question"] = map[string]any{"field": q.Field, "question": q.Text, "options": q.Options}
	}
	if r := out.Refusal; r != nil {
		doc["refusal"] = map[string]any{"reason": r.Reason, "nearest": r.Nearest}
	}
	return doc
}
