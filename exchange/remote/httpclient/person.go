package httpclient

import (
	"context"
	"os"
	"strconv"
)

// terminalHeader is the header with which this process says that a person has typed
// something at its terminal; the exchange looks at the process.
const terminalHeader = "Messkit-Terminal"

// modelHeader is the header with which a client says that it acts for a model.
const modelHeader = "Messkit-Model"

type typedKey struct{}

// Typed is a context for what a person has typed at the terminal of this process.
func Typed(ctx context.Context) context.Context { return context.WithValue(ctx, typedKey{}, true) }

// person is the value of terminalHeader in a context, "" for what a program says.
func person(ctx context.Context) string {
	if typed, _ := ctx.Value(typedKey{}).(bool); typed {
		return strconv.Itoa(os.Getpid())
	}
	return ""
}
