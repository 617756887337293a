package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// planned is what became of one line of a file, for scripts. All keys are
// always there.
type planned struct {
	Text       string           `json:"text"`
	Outcome    string           `json:"outcome"` // plan, question or refusal
	Capability string           `json:"capability"`
	Device     string           `json:"device"`     // of several steps, all, with commas
	Parameters mess.Object      `json:"parameters"` // with those that hold the plan to a time, in seconds or as a date
	Risk       string           `json:"risk"`
	Actuates   bool             `json:"actuates"` // the plan would change the world
	Reason     string           `json:"reason"`   // the question, or why there is no plan
	Options    []string         `json:"options,omitempty"`
	Steps      []map[string]any `json:"steps,omitempty"`
	Leftover   []string         `json:"leftover"` // words that nobody has understood
}

// planLines plans each line of a file, and prints one JSON object a line.
func (a *app) planLines(config, name string) error {
	c, err := load(config, quiet)
	if err != nil {
		return err
	}
	in := a.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	out := bufio.NewWriter(a.out)
	if err := planAll(c.preview().Now(), in, out); err != nil {
		return err
	}
	return out.Flush()
}

// maxLine bounds one line, in bytes; a request is far shorter.
const maxLine = 1 << 20

func planAll(r *capabilities.Resolver, in io.Reader, out io.Writer) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		text := strings.TrimSuffix(lines.Text(), "\r")
		if err := enc.Encode(plannedOf(text, r.Resolve(mess.Request{Intent: text}))); err != nil {
			return err
		}
	}
	return lines.Err()
}

// plannedOf is an outcome in one line.
func plannedOf(text string, out capabilities.Outcome) planned {
	p := planned{Text: text, Capability: out.Explain.Capability, Parameters: mess.Object{}, Leftover: append([]string{}, out.Explain.Leftover...)}
	switch {
	case out.Plan != nil:
		plan := out.Plan
		p.Outcome, p.Capability, p.Device, p.Risk, p.Actuates = "plan", plan.Capability, plan.Device, string(plan.Risk), plan.Actuates()
		for _, step := range plan.Each() { // of several the same, or the last
			for _, arg := range step.Args {
				p.Parameters = p.Parameters.Set(arg.Key, arg.Value)
			}
			if step.For > 0 {
				p.Parameters = p.Parameters.Set("for", step.For.Seconds())
			}
		}
		if begin := dateOf(plan.NotBefore); begin != "" {
			p.Parameters = p.Parameters.Set("not_before", begin)
		}
		p.Steps = stepsJSON(plan.Steps)
		p.Reason = plan.Summary
	case out.Question != nil:
		p.Outcome, p.Reason, p.Options = "question", out.Question.Text, out.Question.Options
	case out.Refusal != nil:
		p.Outcome, p.Reason = "refusal", out.Refusal.Reason
	}
	p.Outcome = cmp.Or(p.Outcome, "refusal")
	return p
}
