//go:build !unix

package watchdog

import (
	"log/slog"

	"github.com/messkit/messkit/agent/watchdog"
)

// Handover does nothing: this system has no watchdog.
type Handover struct{}

// TakeOver does nothing: this system has no watchdog.
func TakeOver(string, *watchdog.Watchdog, *slog.Logger) Handover { return Handover{} }

// WriteRemaining does nothing: this system has no watchdog.
func (Handover) WriteRemaining([]watchdog.RemainingDevice) error { return nil }
