package device

import (
	"context"
	"reflect"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/session"
	"github.com/messkit/messkit/mess"
)

// Limits of the reported failures: the node itself shows more.
const (
	maxFailing       = 32
	maxFailingReason = 240 // bytes of each reason
)

// Failing returns the devices whose last use failed, by name.
func (s *Set) Failing() []any {
	var all []mess.Failing
	for d := range s.All() {
		f := d.LastFailure(s.Gate)
		if f.Reason == "" || len(all) == maxFailing {
			continue
		}
		reason := strings.ToValidUTF8(f.Reason[:min(len(f.Reason), maxFailingReason)], "")
		all = append(all, mess.Failing{Device: d.Name, At: f.At, Reason: reason})
	}
	return mess.FailingItems(all)
}

// ReportFailing reports the failing devices to the exchange at each change, until ctx ends. The
// next change or heartbeat repeats a failed report.
func (s *Set) ReportFailing(ctx context.Context, x *session.Session, reported []any) error {
	t := time.NewTicker(x.Config.Heartbeat)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.failures:
		case <-t.C:
		}
		now := s.Failing()
		if reflect.DeepEqual(now, reported) {
			continue
		}
		m := mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{ID: x.Config.ID, Extra: mess.Object{{Key: mess.FailingField, Value: now}}}}}}
		if _, err := x.Send(ctx, m); err != nil {
			s.log.Debug("the exchange has not received the failing devices", "err", err)
			continue
		}
		reported = now
	}
}
