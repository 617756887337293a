// Package mistake recovers from a panic in the work on one message. Otherwise the sender of
// such a message could stop the whole process.
package mistake

import (
	"log/slog"
	"runtime/debug"
)

// Caught recovers from a panic and logs it. Defer it in the work on one message from outside;
// the caller drops the message.
func Caught(log *slog.Logger, attrs ...any) {
	if p := recover(); p != nil {
		log.Error("mistake in the program; messkit drops one message", append(attrs, "err", p, "stack", string(debug.Stack()))...)
	}
}
