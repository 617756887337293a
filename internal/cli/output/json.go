package output

import (
	"encoding/json"
	"io"
	"log/slog"

	"github.com/messkit/messkit/internal/cleantext"
)

// NoLog is the log of commands that only print.
var NoLog = slog.New(slog.DiscardHandler)

// EscapedJSON writes whole JSON texts and escapes invisible and terminal control characters
// in them. A JSON parser reads the same values.
type EscapedJSON struct{ To io.Writer }

// Write escapes a whole JSON text, and passes it on.
func (e EscapedJSON) Write(p []byte) (int, error) {
	if _, err := e.To.Write(cleantext.EscapeJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// YAML prints YAML of ours in the same way.
func (a *Env) YAML(text []byte, err error) error {
	if err == nil {
		_, err = a.Out.Write(cleantext.EscapeYAML(text))
	}
	return err
}

// JSON prints a value for scripts.
func (a *Env) JSON(v any) error {
	enc := json.NewEncoder(EscapedJSON{a.Out})
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
