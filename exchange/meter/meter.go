// Package meter counts what one process of an exchange does, and measures its store. All figures are
// since the start of the process. Several processes with one store count each step once together.
package meter

import (
	"context"
	"errors"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/metrics"
	"github.com/messkit/messkit/mess"
)

// Meter has the figures of an exchange. It is safe for concurrent use.
type Meter struct {
	created, claims, failedAppends metrics.Counter
	ended, refused                 *metrics.Set[string, metrics.Counter] // by status, by reason
	appends, untilClaim, untilEnd  *metrics.Histogram
	feed                           feed
}

// New makes a meter. It has every status with which a thread ends, so that a graph begins at 0.
func New() *Meter {
	newCounter := func() *metrics.Counter { return &metrics.Counter{} }
	m := &Meter{
		ended: metrics.NewSet[string](newCounter), refused: metrics.NewSet[string](newCounter),
		appends: metrics.NewHistogram(metrics.Calls), untilClaim: metrics.NewHistogram(metrics.Tasks), untilEnd: metrics.NewHistogram(metrics.Tasks),
	}
	for _, code := range []mess.Code{mess.Completed, mess.Partial, mess.Failed, mess.Declined, mess.Expired, mess.Cancelled} {
		m.ended.Of(string(code))
	}
	return m
}

// Created counts a new thread.
func (m *Meter) Created() { m.created.Inc() }

// Step counts what a stored step has changed: a claim, or the end of a thread.
func (m *Meter) Step(before, after *thread.Envelope) {
	took := after.Updated.Sub(after.Created)
	if after.Epoch > before.Epoch {
		m.claims.Inc()
		if after.Epoch == 1 {
			m.untilClaim.Observe(took)
		}
	}
	if after.Status.Terminal() && !before.Status.Terminal() {
		m.ended.Of(string(after.Status)).Inc()
		m.untilEnd.Observe(took)
	}
}

// Refused counts a message, or a part of one, that the exchange has rejected with err. A nil error
// counts nothing.
func (m *Meter) Refused(err error) {
	if err == nil {
		return
	}
	reason := "other"
	if e, ok := errors.AsType[*mess.Error](err); ok {
		reason = string(e.Code)
	}
	m.refused.Of(reason).Inc()
}

// Append measures an append of a step, which store makes, and returns its error. The error counts as a
// failure unless the step was impossible.
func (m *Meter) Append(e *thread.Envelope, store func() error) error {
	began, p := time.Now(), m.feed.begin(e)
	err := store()
	m.appends.Observe(time.Since(began))
	m.feed.stored(p, err)
	_, taken := errors.AsType[*thread.TakenError](err)
	switch {
	case err == nil || taken || errors.Is(err, context.Canceled):
	case errors.Is(err, thread.ErrStale) || errors.Is(err, thread.ErrNoBlob) || errors.Is(err, thread.ErrNoThread):
	default:
		m.failedAppends.Inc()
	}
	return err
}

// Write writes the figures.
func (m *Meter) Write(t *metrics.Text) {
	t.Counter("messkit_requests_created_total", "Requests for which this process has made a thread.", &m.created)
	t.Counter("messkit_claims_total", "Claims of threads that this process has accepted.", &m.claims)
	writeEach(t, "messkit_threads_ended_total", "Threads that this process has ended, by status.", "status", m.ended)
	writeEach(t, "messkit_messages_refused_total", "Messages and parts of messages that this process has rejected, by reason.", "reason", m.refused)
	t.Histograms("messkit_claim_wait_seconds", "Time from the creation of a thread to its first claim.")
	t.Histogram(m.untilClaim)
	t.Histograms("messkit_thread_duration_seconds", "Time from the creation of a thread to its end.")
	t.Histogram(m.untilEnd)
	t.Histograms("messkit_store_append_duration_seconds", "Time in which the store has taken or refused a step.")
	t.Histogram(m.appends)
	t.Counter("messkit_store_append_failures_total", "Steps that the store could not write.", &m.failedAppends)
	t.Gauge("messkit_feed_lag_seconds", "Time after which the feed of the store delivers a step of this process, or since when it has not.", m.FeedLag().Seconds())
}

// writeEach writes a family of counters with one label.
func writeEach(t *metrics.Text, name, help, label string, of *metrics.Set[string, metrics.Counter]) {
	t.Counters(name, help)
	of.Each(func(value string, c *metrics.Counter) { t.Sample(float64(c.Value()), label, value) })
}
