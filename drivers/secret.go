package drivers

import (
	"fmt"
	"log/slog"
)

// Secret is a password. It prints as ***.
type Secret string

const hidden = "***"

func (Secret) String() string { return hidden }

// Format hides the secret from every verb, %#v and %x among them.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) } // a State keeps no error

// LogValue hides the secret from logs.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides the secret from everything that is encoded.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
