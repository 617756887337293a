// Package spans makes spans of OpenTelemetry from the steps of threads. All nodes and executors compute
// the same ids, so that a trace has one form whichever of them records a part of it.
package spans

import (
	"fmt"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/otlp"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/traceparent"
)

// Recorder records the steps of an exchange.
type Recorder struct {
	To  *otlp.Exporter
	Now func() time.Time
}

// Step records what a stored step has ended: before is nil for a new thread. It never waits.
//
// The spans are:
//
//	create    from the arrival of the request until the store has it
//	offer     until an executor has claimed it
//	claim     from there until the exchange permits the start
//	act       from there to the last report
//	end       until the store has this report
//	request   all of it; the parent of the others
func (r Recorder) Step(before, after *thread.Envelope) {
	c, ok := traceparent.Parse(after.Trace)
	if !ok || !c.Sampled {
		return
	}
	t := one{r, c, after}
	if before == nil {
		t.record("create", after.Created, r.Now(), "")
		return
	}
	if after.Epoch > before.Epoch {
		t.record("offer", last(before, mess.Pending, after.Created), after.Updated, "")
	}
	if before.Phase == thread.NotStarted && after.Phase == thread.Started {
		t.record("claim", last(after, mess.Claimed, after.Created), after.Updated, "")
	}
	if !after.Status.Terminal() || before.Status.Terminal() {
		return
	}
	failed := ""
	if after.Status != mess.Completed {
		failed = string(after.Status)
	}
	if before.Phase == thread.Started {
		t.record("act", last(before, mess.InProgress, after.Created), after.Updated, failed)
	}
	t.record("end", after.Updated, r.Now(), "")
	t.record("request", after.Created, r.Now(), failed)
}

// one is a step of one thread.
type one struct {
	Recorder
	c traceparent.Context
	e *thread.Envelope
}

func (t one) record(name string, begin, end time.Time, failed string) {
	s := otlp.Span{Trace: t.c.Trace, Name: name, Begin: begin, End: end, Failed: failed, Attributes: []otlp.Attribute{
		{Key: "messkit.ref", Value: t.e.Ref}, {Key: "messkit.status", Value: string(t.e.Status)},
	}}
	root, parent := traceparent.Root(t.c, t.e.Ref)
	if s.ID, s.Parent = root, parent; name != "request" {
		s.ID, s.Parent = traceparent.SpanID(t.c, fmt.Sprint(name, " ", t.e.Ref, " ", t.e.Epoch)), root
	}
	t.To.Record(s)
}

// last returns the last time of a status in the history of a thread, or a default.
func last(e *thread.Envelope, status mess.Code, otherwise time.Time) time.Time {
	for i := len(e.History) - 1; i >= 0; i-- {
		if e.History[i].Action == string(status) {
			return e.History[i].At
		}
	}
	return otherwise
}

// Work is the work of an executor for one thread.
type Work struct {
	Ref, Trace         string // of the thread, and its trace context or ""
	Device, Capability string
	Began, Ended       time.Time
	Status             mess.Code // that the executor reports
}

// Act records the work of an executor for a thread with a trace context. It never waits.
func Act(to *otlp.Exporter, w Work) {
	c, ok := traceparent.Parse(w.Trace)
	if !ok || !c.Sampled {
		return
	}
	root, _ := traceparent.Root(c, w.Ref)
	s := otlp.Span{Trace: c.Trace, Parent: root, ID: traceparent.SpanID(c, fmt.Sprint("device ", w.Ref, " ", w.Began.UnixNano())), Name: "device", Begin: w.Began, End: w.Ended}
	for _, a := range []otlp.Attribute{{Key: "messkit.ref", Value: w.Ref}, {Key: "messkit.status", Value: string(w.Status)}, {Key: "messkit.device", Value: w.Device}, {Key: "messkit.capability", Value: w.Capability}} {
		if a.Value != "" {
			s.Attributes = append(s.Attributes, a)
		}
	}
	if w.Status != mess.Completed {
		s.Failed = string(w.Status)
	}
	to.Record(s)
}
