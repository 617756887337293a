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

// markRunning notes that the executor runs. Where the disk does not take it nothing acts until
// it does.
func markRunning(c *config.Config, e *executor, log *slog.Logger) {
	if err := e.outputs.now.Begin(); err != nil {
		log.Error("nothing acts: it cannot be written down that messkit runs", "err", err)
	}
	tellLocal(e.outputs.now.Decisions(), log)
	if err := localpolicy.In(c.Agent.Data).RecordFact(localpolicy.FactConfirm, string(ConfirmBy(c))); err != nil {
		log.Error("messkit clear, arm and unlock may ask for another proof of a person than exchange: confirm: says", "err", err)
	}
	if at := c.ExchangeAt(); at != "" {
		if err := localpolicy.In(c.Agent.Data).RecordFact(localpolicy.FactExchange, at); err != nil {
			log.Warn("messkit cannot refuse a second system that shares the data folder", "err", err)
		}
	}
	e.outputs.people.start(context.Background(), func(ctx context.Context) error { return followLocal(ctx, e.outputs.now, log) })
}

// ConfirmBy is how a person proves to be one here. An executor of an exchange elsewhere
// has a terminal, and no page.
func ConfirmBy(c *config.Config) exchange.ConfirmBy {
	if c.Exchange == nil {
		return exchange.ConfirmTerminal
	}
	return cmp.Or(c.Exchange.Confirm, exchange.ConfirmTerminal)
}

// lookAtLocal is how often it is looked whether it is known what people have
// decided; each act looks as well.
const lookAtLocal = time.Second

// followLocal says when nobody knows any more what is locked, and when it is
// known again, until ctx ends.
func followLocal(ctx context.Context, now *localpolicy.Run, log *slog.Logger) error {
	t := time.NewTicker(lookAtLocal)
	defer t.Stop()
	was := UnknownLocal(now.Decisions())
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		switch is := UnknownLocal(now.Decisions()); {
		case is == was:
		case is != "":
			was = is
			log.Error("nothing acts any more: nobody knows what is locked; look, and then: messkit arm --reset", "err", is)
		default:
			was = is
			log.Warn("it is known again what is locked")
		}
	}
}

// UnknownLocal is why nothing acts whatever it is, "" if it may.
func UnknownLocal(l policy.LocalDecisions) string { return cmp.Or(l.Unknown, l.Blocked) }

// tellLocal says at the start what will not act.
func tellLocal(l policy.LocalDecisions, log *slog.Logger) {
	if l.Unknown != "" {
		log.Error("nobody knows what is locked, so nothing acts; look, and then: messkit arm --reset", "err", l.Unknown)
	}
	for _, class := range output.SortedKeys(l.Disarmed) {
		log.Warn("disarmed until somebody has looked and says messkit arm", "risk", class, "err", l.Disarmed[class])
	}
	for _, name := range output.SortedKeys(l.DisarmedDevices) {
		log.Warn("disarmed until somebody has looked and says messkit arm", "device", name, "err", l.DisarmedDevices[name])
	}
	for _, name := range output.SortedKeys(l.LockedOut) {
		log.Warn("locked until messkit unlock", "device", name, "err", l.LockedOut[name])
	}
}

// unknown disarms where nobody knows what was done.
func (e *executor) unknown(log *slog.Logger) func(string, capabilities.Plan) {
	return func(ref string, plan capabilities.Plan) {
		if err := e.outputs.now.DisarmForUnknown(ref, plan.Risk); err != nil {
			log.Error("disarmed until the program ends, but that is not written down", "ref", ref, "err", err)
		}
	}
}
