// Package task works on the threads of an executor: it takes an offer, makes a plan, asks what is
// open, acts by the safety policy, and reports. It also ends the threads that an earlier run of
// the program has left, and holds the reports until the exchange has them.
//
// The package knows neither heartbeats nor drains nor the state of the journal: the executor
// around it implements Host.
package task

import (
	"context"
	"log/slog"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/agent/session"
)

// Deps is what the tasks of an executor work with. It does not change.
type Deps struct {
	Config   runtime.Config
	Session  *session.Session
	Resolver runtime.Resolver
	Devices  *device.Set
	Activity *device.Activity
	Gate     *policy.Policy
	Journal  *journal.Journal
	Now      func() time.Time
	Log      *slog.Logger
	Host     Host
}

// Host is what a task asks of the executor around it.
type Host interface {
	// IsDrained reports whether a drain forbids new claims.
	IsDrained() bool
	// WaitUndrained waits until no drain forbids new claims, or until ctx ends.
	WaitUndrained(ctx context.Context) error
	// JournalFailed reports that the journal has rejected a record.
	JournalFailed()
}
