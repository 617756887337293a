package capabilities

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/messkit/messkit/mess"
)

// Digest returns the SHA-256, in hex, of the commands, devices and parameters of the plan.
// A confirmation is valid for one digest. The texts for people are not in it.
func (p Plan) Digest() string {
	what := map[string]any{
		"capability": p.Capability, "device": p.Device, "command": p.Command,
		"args": plain(p.Args), "risk": p.Risk, "for": p.For / time.Millisecond,
	}
	if !p.NotBefore.IsZero() {
		what["not_before"] = p.NotBefore.UTC().Format(time.RFC3339Nano)
	}
	if p.After > 0 {
		what["after"] = p.After / time.Millisecond
	}
	var steps []string
	for _, s := range p.Steps {
		steps = append(steps, s.Digest())
	}
	if steps != nil {
		what["steps"] = steps
	}
	data, err := json.Marshal(what)
	if err != nil {
		panic(err) // plain leaves nothing that JSON has no form for
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// plain converts a value so that JSON prints it with sorted keys, and equally before and
// after a way through JSON.
func plain(v any) any {
	switch v := v.(type) {
	case nil, bool, string:
		return v
	case mess.Object:
		m := make(map[string]any, len(v))
		for _, f := range v {
			m[f.Key] = plain(f.Value)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = plain(one)
		}
		return list
	case []string:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = one
		}
		return list
	}
	return fmt.Sprint(v) // numbers
}
