// Package secret keeps passwords and keys out of every output.
package secret

import (
	"fmt"
	"log/slog"
)

// Text is a password or a key. It prints as ***.
type Text string

const hidden = "***"

func (Text) String() string { return hidden }

// Format hides it from every verb, %#v and %x among them.
func (Text) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) } // a State returns no error

// LogValue hides it from logs.
func (Text) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides the secret in JSON, YAML and other encodings.
func (Text) MarshalText() ([]byte, error) { return []byte(hidden), nil }
