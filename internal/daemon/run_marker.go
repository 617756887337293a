package daemon

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
)

// markRunning records on the disk that the executor runs. Until the disk accepts the record,
// no device acts.
func markRunning(c *config.Config, e *executor, log *slog.Logger) {
	if err := e.outputs.local.Begin(); err != nil {
		log.Error("nothing acts: the disk does not accept the record that messkit runs", "err", err)
	}
	logLocalDecisions(e.outputs.local.Decisions(), log)
	if err := localpolicy.In(c.Agent.Data).RecordFact(localpolicy.FactConfirm, string(ConfirmBy(c))); err != nil {
		log.Error("messkit clear, arm and unlock may ask for another proof of a person than exchange: confirm: says", "err", err)
	}
	if at := c.ExchangeAt(); at != "" {
		if err := localpolicy.In(c.Agent.Data).RecordFact(localpolicy.FactExchange, at); err != nil {
			log.Warn("messkit cannot refuse a second system that shares the data folder", "err", err)
		}
	}
	e.outputs.runLocal.start(context.Background(), func(ctx context.Context) error { return followLocal(ctx, e.outputs.local, log) })
}

// ConfirmBy returns how a person proves to be one. An executor of an exchange on another
// machine has a terminal and no page.
func ConfirmBy(c *config.Config) exchange.ConfirmBy {
	if c.Exchange == nil {
		return exchange.ConfirmTerminal
	}
	return cmp.Or(c.Exchange.Confirm, exchange.ConfirmTerminal)
}

// decisionsCheckInterval is the time between two checks that the decisions of local operators are readable.
// Each action checks too.
const decisionsCheckInterval = time.Second

// followLocal logs when the decisions of local operators become unreadable, and when they are
// readable again, until ctx ends.
func followLocal(ctx context.Context, now *localpolicy.Run, log *slog.Logger) error {
	t := time.NewTicker(decisionsCheckInterval)
	defer t.Stop()
	was := localpolicy.BlockReason(now.Decisions())
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		switch is := localpolicy.BlockReason(now.Decisions()); {
		case is == was:
		case is != "":
			was = is
			log.Error("nothing acts any more: the lockouts are not readable; look, and then: messkit arm --reset", "err", is)
		default:
			was = is
			log.Warn("the lockouts are readable again")
		}
	}
}

// logLocalDecisions logs at the start the devices and risk classes that will not act.
func logLocalDecisions(l policy.LocalDecisions, log *slog.Logger) {
	if l.Unknown != "" {
		log.Error("nothing acts: the lockouts are not readable; look, and then: messkit arm --reset", "err", l.Unknown)
	}
	for _, class := range output.SortedKeys(l.Disarmed) {
		log.Warn("disarmed until a local operator has looked and runs messkit arm", "risk", class, "err", l.Disarmed[class])
	}
	for _, name := range output.SortedKeys(l.DisarmedDevices) {
		log.Warn("disarmed until a local operator has looked and runs messkit arm", "device", name, "err", l.DisarmedDevices[name])
	}
	for _, name := range output.SortedKeys(l.LockedOut) {
		log.Warn("locked until messkit unlock", "device", name, "err", l.LockedOut[name])
	}
}

// disarmForUnknown returns the function that disarms a risk class after an action with unknown outcome.
func (e *executor) disarmForUnknown(log *slog.Logger) func(string, capabilities.Plan) {
	return func(ref string, plan capabilities.Plan) {
		if err := e.outputs.local.DisarmForUnknown(ref, plan.Risk); err != nil {
			log.Error("disarmed until the program ends; the disk did not accept the record", "ref", ref, "err", err)
		}
	}
}
