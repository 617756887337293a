package mqtt

import broker "github.com/mochi-mqtt/server/v2"

// Hook adds a hook to the broker.
func (e *Embedded) Hook(h broker.Hook) error { return e.server.AddHook(h, nil) }
