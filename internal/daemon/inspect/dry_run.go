package inspect

import (
	"cmp"
	"fmt"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/agent/resolver"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/agent/task"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/mess"
)

// policyResult is the decision of the safety policy on a plan, for people.
type policyResult struct {
	confirm settings.Confirm // who must confirm it
	refused string           // the reason of a refusal, ""
	needs   []string         // conditions on other devices, which the policy reads at the start
	off     time.Duration    // time until the automatic switch-off; 0: none

	busy map[string]string // thread of the present task, by device
}

// confirmBy names who must confirm a plan, for scripts: none, requester, operator, or refused.
func (v policyResult) confirmBy() string {
	if v.refused != "" {
		return "refused"
	}
	return cmp.Or(string(v.confirm), "none")
}

// first returns the confirmation that a plan needs, or the reason of a refusal.
func (v policyResult) first() string {
	return map[string]string{
		"none": "no person need confirm it", "requester": "the requester must confirm it",
		"operator": "a person (operator) must confirm it", "refused": "refused: " + v.refused,
	}[v.confirmBy()]
}

// Preview returns the outcome of a request and the decision of the safety policy, for scripts. resolve
// makes the outcome with a resolver.
func Preview(c *config.Config, req mess.Request, resolve func(*resolver.Resolver) capabilities.Outcome) map[string]any {
	out, v := dryRun(c, req, resolve)
	return outcomeJSON(c, out, v)
}

// dryRun returns the outcome of a request and the decision of the safety policy. resolve
// makes the outcome with a resolver.
func dryRun(c *config.Config, req mess.Request, resolve func(*resolver.Resolver) capabilities.Outcome) (capabilities.Outcome, policyResult) {
	home := c.PreviewResolver()
	out := resolve(home)
	switch {
	case out.Plan != nil:
		v := checkPolicy(currentPolicy(c), out.Plan)
		if err := c.Agent.Unset(); err != nil && resolve(c.Resolver()).Plan == nil { // a duration needs no clock
			v.refused = fmt.Sprintf("a time of day needs a set clock: %v", err)
		}
		return out, v
	case out.Question != nil:
		if no := task.Unanswerable(home, currentPolicy(c).Check, *out.Question, req); no != nil {
			return out, policyResult{refused: no.Error()}
		}
	}
	return out, policyResult{}
}

// currentPolicy returns the safety policy with the state in the executor's data folder.
func currentPolicy(c *config.Config) *policy.Policy {
	g := c.NewPolicy(output.NoLog)
	g.UseLedger(journal.ReadOnlyLedger(config.JournalDir(c.Agent.Data)), c.Opened.Names())
	for _, o := range stop.ReadOrders(config.StopFolder(c.Agent.Data)) {
		g.Stop(o.String())
	}
	return g
}

// checkPolicy asks the safety policy.
func checkPolicy(g *policy.Policy, p *capabilities.Plan) policyResult {
	var all policyResult
	for _, step := range p.Each() {
		v, err := g.Check(step)
		all.needs, all.off = append(all.needs, v.Conditions...), max(all.off, v.OffIn())
		switch {
		case err != nil:
			all.refused = err.Error()
			return all
		case v.Confirm == settings.ConfirmOperator:
			all.confirm = settings.ConfirmOperator
		case v.Confirm == settings.ConfirmRequester && all.confirm == "":
			all.confirm = settings.ConfirmRequester
		}
	}
	return all
}
