//go:build !unix

package watchdog

import (
	"log/slog"

	"github.com/messkit/messkit/agent/guard"
)

// Handover is of no use without a guard.
type Handover struct{}

// TakeOver does nothing: this system has no watchdog.
func TakeOver(string, *guard.Guard, *slog.Logger) Handover { return Handover{} }

// Leave does nothing: this system has no watchdog.
func (Handover) Leave([]guard.Left) error { return nil }
