package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/messkit/messkit/drivers/all"
	"github.com/messkit/messkit/internal/strictyaml"
)

// findTime is how long a start may look for devices.
const findTime = 500 * time.Millisecond

// find adds the devices that drivers find on this machine.
func (c *config) find(log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), findTime)
	defer cancel()
	for _, kind := range all.Kinds() {
		if kind.Find == nil {
			continue
		}
		for _, f := range kind.Find(ctx) {
			log.Info("found", "device", f.Name, "driver", kind.Name, "where", f.Where)
			block := discovered{f, kind}.block()
			c.Devices[f.Name] = strictyaml.From(block, "devices."+f.Name)
		}
	}
}
