package daemon

import (
	"fmt"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/mess"
)

// policyResult is what the gate says of a plan now, in words.
type policyResult struct {
	first   string        // who must confirm it, or why it is refused
	refused string        // why, "" if it is not
	needs   []string      // of other devices, which are looked at when it acts
	off     time.Duration // after which it is switched off again; 0: it is not

	busy map[string]string // devices that are at another task now, and its thread
}

// dryRun tells what a request would come to, and what the gate says of that. resolve
// makes the outcome with the devices that it is given.
func dryRun(c *config.Config, req mess.Request, resolve func(*agent.Home) capabilities.Outcome) (capabilities.Outcome, policyResult) {
	home := PreviewResolver(c)
	out := resolve(home)
	switch {
	case out.Plan != nil:
		v := policyVerdict(currentPolicy(c), out.Plan)
		if err := c.Agent.Unset(); err != nil && resolve(newResolver(c)).Plan == nil { // a length of time needs no clock
			v.refused = fmt.Sprintf("the clock must be set for a time of the clock: %v", err)
			v.first = "refused: " + v.refused
		}
		return out, v
	case out.Question != nil:
		if no := agent.Barred(home, currentPolicy(c).Check, *out.Question, req); no != nil {
			return out, policyResult{refused: no.Error()}
		}
	}
	return out, policyResult{}
}

// currentPolicy is the gate with all that the executor's data folder tells of it.
func currentPolicy(c *config.Config) *policy.Policy {
	g := NewPolicy(c, output.NoLog)
	g.UseLedger(journal.ReadOnlyLedger(config.JournalDir(c.Agent.Data)), c.Opened.Names())
	for _, o := range stop.ReadOrders(config.StopFolder(c.Agent.Data)) {
		g.Stop(o.String())
	}
	return g
}

// policyVerdict asks the gate.
func policyVerdict(g *policy.Policy, p *capabilities.Plan) policyResult {
	all := policyResult{first: "nobody need confirm it"}
	for _, step := range p.Each() {
		v, err := g.Check(step)
		all.needs, all.off = append(all.needs, v.Conditions...), max(all.off, v.OffIn())
		switch {
		case err != nil:
			all.refused = err.Error()
			all.first = "refused: " + all.refused
			return all
		case v.Confirm == policy.ConfirmOperator:
			all.first = "a person (operator) must confirm it"
		case v.Confirm == policy.ConfirmRequester && all.first == "nobody need confirm it":
			all.first = "the requester must confirm it"
		}
	}
	return all
}
