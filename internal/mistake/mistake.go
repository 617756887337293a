// Package mistake keeps one message that this program cannot bear from ending the
// process: whoever sent it would otherwise stop everything here.
package mistake

import (
	"log/slog"
	"runtime/debug"
)

// Caught is deferred around the work on one message of somebody else. It turns a panic
// into a line of the log, and the message is dropped.
func Caught(log *slog.Logger, attrs ...any) {
	if p := recover(); p != nil {
		log.Error("mistake in the program; one message is dropped", append(attrs, "err", p, "stack", string(debug.Stack()))...)
	}
}
