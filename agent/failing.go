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

// failingKey is the field of config.executor that names the devices whose last use
// has failed (ours): [{device, at, why}], for those who run the place.
const failingKey = "failing"

// How much is told of devices that fail: more is known at the board itself.
const (
	maxFailing    = 32
	maxFailingWhy = 240 // bytes of each reason
)

// failing are the devices whose last use has failed, by name.
func (a *Agent) failing() []any {
	list := []any{}
	for _, name := range slices.Sorted(maps.Keys(a.devices)) {
		f := a.devices[name].lastly()
		if f.Why == "" || len(list) == maxFailing {
			continue
		}
		why := strings.ToValidUTF8(f.Why[:min(len(f.Why), maxFailingWhy)], "")
		list = append(list, mess.Object{{Key: "device", Value: name}, {Key: "at", Value: f.At.UTC().Format(time.RFC3339)}, {Key: "why", Value: why}})
	}
	return list
}

// tellFailing tells the exchange which devices fail, as often as that changes,
// until ctx ends. What does not arrive is told with the next change or heartbeat.
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
		m := mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{ID: a.cfg.ID, Extra: mess.Object{{Key: failingKey, Value: now}}}}}}
		if _, err := a.send(ctx, m); err != nil {
			a.log.Debug("which devices fail is not told", "err", err)
			continue
		}
		told = now
	}
}
