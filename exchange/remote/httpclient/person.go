package httpclient

import (
	"context"
	"os"
	"strconv"
)

// terminalHeader is the header with which this process reports that a person has typed the
// message at its terminal. The exchange verifies the process.
const terminalHeader = "Messkit-Terminal"

// modelHeader is the header with which a client reports that it acts for a language model.
const modelHeader = "Messkit-Model"

type typedKey struct{}

// Typed returns a context for a message that a person has typed at the terminal of this process.
func Typed(ctx context.Context) context.Context { return context.WithValue(ctx, typedKey{}, true) }

// person returns the value of terminalHeader for a context. It is "" for a message of a program.
func person(ctx context.Context) string {
	if typed, _ := ctx.Value(typedKey{}).(bool); typed {
		return strconv.Itoa(os.Getpid())
	}
	return ""
}
