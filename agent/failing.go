package agent

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
)

// Limits of the reported failures: the node itself shows more.
const (
	maxFailing    = 32
	maxFailingWhy = 240 // bytes of each reason
)

// failing returns the devices whose last use failed, by name.
func (a *Agent) failing() []any {
	var all []mess.Failing
	for _, name := range slices.Sorted(maps.Keys(a.devices)) {
		f := a.devices[name].lastly(a.gate)
		if f.Why == "" || len(all) == maxFailing {
			continue
		}
		why := strings.ToValidUTF8(f.Why[:min(len(f.Why), maxFailingWhy)], "")
		all = append(all, mess.Failing{Device: name, At: f.At, Why: why})
	}
	return mess.FailingItems(all)
}

// tellFailing reports the failing devices to the exchange at each change, until ctx ends. The
// next change or heartbeat repeats a failed report.
func (a *Agent) tellFailing(ctx context.Context, told []any) error {
	t := time.NewTicker(a.cfg.Heartbeat)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.wrong:
		case <-t.C:
		}
		now := a.failing()
		if reflect.DeepEqual(now, told) {
			continue
		}
		m := mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{ID: a.cfg.ID, Extra: mess.Object{{Key: mess.FailingField, Value: now}}}}}}
		if _, err := a.send(ctx, m); err != nil {
			a.log.Debug("which devices fail is not told", "err", err)
			continue
		}
		told = now
	}
}
