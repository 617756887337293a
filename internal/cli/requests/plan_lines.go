package requests

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/internal/daemon/inspect"
	"github.com/messkit/messkit/mess"
)

// Planned is the outcome of one line of a file, for scripts. Keys of questions and of several
// steps may be absent; all others are always present.
type Planned struct {
	Text          string `json:"text"`
	Outcome       string `json:"outcome"` // plan, question or refusal
	PlannedAction        // of several steps: the highest risk, and the common parameters
	// Steps has the steps in order, if there are several.
	Steps    []PlannedAction `json:"steps,omitempty"`
	Options  []string        `json:"options,omitempty"`
	Leftover []string        `json:"leftover"` // unrecognized words
}

// PlannedAction is one step.
type PlannedAction struct {
	Capability string      `json:"capability"`
	Device     string      `json:"device"`     // of several steps, all, with commas
	Parameters mess.Object `json:"parameters"` // with times: for and after in seconds, not_before as a date
	Risk       string      `json:"risk"`
	Actuates   bool        `json:"actuates"` // it would change something in the physical world
	Reason     string      `json:"reason"`   // the plan, the question, or the reason of a refusal
}

// planLines plans each line of a file, and prints one JSON object a line.
func planLines(a *output.Env, config, name string) error {
	c, err := daemon.LoadConfig(config, output.NoLog)
	if err != nil {
		return err
	}
	in := a.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	return planAll(c.PreviewResolver().Now(), in, a.Out)
}

// maxLine bounds one line, in bytes; a request is far shorter.
const maxLine = 1 << 20

func planAll(r *interpret.Interpreter, in io.Reader, out io.Writer) error {
	enc := json.NewEncoder(output.EscapedJSON{To: out})
	enc.SetEscapeHTML(false)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		text := strings.TrimSuffix(lines.Text(), "\r")
		if err := enc.Encode(PlannedOf(text, r.Resolve(mess.Request{Intent: text}))); err != nil {
			return err
		}
	}
	return lines.Err()
}

// PlannedOf returns an outcome as a Planned.
func PlannedOf(text string, out capabilities.Outcome) Planned {
	p := Planned{Text: text, Outcome: "refusal", PlannedAction: PlannedAction{Capability: out.Explain.Capability, Parameters: mess.Object{}}, Leftover: append([]string{}, out.Explain.Leftover...)}
	switch {
	case out.Plan != nil:
		p.Outcome, p.PlannedAction, p.Steps = "plan", plannedAction(*out.Plan), plannedActions(out.Plan.Steps)
		if len(p.Steps) > 0 {
			p.Parameters = append(shared(p.Steps), p.Parameters...)
		}
	case out.Question != nil:
		p.Outcome, p.Reason, p.Options = "question", out.Question.Text, out.Question.Options
	case out.Refusal != nil:
		p.Reason = out.Refusal.Reason
	}
	return p
}

// plannedActions returns the steps of a plan for scripts.
func plannedActions(steps []capabilities.Plan) []PlannedAction {
	var list []PlannedAction
	for _, s := range steps {
		list = append(list, plannedAction(s))
	}
	return list
}

// plannedAction returns a plan, or a step of one, as a PlannedAction.
func plannedAction(p capabilities.Plan) PlannedAction {
	d := PlannedAction{Capability: p.Capability, Device: p.Device, Parameters: append(mess.Object{}, p.Args...), Risk: string(p.Risk), Actuates: p.Actuates(), Reason: p.Summary}
	if p.For > 0 {
		d.Parameters = d.Parameters.Set("for", p.For.Seconds())
	}
	if p.After > 0 {
		d.Parameters = d.Parameters.Set("after", p.After.Seconds())
	}
	if begin := inspect.DateOf(p.NotBefore); begin != "" {
		d.Parameters = d.Parameters.Set("not_before", begin)
	}
	return d
}

// shared returns the parameters that all steps have with the same value.
func shared(steps []PlannedAction) mess.Object {
	same := mess.Object{}
	for _, f := range steps[0].Parameters {
		if !slices.ContainsFunc(steps, func(d PlannedAction) bool {
			v, has := d.Parameters.Get(f.Key)
			return !has || !reflect.DeepEqual(v, f.Value)
		}) {
			same = append(same, f)
		}
	}
	return same
}
